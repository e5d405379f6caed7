"""A directory of manifests with a snapshot of its cluster, and the command line run on them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.model.acl import OpaqueBinding
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.main_job import Ran
from tests.worlds import bindings

CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  superUsers: [User:admin]
  allowEveryoneIfNoAclFound: false
  scope: {include: [{topics: {prefix: pay.}}, {groups: {any: true}}]}
  ignore: [{principals: {prefix: "User:sa-"}}]
"""
PAY = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: pay}
spec:
  principal: User:pay
  rules:
    - {allow: [READ, WRITE], topics: [pay.orders]}
    - {allow: READ, groups: [pay]}
"""


@dataclass
class Place:
    """``directory`` holds manifests; ``live.json`` beside it is the cluster ``prod``."""

    directory: Path
    snapshot: Path
    capsys: pytest.CaptureFixture[str]

    def write(self, name: str, text: str) -> None:
        """Write a manifest."""
        file = self.directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def live(
        self,
        *texts: str,
        topics: tuple[str, ...] = (),
        opaque: tuple[OpaqueBinding, ...] = (),
        gap: str | None = None,
        users: tuple[str, ...] = (),
    ) -> None:
        """Say what the cluster has; bindings as in ``tests.worlds``."""
        existing = {name: Topic(name, 1, 1) for name in topics}
        state = ClusterState("prod-id", frozenset(bindings(*texts)), existing, opaque, acl_gap=gap)
        if users:
            found = frozenset(ScramUser(name, {"SCRAM-SHA-512": 4096}) for name in users)
            state = state.with_listing(ScramUser, Listing(found, may_alter=True))
        self.snapshot.write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")

    @property
    def cluster(self) -> tuple[str, ...]:
        """The options that mean the snapshot."""
        return "--cluster", f"prod=snapshot:{self.snapshot}", "--connections", f"{self.operator}"

    @property
    def operator(self) -> Path:
        """The operator's file, which states what the manifests state in the beginning."""
        return self.snapshot.with_name("operator.yaml")

    def ask(self, *arguments: str) -> Ran:
        """A question, of what is declared unless the cluster is named."""
        return self.bare(*arguments, "--path", str(self.directory))

    def bare(self, *arguments: str) -> Ran:
        """Run a command line as it is."""
        self.capsys.readouterr()
        status = run(list(arguments))
        shown = self.capsys.readouterr()
        return Ran(status, shown.out, shown.err)

    def document(self, *arguments: str) -> Any:
        """What a command prints for programs."""
        return json.loads(self.bare(*arguments, "--output", "json").out)


def place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    """Manifests of one team, and a cluster that has just what they declare."""
    directory = tmp_path / "manifests"
    directory.mkdir()
    made = Place(directory, tmp_path / "live.json", capsys)
    made.write("cluster.yaml", CLUSTER)
    made.operator.write_text(CLUSTER[: CLUSTER.index("  scope:")], encoding="utf-8")
    made.write("pay.yaml", PAY)
    made.live(
        "TOPIC:L:pay.orders User:pay@* ALLOW READ",
        "TOPIC:L:pay.orders User:pay@* ALLOW WRITE",
        "GROUP:L:pay User:pay@* ALLOW READ",
    )
    return made
