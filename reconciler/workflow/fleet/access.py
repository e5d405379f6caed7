"""What the bindings of a fleet mean, by Kafka's own rules: who may do something anywhere, how far principals reach."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from reconciler.access import Authorizer, who_can
from reconciler.adapters.spark.readings import read_live
from reconciler.adapters.spark.tasks import reason, run_tasks, task_count, task_frame
from reconciler.dataclass import dataclass
from reconciler.fleet import FleetRun, Reading, partition
from reconciler.fleet.access_reach import reaches
from reconciler.fleet.store import FleetStore
from reconciler.manifest import ClusterDeclaration, Manifests
from reconciler.model import AclOperation, ClusterState, ResourcePattern
from reconciler.workflow.kafka_version import version_of
from reconciler.workflow.reasons import WorkflowError
from reconciler.workflow.states import as_established
from reconciler.workflow.terms import claimed_super_users

Answer: TypeAlias = tuple[list[str], list[list[Any]]]
Unit: TypeAlias = "tuple[Reading, ClusterDeclaration | None]"

#: The view ``access``. Where a cluster cannot be judged, ``principal`` is null and ``names`` says why.
_ACCESS: Final = (
    "cluster string, principal string, resource_type string, operation string, names array<string>, topics long, "
    "every_name boolean, certain boolean"
)


@dataclass(frozen=True, slots=True)
class WhoCan:
    """Who has an operation on some name of a pattern."""

    operation: "AclOperation"
    pattern: "ResourcePattern"


def holders(
    session: "SparkSession", store: FleetStore, run: FleetRun, manifests: "Manifests", question: WhoCan
) -> Answer:
    """Who may do what is asked, on every cluster."""
    work = partial(_holders, store=store, question=question)
    lines = run_tasks(session, _lists(session, run, manifests), work)
    return ["cluster", "principal", "names", "hosts", "certain"], sorted(json.loads(line) for line in lines)


def access_frame(session: "SparkSession", store: FleetStore, run: FleetRun, manifests: "Manifests") -> "DataFrame":
    """Effective access on every cluster, a row for each operation of each principal."""
    return task_frame(session, _lists(session, run, manifests), partial(_reaches, store=store), _ACCESS)


def _lists(session: "SparkSession", run: FleetRun, manifests: "Manifests") -> list[list[Unit]]:
    units = [(reading, manifests.clusters.get(reading.cluster)) for reading in run.readings]
    return partition(units, [reading.rows for reading, _ in units], task_count(session))


def _judge(reading: Reading, declaration: "ClusterDeclaration | None", store: FleetStore) -> "_Judged":
    if reading.acl_gap:
        raise NotWholeError(f"the ACL listing may not be whole: {reading.acl_gap}")
    state = read_live(store.files, reading)
    authorizer = Authorizer(
        state.bindings,
        declaration.super_users if declaration else (),
        declaration.allow_everyone_if_no_acl_found if declaration else None,
        version_of(state.kafka_version, state.kafka_version_gap, declaration),
        opaque=state.opaque,
    )
    return state, authorizer


def _established_default(authorizer: Authorizer, declaration: "ClusterDeclaration | None") -> Authorizer:
    return authorizer if declaration is None else as_established(authorizer, declaration)


def _claimed_by(declaration: "ClusterDeclaration | None") -> frozenset[str]:
    """The super users that only the manifests state: there, whoever proposes a change would answer the question."""
    return frozenset() if declaration is None else frozenset(claimed_super_users(declaration))


class NotWholeError(Exception):
    """What is missing could change every answer."""


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, NotWholeError | WorkflowError) else reason(error)


_Judged: TypeAlias = "tuple[ClusterState, Authorizer]"


def _reaches(units: Sequence[Unit], attempt: str, *, store: FleetStore) -> Iterator[str]:
    for reading, declaration in units:
        try:
            state, authorizer = _judge(reading, declaration, store)
            claimed = _claimed_by(declaration)
            # Super users as declared: their rows say that they reach everything, and whether that is certain.
            declared = reaches(_established_default(authorizer, declaration), state.topics)
            rows = [row._replace(certain=row.certain and row.principal not in claimed) for row in declared]
        except Exception as error:  # one cluster's trouble must not hide the others
            yield json.dumps([reading.cluster, None, None, None, [_why(error)], None, None, False])
            continue
        for row in rows:
            yield json.dumps([reading.cluster, *row], ensure_ascii=False)


def _holders(units: Sequence[Unit], attempt: str, *, store: FleetStore, question: WhoCan) -> Iterator[str]:
    """Rows of each cluster; super users and whoever may ALTER the cluster, or its configs, show in the names column."""
    for reading, declaration in units:
        try:
            _, authorizer = _judge(reading, declaration, store)
            claimed = _claimed_by(declaration)
            found = who_can(_established_default(authorizer, declaration), question.operation, question.pattern)
        except Exception as error:  # one cluster's trouble must not hide the others
            yield json.dumps([reading.cluster, "", f"not known: {_why(error)}", "", False])
            continue
        for row in found.rows:
            names = [reading.cluster, row.principal or "everybody else", str(row.region), str(row.hosts), row.certain]
            yield json.dumps(names, ensure_ascii=False)
        for row in found.cluster_admins:
            right = "ALTER" if AclOperation.ALTER in row.operations else "ALTER_CONFIGS on"
            admin = [reading.cluster, row.principal or "everybody else", f"(may {right} the cluster)", str(row.hosts)]
            yield json.dumps([*admin, row.certain], ensure_ascii=False)
        for name in sorted(found.super_users):
            yield json.dumps([reading.cluster, name, "(super user)", "*", name not in claimed], ensure_ascii=False)
