"""The main job by the command line on clusters with more ACLs than a Kafka client survives by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.kafka.conftest import settings_of
from tests.integration.main_job import Job, job

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1_800)]

CREATED, DELETED = 1_000, 200
#: Names in one document.
CHUNK = 1_000


@dataclass(frozen=True)
class Grants:
    """``principals`` read each topic from number ``first`` up to ``last``."""

    principals: int
    first: int
    last: int

    def manifests(self) -> str:
        """Documents of a thousand topics each."""
        readers = ", ".join(f"User:reader-{number}" for number in range(self.principals))
        return "---\n".join(
            f"apiVersion: reconciler/v1\nkind: Acls\nmetadata: {{name: topics-{start}}}\n"
            f"spec:\n  principals: [{readers}]\n  rules:\n    - allow: READ\n"
            f"      topics: [{', '.join(f'@{n}' for n in range(start, min(start + CHUNK, self.last)))}]\n"
            for start in range(self.first, self.last, CHUNK)
        )

    def bindings(self, prefix: str) -> frozenset[AclBinding]:
        """What the manifests mean, made without them."""
        entries = [
            AccessControlEntry(f"User:reader-{number}", "*", AclOperation.READ, AclPermissionType.ALLOW)
            for number in range(self.principals)
        ]
        patterns = [ResourcePattern(ResourceType.TOPIC, f"{prefix}{n}") for n in range(self.first, self.last)]
        return frozenset(AclBinding(pattern, entry) for pattern in patterns for entry in entries)


@pytest.fixture
def roomy(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker of its own with a large heap."""
    with running(SandboxSpec(name="roomy", users=generated_users("admin"), heap="2g"), root=sandbox_root) as sandbox:
        yield sandbox


def fill(main: Job, sandbox: Sandbox, grants: Grants) -> None:
    """Creates all bindings by one apply."""
    main.write("acls.yaml", grants.manifests())
    filled = main.run("apply", "--yes")
    assert filled.status == 0, filled.err[-2_000:]
    assert live(sandbox) == grants.bindings(main.prefix)


def move(main: Job, sandbox: Sandbox, grants: Grants, saved: Path) -> Grants:
    """Plans, saves and applies 1,000 creates and 200 deletes; returns what is granted behind them."""
    moved = Grants(
        grants.principals, grants.first + DELETED // grants.principals, grants.last + CREATED // grants.principals
    )
    main.write("acls.yaml", moved.manifests())
    planned = main.run("plan", "--allow-deletes", "--out", str(saved))
    assert planned.status == 0, planned.err[-2_000:]
    assert f"{CREATED:,} bindings to create, {DELETED:,} bindings to delete" in planned.out
    assert main.run("drift").status == 2
    applied = main.run("apply", str(saved), str(main.directory), "--yes", cluster=False)
    assert applied.status == 0, applied.err[-2_000:]
    assert f"Applied and verified: {CREATED + DELETED:,} steps." in applied.out
    assert live(sandbox) == moved.bindings(main.prefix)
    assert main.run("drift").status == 0
    return moved


def live(sandbox: Sandbox) -> frozenset[AclBinding]:
    """Every binding of the cluster."""
    with connect(settings_of(sandbox.settings("admin"))) as cluster:
        state = cluster.read(ReadRequest(all_topics=False))
    assert (state.opaque, state.acl_gap) == ((), None)
    return frozenset(state.bindings)


def without_message_client(main: Job) -> None:
    """Adds a setting that only confluent-kafka can take over."""
    text = main.connections.read_text(encoding="utf-8")
    main.connections.write_text(f"{text}    broker.address.family: v4\n", encoding="utf-8")


def test_150_000_acls_over_30_000_resources(roomy: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = job(tmp_path, roomy, "large.", capsys)
    grants = Grants(principals=5, first=0, last=30_000)
    fill(main, roomy, grants)
    grants = move(main, roomy, grants, tmp_path / "by-messages.json")
    without_message_client(main)
    move(main, roomy, grants, tmp_path / "by-the-client.json")


def test_120_000_acls_over_120_000_resources(
    roomy: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = job(tmp_path, roomy, "wide.", capsys)
    grants = Grants(principals=1, first=0, last=120_000)
    fill(main, roomy, grants)
    grants = move(main, roomy, grants, tmp_path / "plan.json")
    without_message_client(main)
    for command in (["plan"], ["drift"], ["apply", "--yes"], ["export"]):
        refused = main.run(*command)
        assert refused.status == 1
        assert refused.out == ""
        assert "no reader could read the ACLs: client: the process ended" in refused.err
        assert "100,000 resources" in refused.err
    assert live(roomy) == grants.bindings(main.prefix)
