"""Entries that nobody can name, put on a cluster so that a review sees nothing: gains stay visible and guards fire."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reconciler.app.access_checks import checks_of
from reconciler.app.options import ConnectionOptions
from reconciler.app.plan import plan as app_plan
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.acl import OpaqueBinding
from reconciler.model.state import ClusterState
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.snapshot.document import snapshot_text
from tests.integration.kafka import conftest as kafka
from tests.integration.main_job import connections_file
from tests.unit.cli.test_refusals import OPERATOR
from tests.worlds import binding

raw_acls = kafka.raw_acls

TOPIC, USER, LITERAL = 2, 7, 3
CREATE_TOKENS, DESCRIBE_TOKENS, NEWER_THAN_OURS, DENY, ALLOW = 13, 14, 16, 2, 3
_GRANT = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: more}
spec:
  principal: User:mallory
  rules:
    - {allow: ALL, topics: [payments]}
    - {allow: ALTER, cluster: true}
"""
_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {scope: {include: [{principals: [User:mallory]}]}, %s}
"""


def _entry(**codes: int | None) -> OpaqueBinding:
    known: dict[str, int | None] = {
        "resource_type": TOPIC,
        "pattern_type": LITERAL,
        "operation": NEWER_THAN_OURS,
        "permission_type": ALLOW,
    }
    return OpaqueBinding("*", "User:*", "*", **known | codes)  # type: ignore[arg-type]


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Plans the grant, for a cluster with these entries."""

    def planned(opaque: Sequence[OpaqueBinding], facts: str, *more: str) -> tuple[int, dict[str, Any]]:
        (tmp_path / "manifests").mkdir(exist_ok=True)
        (tmp_path / "manifests" / "all.yaml").write_text(f"{_CLUSTER % facts}---\n{_GRANT}", encoding="utf-8")
        snapshot = tmp_path / "snapshot.json"
        snapshot.write_text(snapshot_text(ClusterState("prod-id", opaque=tuple(opaque))), encoding="utf-8")
        status = run(
            ["plan", str(tmp_path / "manifests"), "--cluster", f"prod=snapshot:{snapshot}", "--output", "json", *more]
        )
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return status, found

    return planned


@pytest.mark.parametrize(
    ("opaque", "facts"),
    [
        # One may deny and one may allow: each alone hides the grant in one of the two extreme readings.
        ([_entry(permission_type=ALLOW), _entry(permission_type=DENY)], "allowEveryoneIfNoAclFound: false"),
        ([_entry(permission_type=None)], "allowEveryoneIfNoAclFound: false"),
        ([_entry(resource_type=None), _entry(resource_type=None, permission_type=DENY)], "superUsers: []"),
        # One that may deny, and default-allow that nobody declared.
        ([_entry(resource_type=None, permission_type=DENY)], "superUsers: []"),
    ],
)
def test_a_grant_under_entries_that_nobody_can_name(
    plan: Callable[..., tuple[int, dict[str, Any]]], opaque: list[OpaqueBinding], facts: str
) -> None:
    """A principal with odd entries on the cluster proposes ALTER for itself: shown as possible, not as no effect."""
    status, found = plan(opaque, facts)
    assert status == Exit.REFUSED
    assert [refusal["guard"] for refusal in found["refusals"]] == ["cluster-alter"]
    assert [left["subject"] for left in found["left"] if left["reason"] == "refused"] == [
        "create User:mallory ALLOW ALTER on CLUSTER kafka-cluster"
    ]
    status, found = plan(opaque, facts, "--accept", "cluster-alter=User:mallory")
    assert status == Exit.OK
    assert found["accessChange"] in ("widening", "mixed")
    gained = [row for row in found["access"]["rows"] if row["gained"] and row["principal"] == "User:mallory"]
    assert {row["resourceType"] for row in gained} == {"TOPIC", "CLUSTER"}
    # What is granted on topics is never certain: the entries are, or may be, about them.
    assert {row["reading"] for row in gained if row["resourceType"] == "TOPIC"} == {"perhaps"}
    assert [step["effect"]["kind"] for step in found["steps"]] == ["grant", "grant"]


def test_a_grant_on_a_real_broker_whose_odd_entries_the_reader_cannot_name(
    broker: Sandbox,
    raw_acls: Callable[[Sequence[kafka.RawAcl]], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Rights to tokens that are allowed and denied, and a client setting without the reader that knows their codes."""
    raw_acls(
        [
            (USER, "*", LITERAL, "User:*", "*", CREATE_TOKENS, ALLOW),
            (USER, "*", LITERAL, "User:*", "*", DESCRIBE_TOKENS, DENY),
        ]
    )
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    cluster = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  allowEveryoneIfNoAclFound: false
  scope: {include: [{principals: [User:mallory]}]}
"""
    (manifests / "all.yaml").write_text(f"{cluster}---\n{_GRANT}", encoding="utf-8")
    connections = connections_file(tmp_path / "connections.yaml", broker, "admin", name="prod")
    with connections.open("a", encoding="utf-8") as file:
        file.write("    broker.address.family: v4\n")
    status = run(["plan", str(manifests), "--cluster", "prod", "--connections", str(connections)])
    shown = capsys.readouterr().out
    assert status == Exit.REFUSED
    assert "nobody gains" not in shown
    assert "User:mallory: everything on topic `payments`  (perhaps)" in shown
    assert "User:mallory would gain ALTER on the cluster" in shown
    assert "cluster-alter" in shown
    assert "no effect" not in shown


@pytest.mark.parametrize(("name", "status"), [("User:mallory", "failed"), ("User:other", "undecided")])
def test_no_access_test_passes_on_a_listing_that_may_not_be_whole(tmp_path: Path, name: str, status: str) -> None:
    """A right that was not listed, such as CREATE_TOKENS on a user, could break it; what is broken stays broken."""
    test = f"{{name: t, principals: ['{name}'], mustNot: WRITE, topics: [payments]}}"
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text(
        f"{_CLUSTER % 'allowEveryoneIfNoAclFound: false'}---\n{_GRANT}---\napiVersion: reconciler/v1\n"
        f"kind: AccessTests\nmetadata: {{name: t}}\nspec: {{tests: [{test}]}}\n",
        encoding="utf-8",
    )
    live, stated = tmp_path / "live.json", tmp_path / "operator.yaml"
    stated.write_text(OPERATOR.replace("name: c}", "name: prod}"), encoding="utf-8")
    operator = ConnectionOptions(connections=str(stated))
    states = {"failed" if status == "failed" else "passed": None, status: "listed in parts"}
    for expected, gap in states.items():
        bindings = frozenset({binding("User:other ALLOW READ on TOPIC x")})
        live.write_text(snapshot_text(ClusterState("prod-id", bindings, acl_gap=gap)), encoding="utf-8")
        found = checks_of(app_plan(str(tmp_path / "m"), f"prod=snapshot:{live}", connection=operator))
        assert ([one.standing for one in found.claims], found.stops) == ([expected], expected != "passed")
