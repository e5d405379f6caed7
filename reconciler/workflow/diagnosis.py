"""What planning for a cluster and applying to it need, and what of it is missing. Only a canary writes."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from reconciler.adapters.flavored import FlavoredCluster
from reconciler.adapters.kafka.cluster import KafkaCluster
from reconciler.adapters.kafka.handshake import AuthorizerPresence
from reconciler.adapters.kafka.inspection import Inspection
from reconciler.manifest import ClusterDeclaration
from reconciler.model import Flavor, shown_flavor
from reconciler.ports import ClusterError, ReadRequest
from reconciler.workflow.canary import canary_problem
from reconciler.workflow.clusters import Target, open_any
from reconciler.workflow.flavors import cure, proposal
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.reasons import RequestError, WorkflowError


class Need(StrEnum):
    """What may be there or missing."""

    CONNECTION = "connection"
    AUTHORIZER = "authorizer"
    FLAVOR = "flavor"
    MESSAGE_CLIENT = "message-client"
    LIST_ACLS = "list-acls"
    ALTER_ACLS = "alter-acls"
    ACLS_DECIDE = "acls-decide"
    READABLE_STATE = "readable-state"
    EVERY_TOPIC = "every-topic"
    CLUSTER_DOCUMENT = "cluster-document"
    PRINCIPAL = "principal"
    DEFAULT_ALLOW = "allow-everyone-if-no-acl-found"


@dataclass(frozen=True, slots=True)
class NeedCheck:
    """Whether a need is met, and whether planning is impossible without it; ``detail`` is what the cluster said."""

    need: Need
    met: bool
    required: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cluster as it presents itself to us, and every need in the order in which one follows from another."""

    inspection: Inspection
    checks: tuple[NeedCheck, ...]

    @property
    def can_plan(self) -> bool:
        """Whether nothing is missing that planning cannot do without."""
        return all(check.met for check in self.checks if check.required)


def diagnose(
    path: str | None,
    cluster: str | None,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    canary: bool = False,
) -> Diagnosis:
    """Ask a cluster who we are to it; raises a :class:`WorkflowError` where it cannot be asked at all.

    With ``canary`` it also creates ACLs for the barrier's probe, looks whether they decide, and removes them.
    """
    with open_any(path, cluster, connection) as (_, target):
        asked = target.cluster.inner if isinstance(target.cluster, FlavoredCluster) else target.cluster
        if not isinstance(asked, KafkaCluster):
            raise RequestError("a snapshot needs no doctor: it is a file")
        try:
            found = asked.inspect()
        except ClusterError as error:
            raise WorkflowError(str(error), error.advice) from error
        reading = reading_check(target, found)
        stated = target.cluster.flavor if isinstance(target.cluster, FlavoredCluster) else None
        needs = list(checks(found, target.declaration, reading, stated))
        if canary:
            problem = canary_problem(target, connection)
            needs.append(NeedCheck(Need.ACLS_DECIDE, not problem, required=True, detail=problem))
        return Diagnosis(found, tuple(needs))


def reading_check(target: Target, found: Inspection) -> NeedCheck:
    """Whether a plan could read the cluster, and whether it would see every topic: the reading itself is tried."""
    declaration = target.declaration
    request = ReadRequest(
        acls=bool(found.can_list_acls),
        principal=declaration.principal if declaration else None,
        super_users=declaration.super_users if declaration else (),
    )
    try:
        gap = target.cluster.read(request).topic_gap
    except ClusterError as error:
        return NeedCheck(Need.READABLE_STATE, False, required=True, detail=str(error))
    # Without an authorizer nothing is hidden from anybody.
    return NeedCheck(Need.EVERY_TOPIC, gap is None or found.can_list_acls is None, detail=gap or "")


def checks(
    found: Inspection, declaration: ClusterDeclaration | None, reading: NeedCheck, stated: Flavor | None = None
) -> Iterator[NeedCheck]:
    """Every need that this cluster, its declaration and the ``stated`` flavor let us judge."""
    yield NeedCheck(Need.CONNECTION, True, required=True)
    yield NeedCheck(Need.AUTHORIZER, found.authorizer is not AuthorizerPresence.ABSENT, required=True)
    shown = shown_flavor(found.cluster_id, [broker.host for broker in found.brokers])
    if stated is not None:  # that the cluster contradicts it, reading says
        yield NeedCheck(Need.FLAVOR, True, detail=stated.title)
    elif shown is not None:
        yield NeedCheck(Need.FLAVOR, False, detail=f"{proposal(shown)}; {cure(shown)}")
    if found.no_messages is not None:
        yield NeedCheck(Need.MESSAGE_CLIENT, False, detail=found.no_messages)
    if found.can_list_acls is not None:
        yield NeedCheck(Need.LIST_ACLS, found.can_list_acls, required=True)
    if found.can_alter_acls is not None:
        yield NeedCheck(Need.ALTER_ACLS, found.can_alter_acls)
    yield reading
    if declaration is None:
        yield NeedCheck(Need.CLUSTER_DOCUMENT, False)
        return
    yield NeedCheck(Need.PRINCIPAL, declaration.principal is not None)
    yield NeedCheck(Need.DEFAULT_ALLOW, declaration.allow_everyone_if_no_acl_found is not None)
