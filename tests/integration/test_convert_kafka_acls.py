"""Kafka's own ``kafka-acls`` prints what a real broker holds, and that text converts to exactly the same."""

import subprocess
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.convert.files import source_files
from reconciler.parts.convert.recognition import convert
from reconciler.parts.local.sandbox.launch import find_java, jar_directory
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from tests.verbs import creations, deletions

_R, _O, _P = ResourceType, AclOperation, AclPermissionType
_ON = (
    (ResourcePattern(_R.TOPIC, "moving.orders"), _O.READ, _P.ALLOW, "*"),
    (ResourcePattern(_R.TOPIC, "moving.", PatternType.PREFIXED), _O.ALL, _P.DENY, "2001:db8:0:0:0:0:0:1"),
    (ResourcePattern(_R.GROUP, "moving, group=(odd)"), _O.READ, _P.ALLOW, "*"),
    (ResourcePattern(_R.CLUSTER, "kafka-cluster"), _O.IDEMPOTENT_WRITE, _P.ALLOW, "10.0.0.4"),
    (ResourcePattern(_R.TRANSACTIONAL_ID, "*"), _O.WRITE, _P.ALLOW, "*"),
)
_BINDINGS = [
    AclBinding(pattern, AccessControlEntry(principal, host, operation, permission))
    for principal in ("User:moving-a", "User:CN=moving b, OU=x")
    for pattern, operation, permission, host in _ON
]


def _listing(broker: Sandbox) -> str:
    jars = jar_directory() / broker.kafka_version
    config = broker.client_directory / "admin.properties"
    arguments = ["--bootstrap-server", broker.bootstrap, "--command-config", str(config), "--list"]
    java = [str(find_java().executable), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
    java += ["-cp", f"{jars}/*", "kafka.admin.AclCommand"]
    return subprocess.run([*java, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.broker
def test_what_kafka_prints_is_what_the_broker_holds(broker_3_9: Sandbox, tmp_path: Path) -> None:
    settings = broker_3_9.settings("admin")
    servers = settings.pop("bootstrap.servers")
    with connect(client_settings(servers, settings, SecretSource())) as cluster:
        # A line break in another test's name would make Kafka's text ambiguous.
        cluster.send(deletions(sorted(cluster.read(ReadRequest(all_topics=False)).bindings)))
        cluster.send(creations(_BINDINGS))
        live = cluster.read(ReadRequest(all_topics=False)).bindings
        (tmp_path / "acls.txt").write_text(_listing(broker_3_9), encoding="utf-8")
        cluster.send(deletions(_BINDINGS))
    converted = convert("kafka-acls", source_files(str(tmp_path / "acls.txt")))
    assert set(_BINDINGS) <= live
    assert (converted.bindings, converted.skipped) == (live, ())
