"""A broker with policies of our own, and commands on it that answer in JSON."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from reconciler.cli.main import run
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.integration.main_job import connections_file
from tests.integration.topics.java_classes import compiled
from tests.verbs import deletions

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: policed}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""
#: Status and JSON (or text) of a command: ``asked(manifests, "plan", "--validate-with-broker")``.
Asked: TypeAlias = Callable[..., tuple[int, Any]]


def _policed(version: str, root: Path, classes: Path) -> AbstractContextManager[Sandbox]:
    """Kafka with a CreateTopicPolicy and an AlterConfigPolicy, both of which can be made to break."""
    compiled(Path(__file__).parent / "policies", classes, version)
    overrides = {
        "create.topic.policy.class.name": "policies.TestTopicPolicy",
        "alter.config.policy.class.name": "policies.TestConfigPolicy",
    }
    users = generated_users("admin", "reconciler", "alice")
    name = f"policed-{version.replace('.', '-')}"
    spec = SandboxSpec(
        name=name,
        kafka_version=version,
        users=users,
        auto_create_topics=True,
        overrides=overrides,
        class_path=(classes,),
    )
    return running(spec, root=root)


@pytest.fixture(scope="session")
def policed(sandbox_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The newest Kafka with policies."""
    with _policed("4.4", sandbox_root, tmp_path_factory.mktemp("classes")) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def policed_3_9(sandbox_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The oldest that is supported."""
    with _policed("3.9", sandbox_root, tmp_path_factory.mktemp("classes")) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def admin(policed: Sandbox) -> Iterator[KafkaCluster]:
    """A super user's connection."""
    settings = policed.settings("admin")
    with connect(client_settings(settings.pop("bootstrap.servers"), settings, SecretSource())) as cluster:
        yield cluster


@pytest.fixture
def asked(policed: Sandbox, admin: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Commands on manifests of one text and the newest broker, on which no ACL of another test is left."""
    _without_acls(admin)
    return _asking(policed, tmp_path, capsys)


def _without_acls(admin: KafkaCluster, patience_seconds: float = 20.0) -> None:
    until = time.monotonic() + patience_seconds
    while left := admin.read(ReadRequest(all_topics=False)).bindings:
        assert time.monotonic() < until, "the broker keeps ACLs"
        admin.send(deletions(sorted(left)))
        time.sleep(0.05)


@pytest.fixture
def asked_3_9(policed_3_9: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    """The same with the oldest."""
    return _asking(policed_3_9, tmp_path, capsys)


def _asking(sandbox: Sandbox, root: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    def ask(
        manifests: str,
        *arguments: str,
        cluster: str = CLUSTER,
        expect_json: bool = True,
        saved: bool = False,
        user: str = "reconciler",
    ) -> Any:
        connections = connections_file(root / "connections.yaml", sandbox, user, name="policed")
        directory = root / "manifests"
        directory.mkdir(exist_ok=True)
        (directory / "cluster.yaml").write_text(cluster, encoding="utf-8")
        (directory / "wishes.yaml").write_text(manifests, encoding="utf-8")
        command, *options = arguments
        reach = [*([] if saved else ["--cluster", "policed"]), "--connections", str(connections)]
        capsys.readouterr()
        output = ["--output", "json"] if expect_json else []
        plan, options = (options[:1], options[1:]) if saved else ([], options)
        status = run([command, *plan, str(directory), *reach, *options, *output])
        shown = capsys.readouterr()
        return status, json.loads(shown.out) if expect_json else shown.out + shown.err

    return ask
