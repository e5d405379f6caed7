"""What logs show of a fleet without Spark: each cluster is judged by the ACLs that it has."""

import shutil
from pathlib import Path

import pytest

from reconciler.model.acl import AclOperation
from reconciler.model.characters import binding_name
from reconciler.parts.fleet.app import engines
from reconciler.parts.fleet.tables import store_at
from tests.integration.fleet.test_usage import ONE, PREFIX, STRANGE, Logs, event, grant, log, names
from tests.property.usage_formats import audit_event


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Logs:
    monkeypatch.setattr(engines, "is_running", lambda: False)
    return Logs(tmp_path, capsys)


def test_what_was_used_is_judged_by_what_each_cluster_has(logs: Logs) -> None:
    logs.put("full/a.log", log(event("orders.one", acl=ONE), event("orders.two", acl=PREFIX)))
    logs.put("quiet/a.log", log(event("orders.one", AclOperation.WRITE, allowed=False)))
    status, found = logs.ask("--engine", "local")
    assert status == 0
    assert found["full"]["bindings"] == {"alone": 1, "decided": 1, "also": 0, "unused": 2, "cannot say": 0}
    assert sorted(names(found["full"]["unused"])) == ["orders.unused", "pay"]
    assert found["full"]["decisions"]["permitted"] == 2
    assert found["all"]["run"] == store_at(str(logs.directory / "store")).run().id
    assert found["quiet"]["decisions"]["refused"] == 1
    assert "no decision" in found["silent"]["cannotSay"]


def test_a_change_is_tried_on_the_accesses_that_were_seen(logs: Logs) -> None:
    """The prefix goes, and with it what it alone permitted; what is out of scope stays."""
    strange = event("pay", who=STRANGE.entry.principal, acl=STRANGE)
    late = event("orders.late", AclOperation.WRITE, allowed=False)
    logs.put("full/a.log", log(event("orders.one", acl=ONE), event("orders.two", acl=PREFIX), strange, late))
    status, found = logs.ask("--engine", "local", "--replay")
    assert status == 3
    replay = found["full"]["replay"]
    assert replay["counts"] == {"fail": 1, "newlySucceed": 1, "undecided": 0, "same": 2}
    assert names(replay["fail"], "resourceName") == ["orders.two"]


def test_without_a_snapshot_what_is_declared_is_judged(logs: Logs) -> None:
    logs.put("full/a.log", log(event("orders.one", acl=ONE)))
    shutil.rmtree(logs.directory / "store")
    status, found = logs.ask("--engine", "local", "--offline")
    assert status == 0
    assert sorted(names(found["full"]["unused"])) == ["orders.late", "orders.unused"]
    assert found["all"]["run"] is None


def test_audit_events_of_many_clusters_find_their_own(logs: Logs) -> None:
    """A file that is named for a cluster tells of that one alone; what is in it of others is counted."""
    lines = [
        audit_event(event(name)._replace(cluster_id=f"id-{cluster}"))
        for name, cluster in (("orders.one", "full"), ("orders.two", "quiet"), ("orders.one", "other"))
    ]
    logs.put("events.json", "\n".join(lines).encode())
    logs.put("silent/named.json", "\n".join(lines).encode())
    _, found = logs.ask("--engine", "local")
    assert [found[name]["decisions"]["permitted"] for name in ("full", "quiet", "silent")] == [1, 1, 0]
    assert found["all"]["unassigned"]["decisionsOfOtherClusters"] == 1
    assert found["silent"]["reading"]["decisionsOfOtherClusters"] == 3


def test_what_is_doubtful_is_told_beside_what_is_unused(logs: Logs) -> None:
    """In the order in which a person needs it: what was not read, what is unused, what nobody has any more."""
    gone = grant("orders.gone")
    good = log(event("orders.one", acl=ONE), event("orders.two", acl=PREFIX), event("orders.gone", acl=gone))
    logs.put("full/a.log", good[:90] + b"\n" + good)
    _, text = logs.text("--engine", "local", "--limit", "1")
    found = [line.strip() for line in text.splitlines()]
    assert "1 line could not be read: they may show a use of a binding that is listed here" in text
    assert "named by the logs, but not on the cluster:" in found
    assert f"1× {binding_name(gone)}" in found
    assert "… and 1 more" in found
    _, text = logs.text("--engine", "local", "--limit", "2")
    assert "orders.unused" in text
    assert "pay" in text
    assert "and 0 more" not in text


def test_a_replay_says_by_what_each_access_is_decided(logs: Logs) -> None:
    late, by_prefix = grant("orders.late", AclOperation.WRITE), binding_name(PREFIX)
    refused = event("orders.late", AclOperation.WRITE, allowed=False)
    logs.put("full/a.log", log(event("orders.two", acl=PREFIX), refused))
    _, text = logs.text("--engine", "local", "--replay")
    for words in (
        f"would fail: 1× User:a READ TOPIC orders.two from 10.0.0.1 for Fetch (permitted so far by {by_prefix})",
        f"1× User:a WRITE TOPIC orders.late from 10.0.0.1 for Fetch (permitted by {binding_name(late)})",
    ):
        assert words in text
