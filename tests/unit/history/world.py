"""A cluster over time: what it really had, what a server read of it, and what runs wrote into audit logs."""

import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path

from reconciler.apply import records
from reconciler.apply.audit import LogIdentity, audited, chained
from reconciler.apply.environment import ApprovalEvidence, Approver, Identity, Outcome, Result, StepOutcome
from reconciler.model.acl import AclBinding
from reconciler.model.listing import Create, Delete
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState, FactSource, StatedFacts
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.history.update import FreshReading, keep_reading
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Options, Plan, Terms
from reconciler.plan.step import Step

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


def at(seconds: float) -> datetime.datetime:
    """So many seconds after the start."""
    return START + datetime.timedelta(seconds=seconds)


def text(seconds: float) -> str:
    """The time as records have it."""
    return f"{at(seconds):%Y-%m-%dT%H:%M:%SZ}"


def run_records(
    run: str, begun: float, steps: Sequence[tuple[float, AclBinding, bool, Outcome]], cluster_id: str = CLUSTER_ID
) -> list[dict[str, object]]:
    """What a run writes: ``steps`` are when, which binding, whether it is created, and what became of it."""
    made = [
        Step(
            Phase.CREATE_ALLOW if create else Phase.DELETE_ALLOW, (Create if create else Delete)(one), ticket="RISK-12"
        )
        for _, one, create, _ in steps
    ]
    plan = Plan(
        cluster_id, Terms("prod"), Options(), START.date(), tuple(made), source_commit="3ab9e1", tool_version="1"
    )
    approvers = (Approver("alice@example.com", "SHA256:a", text(begun), "sha256:0"),)
    evidence = ApprovalEvidence(1, "sha256:0", approvers, (), ())
    identity = Identity(run, "ci@build-7", None, ("change-1", "plan-1"), evidence, "bob@example.com", "https://ci/17")
    about = records.about_run(plan, identity)
    found = [records.opened(plan, about, identity, text(begun))]
    for step, (when, _, _, outcome) in zip(made, steps, strict=True):
        found.append(audited(about, StepOutcome(step, outcome), text(when)))
    last = steps[-1][0] if steps else begun
    found.append(records.ended(run, Result(plan, (), verified=True), text(last)))
    return found


def write_log(path: Path, items: Iterable[dict[str, object]], name: str = "0" * 32) -> None:
    """An audit log with these records."""
    lines, _ = chained(items, f"sha256:{'0' * 64}", LogIdentity(name, "host", str(path)))
    path.write_bytes(b"".join(line + b"\n" for line in lines))


#: What the operator's file says of the cluster at every reading, unless a test says something else.
STATED = StatedFacts(("User:root",), FactSource.OPERATOR, False, FactSource.OPERATOR)


def read(
    store: FleetStore,
    bindings: Iterable[AclBinding],
    when: float,
    took: float = 2,
    cluster: str = "prod",
    stated: StatedFacts | None = STATED,
) -> str | None:
    """A server reads the cluster, and keeps what it read."""
    state = ClusterState(CLUSTER_ID, frozenset(bindings), stated=stated)
    return keep_reading(store, FreshReading(cluster, state, Scope(), at(when), at(when + took)))


def store(path: Path) -> FleetStore:
    """A store below a path."""
    return store_at(str(path))
