"""Users, quotas and configs of groups that end by themselves: told with the date, before the day comes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from reconciler.cli.main import run
from reconciler.codec.kinds import KINDS
from reconciler.model.desired import Origin
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.results.documents import EndEntry
from reconciler.results.findings import Level
from reconciler.show.reading import read_result
from reconciler.show.review import end_lines
from reconciler.snapshot.document import snapshot_text

_CLUSTER: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""
#: One document for each listed kind, with an item that ends and one that is to be absent by then.
_ITEMS: Final[Mapping[str, str]] = {
    "users": """\
---
apiVersion: reconciler/v1
kind: Users
metadata: {name: u}
spec: {users: [{name: alice, expires: END, mechanisms: {SCRAM-SHA-512: {password: "${env:A}"}}}]}
""",
    "quotas": """\
---
apiVersion: reconciler/v1
kind: Quotas
metadata: {name: q}
spec: {quotas: [{user: alice, expires: END, limits: {producer_byte_rate: 1MiB/s}}]}
""",
    "clientMetrics": """\
---
apiVersion: reconciler/v1
kind: ClientMetrics
metadata: {name: m}
spec: {subscriptions: [{name: slow, expires: END, configs: {metrics: "*", match: client_id=a}}]}
""",
    "groupConfigs": """\
---
apiVersion: reconciler/v1
kind: GroupConfigs
metadata: {name: g}
spec: {groups: [{name: pay, expires: END, configs: {share.isolation.level: read_committed}}]}
""",
}
_ENDS: Final = {
    "users": "SCRAM user alice ends 2099-01-31: nobody can log in with its passwords",
    "quotas": "quota of user alice ends 2099-01-31: its limits go",
    "clientMetrics": "client metrics subscription slow ends 2099-01-31: the subscription goes",
    "groupConfigs": "config of group pay ends 2099-01-31: its configs go: defaults hold",
}


@pytest.mark.parametrize("kind", sorted(kind.TYPE.KIND for kind in KINDS))
@pytest.mark.parametrize(("end", "told"), [("2099-01-31", True), ("2020-01-31", False)])
def test_validate_and_plan_say_what_ends_and_when(
    kind: str, end: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "m.yaml").write_text(_CLUSTER + _ITEMS[kind].replace("END", end), encoding="utf-8")
    empty = ClusterState("c", listings={one.TYPE.KIND: Listing(frozenset()) for one in KINDS})
    (tmp_path / "live.json").write_text(snapshot_text(empty), encoding="utf-8")
    for command in (["validate", "m"], ["plan", "m", "--cluster", "c=snapshot:live.json"]):
        assert run(command) == 0
        lines = capsys.readouterr().out.splitlines()
        found = [number for number, line in enumerate(lines) if line.startswith("ends  ")]
        assert [_ENDS[kind] in lines[number] for number in found] == [True] * told
        if told and command[0] == "plan":
            # The verdict stays last.
            assert found[0] < next(number for number, line in enumerate(lines) if line.startswith("as of"))
        run([*command, "--output", "json"])
        report = read_result(json.loads(capsys.readouterr().out))
        notes = [one for one in report.findings if one.rule == "declared-end"]
        assert [(one.message, one.level) for one in notes] == [(_ENDS[kind], Level.NOTE)] * told


def test_of_many_ends_the_first_are_shown() -> None:
    many = [
        EndEntry(Origin("a.yaml", day, 1), f"user {day}", f"2099-01-{day}", f"user {day} ends") for day in range(1, 30)
    ]
    lines = list(end_lines(many))
    assert (len(lines), lines[-1]) == (6, "ends  and 24 more; --expand shows each")
    assert len(list(end_lines(many, expand=True))) == 29
