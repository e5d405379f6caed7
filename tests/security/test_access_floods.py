"""Manifests of a few kilobytes that ask for billions of decisions: planned in good time, or refused, never in part."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import snapshot_text

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {superUsers: [User:admin], allowEveryoneIfNoAclFound: false, principal: User:admin}
"""
#: Processor seconds. Each takes less than 5 on a quiet machine, and took minutes.
_ENOUGH = 60
Plan = Callable[..., tuple[int, str]]


def _acls(name: str, principals: list[str], rules: list[str]) -> str:
    lines = "\n".join(f"    - {{{rule}}}" for rule in rules)
    who = ", ".join(f'"{principal}"' for principal in principals)
    return (
        f"apiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: {name}}}\n"
        f"spec:\n  principals: [{who}]\n  rules:\n{lines}\n"
    )


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Plan:
    """Plans some documents on an empty cluster: exit status, and all that is printed."""

    def planned(*documents: str) -> tuple[int, str]:
        (tmp_path / "manifests").mkdir()
        (tmp_path / "manifests" / "all.yaml").write_text("---\n".join([_CLUSTER, *documents]), encoding="utf-8")
        snapshot = tmp_path / "live.json"
        snapshot.write_text(snapshot_text(ClusterState("prod-id")), encoding="utf-8")
        began = time.process_time()
        status = run(["plan", str(tmp_path / "manifests"), "--cluster", f"prod=snapshot:{snapshot}"])
        assert time.process_time() - began < _ENOUGH
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return planned


@pytest.mark.parametrize("hosts", ["", ", hosts: [10.9.9.9]"])
def test_many_hosts_with_names_of_their_own_and_one_deny(plan: Plan, hosts: str) -> None:
    """A team gives each of 400 hosts 10 topics, and one DENY makes all of them one question: planned."""
    rules = [
        f"allow: WRITE, topics: [{', '.join(f't{10 * host + name:05}' for name in range(10))}], "
        f"hosts: [10.0.{host // 250}.{host % 250}]"
        for host in range(400)
    ]
    status, shown = plan(_acls("many", ["User:a"], [*rules, f"deny: WRITE, topics: {{any: true}}{hosts}"]))
    assert status == Exit.OK
    assert "4,001 ACLs to create" in shown


def test_many_hosts_for_the_same_names(plan: Plan) -> None:
    """One rule for 60 topics from 400 hosts, and one DENY: a row names 400 hosts, and the plan comes in seconds."""
    hosts = ", ".join(f"10.0.{host // 250}.{host % 250}" for host in range(400))
    topics = ", ".join(f"t{number:02}" for number in range(60))
    rules = [f"allow: WRITE, topics: [{topics}], hosts: [{hosts}]", "deny: WRITE, topics: [t00], hosts: [10.9.9.9]"]
    status, shown = plan(_acls("many", ["User:a"], rules))
    assert status == Exit.OK
    assert "24,001 ACLs to create" in shown


def test_many_principals_under_many_prefixes_of_everybody(plan: Plan) -> None:
    """800 prefixes for ``User:*`` times 1,500 principals are 1.2 million rows: an error that says so, and no plan."""
    status, shown = plan(
        _acls("all", ["User:*"], [f"allow: READ, topics: {{prefix: p{number:04}.}}" for number in range(800)]),
        _acls("own", [f"User:u{number}" for number in range(1500)], ["allow: WRITE, topics: {prefix: p}"]),
    )
    assert status == Exit.ERROR
    assert "too much to decide" in shown
    assert "gains" not in shown.replace("who gains and who loses", "")
