"""10,000 topics planned as a whole process on a real broker, against the bare client's reads of the same.

Run: ``python -m benchmarks.topics [COUNT]``. Every topic has two settings of its own; the broker tells all 33 of each.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from benchmarks.bare_client import client_of
from benchmarks.cluster import Bench
from benchmarks.paired import Command, pairs, row, title
from reconciler.parts.local.sandbox.layout import SandboxSpec, generated_users
from reconciler.parts.local.sandbox.lifecycle import running
from reconciler.parts.local.sandbox.state import Sandbox

_RUNS = 3
_AT_ONCE = 500
_CLUSTER = """apiVersion: reconciler/v1
kind: Cluster
metadata: {name: bench}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""


def names(count: int) -> list[str]:
    """The topics' names."""
    return [f"team-{number % 100}.topic-{number}" for number in range(count)]


def manifest(count: int) -> str:
    """All topics as one document."""
    head = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: bench}\nspec:\n"
    defaults = "  defaults: {partitions: 1, replicationFactor: 1, configs: {retention.ms: 7d, segment.bytes: 1MiB}}\n"
    return head + defaults + "  topics:\n" + "".join(f"    - {{name: {name}}}\n" for name in names(count))


def fill(client: AdminClient, count: int) -> None:
    """Creates the topics, and waits until all of them are listed."""
    config = {"retention.ms": "604800000", "segment.bytes": "1048576"}
    wanted = names(count)
    for start in range(0, count, _AT_ONCE):
        group = [NewTopic(name, 1, 1, config=config) for name in wanted[start : start + _AT_ONCE]]
        for future in client.create_topics(group, request_timeout=120).values():
            future.result()
    while len(client.list_topics(timeout=60).topics) < count:
        time.sleep(1)


def read(settings: Path) -> None:
    """What a plan has to ask for at the least: every topic's partitions and settings, in requests of bounded size."""
    client = client_of(settings)
    listed = sorted(client.list_topics(timeout=60).topics)
    for start in range(0, len(listed), _AT_ONCE):
        group = listed[start : start + _AT_ONCE]
        described = client.describe_topics(TopicCollection(group))
        configs = client.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in group])
        for future in (*described.values(), *configs.values()):
            future.result()


def bench(root: Path, sandbox: Sandbox, count: int) -> Bench:
    """Writes the manifests."""
    directory = root / "manifests"
    directory.mkdir()
    (directory / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
    (directory / "topics.yaml").write_text(manifest(count), encoding="utf-8")
    settings = root / "settings.json"
    settings.write_text(json.dumps(sandbox.settings("reconciler")), encoding="utf-8")
    return Bench(sandbox, directory, settings)


def main(count: int = 10_000) -> None:
    """Prints one row."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        spec = SandboxSpec(name="bench", users=generated_users("admin", "reconciler"), heap="1500m")
        with running(spec, root=root / "sandboxes") as sandbox:
            found = bench(root, sandbox, count)
            fill(client_of(found.settings), count)
            bare = Command((sys.executable, "-m", "benchmarks.topics", "--read", str(found.settings)))
            title(f"Kafka {sandbox.kafka_version}, whole process", "reconciler", "bare reads")
            row(
                f"plan, {count:,} topics, nothing to do",
                pairs(found.ours("plan", expected="Nothing to do."), bare, _RUNS),
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]))
    else:
        main(*map(int, sys.argv[1:2]))
