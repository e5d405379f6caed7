"""A real broker's own log, against what its clients did: permitted, refused, by which binding; and a forged line."""

import base64
import json
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from reconciler.app.manifests import desired, load
from reconciler.app.options import today
from reconciler.cli.main import run
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
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import snapshot_text
from tests.verbs import creations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.broker, pytest.mark.spark]

TOPIC: Final = "orders.one"
#: A name as certificates give it, with everything in it that separates fields in the log.
DN: Final = "CN=a b,OU=(x), host=*, operation=y"
#: A group by whose name a client that may do nothing writes a line of its own into the log.
FORGED: Final = (
    "g for request = Fetch with resourceRefCount = 1\n[2026-01-01 00:00:00,000] DEBUG Principal = User:victim "
    "is Allowed operation = READ from host = 10.0.0.1 on resource = Topic:LITERAL:secret for request = Fetch "
    "with resourceRefCount = 1 based on rule SuperUser (kafka.authorizer.logger)\n"
)
CLUSTER: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: real}
spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:admin, User:reconciler, User:sandbox-node]}
"""


def binding(
    user: str,
    operation: AclOperation,
    pattern: ResourcePattern,
    permission: AclPermissionType = AclPermissionType.ALLOW,
) -> AclBinding:
    return AclBinding(pattern, AccessControlEntry(f"User:{user}", "*", operation, permission))


ORDERS: Final = ResourcePattern(ResourceType.TOPIC, TOPIC)
USED: Final = (
    binding(DN, AclOperation.WRITE, ResourcePattern(ResourceType.TOPIC, "orders.", PatternType.PREFIXED)),
    binding("reader", AclOperation.READ, ORDERS),
    binding("reader", AclOperation.READ, ResourcePattern(ResourceType.GROUP, "readers")),
    # Without it the client is told at once that there is no such topic, and asks for nothing more.
    binding("eve", AclOperation.DESCRIBE, ORDERS),
    binding("eve", AclOperation.WRITE, ORDERS, AclPermissionType.DENY),
)
UNUSED: Final = binding(DN, AclOperation.READ, ResourcePattern(ResourceType.GROUP, "readers"))


class Clients:
    """Who does what on a broker; each of them says how it went."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def settings(self, user: str) -> dict[str, Any]:
        """A login by an unsigned token, whose subject may be any text."""
        settings = self.sandbox.settings("nobody", "OAUTHBEARER")
        plain = {key: value for key, value in settings.items() if "oauthbearer" not in key}
        return {**plain, "oauth_cb": lambda _: _token(user), "log_level": 0}

    def produces(self, user: str) -> KafkaError | None:
        outcome: list[KafkaError | None] = []
        producer = Producer({**self.settings(user), "enable.idempotence": False})
        producer.produce(TOPIC, b"x", on_delivery=lambda error, _: outcome.append(error))
        producer.flush(20)
        return outcome[0]

    def consumes(self, user: str, group: str) -> KafkaError | None:
        """The first record's or the first refusal's answer."""
        settings = {**self.settings(user), "group.id": group, "auto.offset.reset": "earliest"}
        with closing(Consumer(settings)) as consumer:
            consumer.subscribe([TOPIC])
            end = time.monotonic() + 20
            while time.monotonic() < end:
                found = consumer.poll(0.2)
                if found is not None:
                    return found.error()
        raise AssertionError(f"{user} got no answer")


def _token(user: str) -> tuple[str, float]:
    now = time.time()
    parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + 3600})
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*encoded, ""]), now + 3600


def happened(sandbox: Sandbox) -> ClusterState:
    """Everything that the test does on the broker; the state in which it did."""
    settings = sandbox.settings("reconciler")
    servers = settings.pop("bootstrap.servers")
    with connect(client_settings(servers, settings, SecretSource())) as cluster:
        cluster.send(creations([Topic(TOPIC, 1, 1)]))
        cluster.send(creations([*USED, UNUSED]))
        until = time.monotonic() + 60
        while not ({*USED, UNUSED} <= (shown := cluster.read(ReadRequest())).bindings and TOPIC in shown.topics):
            assert time.monotonic() < until, shown
            time.sleep(0.1)
        clients = Clients(sandbox)
        assert clients.produces(DN) is None
        assert clients.consumes("reader", "readers") is None
        for _ in range(2):
            refused = clients.produces("eve")
            assert refused is not None
            assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        refused = clients.consumes("mallory", FORGED)
        assert refused is not None
        assert refused.code() in (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED)
        return cluster.read(ReadRequest(acls=True))


@pytest.mark.parametrize("version", ["4.4", *(pytest.param(old, marks=pytest.mark.long) for old in ("4.3", "3.9"))])
def test_the_log_of_a_broker_is_told_as_it_was(
    version: str, tmp_path: Path, sandbox_root: Path, spark: "SparkSession", capsys: pytest.CaptureFixture[str]
) -> None:
    spec = SandboxSpec(
        name=f"usage-{version.replace('.', '-')}",
        kafka_version=version,
        users=generated_users("admin", "reconciler"),
        any_principal=True,
        log_permitted=True,
    )
    with running(spec, root=sandbox_root) as sandbox:
        state = happened(sandbox)
        log = tmp_path / "node.log"
        log.write_bytes(sandbox.files(sandbox.nodes[0]).log.read_bytes())
    (tmp_path / "manifests").mkdir()
    for file in ("manifests/real.yaml", "operator.yaml"):
        (tmp_path / file).write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "real.json").write_text(snapshot_text(state), encoding="utf-8")
    where = [str(tmp_path / "manifests"), "--store", str(tmp_path / "store")]
    assert run(["fleet", "snapshot", *where, "--snapshots", str(tmp_path), "--output", "json"]) == 0
    capsys.readouterr()
    operator = ["--connections", str(tmp_path / "operator.yaml")]
    logs = ["--logs", f"real={log}", *operator, "--output", "json", "--replay"]
    assert run(["fleet", "usage", *where, *logs]) == 3
    (found,) = json.loads(capsys.readouterr().out)["clusters"]
    # Every decision of the broker is the one that its bindings explain.
    assert found["otherwise"]["count"] == 0
    assert (found["gone"], found["undeclaredSuperUsers"]) == ([], [])
    assert found["bindings"] == {"alone": 5, "decided": 0, "also": 0, "unused": 1, "cannot say": 0}
    assert [(row["principal"], row["operation"]) for row in found["unused"]] == [(f"User:{DN}", "READ")]
    assert set(found["reading"]["unread"]) == {"CUT"}
    assert "victim" not in json.dumps([found["refused"], found["replay"], found["otherwise"]])
    refused = {(row["principal"], row["operation"]): row["remark"] for row in found["refused"]}
    assert "no grant goes beyond it" in refused["User:eve", "WRITE"]
    failing = {(row["principal"], row["operation"], row["resourceName"]) for row in found["replay"]["fail"]}
    assert failing >= {
        (f"User:{DN}", "WRITE", TOPIC),
        ("User:reader", "READ", TOPIC),
        ("User:reader", "READ", "readers"),
    }
    assert {principal for principal, _, _ in failing} == {f"User:{DN}", "User:reader", "User:eve"}
    tightened(tmp_path, log)


def tightened(place: Path, log: Path) -> None:
    """What goes by the broker's own log from manifests that declare what it has; its day is evidence enough."""
    declared = place / "declared"
    export = ["export", "--cluster", f"real=snapshot:{place / 'real.json'}", "--path", str(place / "manifests")]
    assert run([*export, "--out", str(declared)]) == 0
    (declared / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    enough = ["--policy", "days=1,quarter-ends=0,principal-days=1,unread=1000"]
    command = ["tighten", "--logs", str(log), "--path", str(declared), "--connections", str(place / "operator.yaml")]
    assert run([*command, *enough, "--policy", "any-age", "--write"]) == 0
    wide, *others = USED
    narrow = wide._replace(pattern=ORDERS)
    after = desired(load(declared), "real", today()).bindings
    assert {*after} == {narrow, *others}
