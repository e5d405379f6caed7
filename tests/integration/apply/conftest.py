"""Manifests of one test on the session's broker, which every module leaves as it found it."""

from pathlib import Path

import pytest

from reconciler.parts.local.sandbox.state import Sandbox
from tests.integration.main_job import Job, job


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Job:
    """A scope of this test's own."""
    return job(tmp_path, broker, f"apply{abs(hash(request.node.name)) % 10**8}.", capsys)
