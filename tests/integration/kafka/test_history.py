"""The past of a real broker: what a server keeps of it in its rounds answers who could, since when, by whose doing."""

import datetime
import json
import time
from pathlib import Path

import pytest

from reconciler.app.session import Target
from reconciler.cli.main import run
from reconciler.model.acl import (
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import moment_text
from reconciler.parts.history.update import keeper
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.shared_brokers import opened
from tests.verbs import creations, deletions

pytestmark = pytest.mark.broker

_NAME = "User:history-svc"
#: For a broker to show what was sent, on a machine that is busy with other things.
_PATIENCE_SECONDS = 120
_GRANT = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "history.orders"),
    AccessControlEntry(_NAME, WILDCARD, AclOperation.READ, AclPermissionType.ALLOW),
)

_FACTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["127.0.0.1:1"], allowEveryoneIfNoAclFound: false}
"""


def test_who_could_on_a_real_broker_and_since_when(
    broker: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Access that a hand gave and took: a reading an hour before, one with it, one after."""
    monkeypatch.chdir(tmp_path)
    end = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    hours = [end - datetime.timedelta(hours=number) for number in (3, 2, 1, 0)]
    keep = keeper("store")
    with opened(broker) as admin:
        for number, hour in enumerate(hours):
            monkeypatch.setattr("reconciler.parts.history.update.now", lambda hour=hour: hour)
            if number == 1:
                admin.send(creations([_GRANT]))
            if number == 3:
                admin.send(deletions([_GRANT]))
            # A broker answers a reading with what it has applied, which may lag behind what the controller accepted.
            until = time.monotonic() + _PATIENCE_SECONDS
            while (_GRANT in admin.read(ReadRequest()).bindings) is not (number in (1, 2)):
                assert time.monotonic() < until, "the broker does not show what was sent"
                time.sleep(0.05)
            keep(Target("demo", admin, None))
    Path("facts.yaml").write_text(_FACTS, encoding="utf-8")
    asked = ["--cluster", "demo", "--store", "store", "--output", "json"]
    half = datetime.timedelta(minutes=30)
    for hour, answer in ((hours[0], False), (hours[0] + half, None), (hours[1] + half, True), (hours[2] + half, None)):
        at = moment_text(hour + datetime.timedelta(minutes=2))
        run(["can-i", _NAME, "READ", "topic/history.orders", *asked, "--as-of", at, "--connections", "facts.yaml"])
        found = json.loads(capsys.readouterr().out)
        assert found["allowed"] is answer or (answer is False and found["allowed"] is not True), (hour, found)
    assert run(["history", _NAME, *asked]) == 0
    (held,) = json.loads(capsys.readouterr().out)["held"]
    assert held["what"] == str(_GRANT)
    assert held["began"]["run"] is held["ended"]["run"] is None
    assert held["began"]["after"] < moment_text(hours[1]) <= held["began"]["before"]
