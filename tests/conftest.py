"""Real brokers and Spark, each started once a session when a test first asks for it; how long Hypothesis tries."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from reconciler.adapters.sandbox import Sandbox, SandboxSpec, generated_users, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("fast", deadline=None, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Every test begins as a person at a terminal would: what continuous integration, a colour setting or a git hook puts
# into the environment changes what commands do, so a test that means it says it.
_LEFT_BEHIND = ("CI", "NO_COLOR", "FORCE_COLOR", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
for name in [*os.environ]:
    if name in _LEFT_BEHIND or name.startswith(("GITHUB_", "GITLAB_", "CI_")):
        del os.environ[name]

# admin and reconciler are super users; the others begin without any right. Any further principal can log in with
# Sandbox.settings(name, "OAUTHBEARER").
_USERS = ("admin", "reconciler", "alice", "bob", "carol", "acl-probe", "nobody")


@pytest.fixture(scope="session")
def sandbox_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this session's sandboxes are."""
    return tmp_path_factory.mktemp("sandboxes")


@pytest.fixture(scope="session")
def broker(sandbox_root: Path) -> Iterator[Sandbox]:
    """Kafka 4.3 with StandardAuthorizer; tests share it, so each names what it creates after itself."""
    spec = SandboxSpec(name="current", users=generated_users(*_USERS), any_principal=True)
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def broker_3_9(sandbox_root: Path) -> Iterator[Sandbox]:
    """The same with Kafka 3.9, the oldest that is supported."""
    spec = SandboxSpec(name="oldest", kafka_version="3.9", users=generated_users(*_USERS), any_principal=True)
    with running(spec, root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def broker_no_authorizer(sandbox_root: Path) -> Iterator[Sandbox]:
    """Kafka 4.3 without an authorizer: everybody may do everything, and ACL requests get SECURITY_DISABLED."""
    with running(SandboxSpec(name="open", authorizer=False, any_principal=True), root=sandbox_root) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Spark on two cores; commands that run while it is there use it too."""
    from reconciler.adapters.spark.session import spark_session

    with spark_session("local[2]") as session:
        yield session
