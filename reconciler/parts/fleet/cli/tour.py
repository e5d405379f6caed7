"""The tour's second part: the same manifests over a fleet, of the sandbox's snapshots and of clusters that are made up.

One Spark session serves all commands, so they run in this process; they are the commands that one would type.
"""

import contextlib
import io
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.app.manifests import load
from reconciler.app.options import today
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import desired_state
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.parts.local.tour import PLACE, WIDTH, Expected, TourStep, command_lines
from reconciler.snapshot.document import parse_snapshot, snapshot_text

#: Clusters that are made up beside those of the sandbox.
SITES: Final = 40
#: What nobody declared, on one of them only.
_FORGOTTEN: Final = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "orders.placed"),
    AccessControlEntry("User:svc-intern", "*", AclOperation.ALL, AclPermissionType.ALLOW),
)
_CLUSTER: Final = """\
---
apiVersion: reconciler/v1
kind: Cluster
metadata: {{name: {name}, labels: {{env: demo, region: {region}}}}}
spec:
  allowEveryoneIfNoAclFound: false
  superUsers: [User:admin, User:reconciler]
  scope:
    include:
      - principals: {{prefix: "User:svc-"}}
      - topics: {{prefix: orders.}}
      - topics: {{prefix: payments.}}
  ignore: [{{principals: {{prefix: "User:sa-"}}}}]
"""
_FLEET: Final = """\
---
apiVersion: reconciler/v1
kind: Fleet
metadata: {name: tour}
spec:
  waves:
    - {name: canary, clusters: {matchLabels: {region: eu}}, gate: {soak: 1h}}
    - {name: rest, clusters: {matchLabels: {}}}
"""


@dataclass(frozen=True, slots=True)
class FleetTour:
    """``directory`` is what ``$DEMO`` stands for; ``snapshots`` in it has the sandbox's. ``show`` is as in ``Tour``."""

    directory: Path
    show: Callable[[str, str], None]

    def prepare(self, manifests: Path) -> None:
        """Write the fleet: manifests beside which forty more clusters are declared, and a snapshot of each.

        The first lost a grant, the second has one that nobody declared.
        """
        fleet, live = self.directory / "fleet", self.directory / "snapshots"
        shutil.copytree(manifests, fleet)
        live.mkdir(exist_ok=True)
        # As it was before, the sandbox stands for a cluster of its own: two names for one cluster are a mistake.
        before = live / "demo-before.json"
        earlier = parse_snapshot(before.read_text(encoding="utf-8"))
        other = replace(earlier, cluster_id=f"{earlier.cluster_id}-before")
        before.write_text(snapshot_text(other), encoding="utf-8")
        names = [f"site-{number:02}" for number in range(1, SITES + 1)]
        declared = [_CLUSTER.format(name="demo-before", region="eu")]
        declared += [_CLUSTER.format(name=name, region=("eu", "us")[n % 2]) for n, name in enumerate(names)]
        (fleet / "fleet.yaml").write_text("".join([*declared, _FLEET]), encoding="utf-8")
        loaded = load(str(fleet))
        for number, name in enumerate(names):
            wanted = desired_state(loaded, name, today())
            topics = {item.topic.name: item.topic for item in wanted.topics.values() if not item.absent}
            bindings = frozenset(wanted.bindings)
            bindings = (bindings - {min(bindings)}, bindings | {_FORGOTTEN}, bindings)[min(number, 2)]
            state = ClusterState(f"tour-{name}", bindings, {n: replace(t, topic_id=None) for n, t in topics.items()})
            (live / f"{name}.json").write_text(snapshot_text(state), encoding="utf-8")

    def steps(self) -> Iterator[TourStep]:
        """Take the tour; a step is performed when it is asked for."""
        from reconciler.parts.fleet.spark.session import spark_session

        self.show("plain", "")
        self.show("title", f"== 6. A fleet: this cluster before and after, and {SITES} more, on Spark ==")
        store = ("--store", f"{PLACE}/store")
        with spark_session():
            yield self._run(
                "every cluster is read once",
                ("snapshot", f"{PLACE}/fleet", *store, "--snapshots", f"{PLACE}/snapshots"),
                Expected(Exit.OK, (f"{SITES + 2} clusters read",), last=1),
            )
            yield self._run(
                "the differences are found, on three of them and on the sandbox; the rest is not read",
                ("drift", f"{PLACE}/fleet", *store, "--limit", "1"),
                Expected(
                    Exit.DIFFERENT, ("38 as declared, 4 differ", "demo-before", "equal by digest"), first=3, last=4
                ),
            )
            yield self._run(
                "one question over all of them, by Kafka's own rules",
                ("query", "who-can", "READ", "topic/payments.settled", "-f", f"{PLACE}/fleet", *store),
                Expected(Exit.OK, ("demo-before  User:svc-analytics",), first=5, last=1),
            )
            yield self._run(
                "the access that only one cluster has stands out",
                ("query", "outliers", "-f", f"{PLACE}/fleet", *store),
                Expected(Exit.OK, ("only here", "User:svc-intern", "site-02"), first=5, last=1),
            )
            yield self._run(
                "one plan for the fleet, canary first; equal changes share an approval",
                ("plan", f"{PLACE}/fleet", "--snapshots", f"{PLACE}/snapshots", *_DELETES, "--out", f"{PLACE}/plans"),
                Expected(Exit.OK, ("wave canary", "gate: no failure, then wait 1h", "fleet-"), first=4, last=4),
            )

    def _run(self, claim: str, words: tuple[str, ...], expected: Expected) -> TourStep:
        parts = ["reconciler fleet", *(word if word.startswith(PLACE) else shlex.quote(word) for word in words)]
        self.show("plain", "")
        for text in command_lines(parts):
            self.show("title", text)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = int(run(["fleet", *(word.replace(PLACE, str(self.directory)) for word in words)]))
        output = tuple(said.getvalue().replace(str(self.directory), PLACE).splitlines())
        for text in expected.shown(output):
            # A table is cut where it ends: its columns would not be seen in lines of their own.
            too_wide = words[0] == "query" and len(text) > WIDTH
            self.show("plain", f"{text[: WIDTH - 1]}…" if too_wide else text)
        step = TourStep(claim, " ".join(parts), output, expected.met(status, output), status)
        self.show("add" if step.holds else "error", f"  {'✓' if step.holds else '✗ not so:'} {claim}")
        return step


_DELETES: Final = ("--allow-deletes",)
