"""Manifests and a snapshot file that stands for the cluster, for a server's rounds."""

import subprocess
from pathlib import Path

from reconciler.app.apply import ApplyOptions, Unattended
from reconciler.app.options import ConnectionOptions
from reconciler.app.records import RecordOptions
from reconciler.apply.environment import LeaseRequest
from reconciler.model.acl import AclBinding
from reconciler.model.state import ClusterState
from reconciler.parts.serve.rounds import DirectorySource, ManifestSource, ServeOptions, run_round
from reconciler.ports import ReadRequest
from reconciler.show.rounds import Round
from reconciler.snapshot.document import snapshot_text
from reconciler.snapshot.file import SnapshotCluster
from tests.worlds import binding

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  bootstrapServers: ["nowhere:9092"]
  principal: User:admin
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: DEFAULT
  scope: {include: [{topics: {prefix: team.}}]}
---
"""
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: team}
spec:
  principal: User:svc
  rules:
    - {allow: READ, topics: [team.orders]}
    - {allow: WRITE, topics: [team.orders], expires: 2026-11-01}
    - {deny: ALTER, topics: [team.audit], expires: 2026-11-01}
"""
STAYS = binding("User:svc ALLOW READ on TOPIC team.orders")
OVER = binding("User:svc ALLOW WRITE on TOPIC team.orders")
DENIED = binding("User:svc DENY ALTER on TOPIC team.audit")
UNDECLARED = binding("User:eve ALLOW READ on TOPIC team.orders")
FOREIGN = binding("User:eve ALLOW READ on TOPIC other")
LIVE = frozenset({STAYS, OVER, DENIED, UNDECLARED, FOREIGN})


class World:
    """Manifests and a snapshot file that stands for the cluster."""

    def __init__(self, root: Path) -> None:
        """Write both."""
        self.manifests, self.snapshot = root / "manifests", root / "prod.json"
        self.manifests.mkdir()
        self.declare()
        self.live(LIVE)

    def declare(self, acls: str = ACLS, default: str = "false") -> None:
        """Write the manifests."""
        (self.manifests / "all.yaml").write_text(CLUSTER.replace("DEFAULT", default) + acls, encoding="utf-8")

    def live(self, bindings: frozenset[AclBinding]) -> None:
        """Let the cluster have these."""
        self.snapshot.write_text(snapshot_text(ClusterState("abc", bindings, {})), encoding="utf-8")

    @property
    def cluster(self) -> str:
        """As an option names it."""
        return f"prod=snapshot:{self.snapshot}"

    def bindings(self) -> frozenset[AclBinding]:
        """What the cluster has."""
        return SnapshotCluster(self.snapshot).read(ReadRequest(all_topics=False)).bindings

    def round(
        self,
        *,
        act: bool = True,
        source: ManifestSource | None = None,
        doubt: str | None = None,
        audit: str | None = None,
    ) -> Round:
        """One round."""
        records = RecordOptions(audit=audit)
        options = ServeOptions(self.cluster, act, ApplyOptions(records=records, lease=LeaseRequest("me")))
        where = source or DirectorySource(str(self.manifests))
        return run_round(where, options, ConnectionOptions(), Unattended(), clock_doubt=doubt)


def git(directory: Path, *words: str) -> None:
    """Run git in a directory."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, "-C", str(directory), *words], check=True, capture_output=True)  # noqa: S607
