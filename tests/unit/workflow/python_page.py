"""The examples of ``docs/python.md``, run as they are."""

import re
from pathlib import Path
from typing import Any

from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.worlds import binding

PAGE = Path(__file__).parents[3] / "docs" / "python.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
  barrier: {wait: 10ms}
  scope: {include: [{topics: {prefix: python-page.}}]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: orders}
spec:
  principal: User:svc-orders
  rules:
    - {allow: WRITE, topics: [python-page.orders]}
---
apiVersion: reconciler/v1
kind: Topics
metadata: {name: orders}
spec:
  topics:
    - {name: python-page.orders, partitions: 1, replicationFactor: 1}
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: orders}
spec:
  tests:
    - {name: orders are written, must: WRITE, principals: [User:svc-orders], topics: [python-page.orders]}
"""


def sections() -> dict[str, list[str]]:
    """The examples by heading."""
    parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {heading: _BLOCK.findall(text) for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def prepare(directory: Path) -> None:
    """Manifests, and snapshots of a cluster that has one binding and one quota which nobody declared."""
    (directory / "manifests").mkdir()
    (directory / "manifests" / "all.yaml").write_text(_MANIFESTS, encoding="utf-8")
    (directory / "snapshots").mkdir()
    old = frozenset({binding("User:svc-old ALLOW READ on TOPIC python-page.old")})
    topics = {name: Topic(name, 1, 1, {}, f"id-{name}") for name in ("python-page.old",)}
    quotas = frozenset({ClientQuota(QuotaEntity.of("svc-payments"), {"producer_byte_rate": 7})})
    for name, cluster in (("prod", "id"), ("elsewhere", "another"), ("snapshots/prod", "id")):
        text = snapshot_text(
            ClusterState(cluster, old, topics, listings={"quotas": Listing(quotas)}), BrokerFacts(broker_ids=(1,))
        )
        (directory / f"{name}.json").write_text(text, encoding="utf-8")


def run_section(heading: str, names: dict[str, Any]) -> None:
    """Run the examples below a heading, in the names of those before."""
    for number, block in enumerate(sections()[heading], 1):
        exec(compile(block, f"docs/python.md, {heading}, example {number}", "exec"), names)  # noqa: S102 - our own page
