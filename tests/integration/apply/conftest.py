"""Manifests of one test on the session's broker, which every module leaves as it found it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.adapters.sandbox import Sandbox, SandboxSpec, generated_users, running
from tests.integration.main_job import Job, job


@pytest.fixture(scope="session")
def open_broker(sandbox_root: Path) -> Iterator[Sandbox]:
    """A broker with allow.everyone.if.no.acl.found=true."""
    users = generated_users("admin", "reconciler", "acl-probe", "alice", "bob")
    spec = SandboxSpec(name="open-by-default", users=users, allow_everyone_if_no_acl_found=True)
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Job:
    """A scope of this test's own."""
    return job(tmp_path, broker, f"apply{abs(hash(request.node.name)) % 10**8}.", capsys)
