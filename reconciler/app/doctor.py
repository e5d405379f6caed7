"""What planning for a cluster and applying to it need, and what of it is missing. Only a canary writes."""

from collections.abc import Collection, Iterator
from enum import StrEnum
from typing import Final

from reconciler.app.connections import cure, disagreement, proposal, version_of
from reconciler.app.options import ConnectionOptions
from reconciler.app.probe import barrier_of, run_of_nothing
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.records import RecordOptions, audit_topic, ledgers
from reconciler.app.session import Target, open_any
from reconciler.app.terms import rights_doubts
from reconciler.apply.environment import Result, UnprovenError
from reconciler.apply.records import ended
from reconciler.apply.run import StoppedError, doubts
from reconciler.dataclass import dataclass
from reconciler.kafka.cluster import Inspection, KafkaCluster
from reconciler.kafka.flavored import FlavoredCluster
from reconciler.kafka.handshake import AuthorizerPresence
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.model import flavor
from reconciler.model.addresses import RANGES_SINCE, ip_range
from reconciler.model.characters import as_name, first_of
from reconciler.model.state import ClusterState
from reconciler.model.topic_configs import refusal_of, risk_of
from reconciler.ports import ClusterError, ReadRequest

# Whether ACLs decide on a cluster, asked before anything is planned: canaries, which are created and removed again.


def canary_problem(target: Target, connection: ConnectionOptions, records: RecordOptions = RecordOptions()) -> str:
    """Why it cannot be said that ACLs decide here; empty where the barrier's probe saw that they do.

    Writes: the first probe ACLs of a barrier, on names under ``__kr.<run>.``, and removes them. The audit log of
    ``records`` has the run before anything is sent, and its end. Raises a :class:`WorkflowError` where no probe is
    declared, the cluster cannot be read, or no record can be kept.
    """
    topic = audit_topic(target, records)
    with barrier_of(target, connection) as (barrier_for, redact), ledgers(records, topic) as (_, audit):
        if barrier_for is None or target.declaration is None:
            raise RequestError(
                "a canary needs a probe: a principal without rights, as which brokers are asked",
                "declare barrier.principal in the Cluster document, and its login in the connections file",
            )
        live = target.read_whole(ReadRequest(all_topics=False))
        run = run_of_nothing(target, target.declaration, live, redact, records.who(), audit)
        barrier = barrier_for(run)
        problems: list[str] = []
        decided = False
        try:
            run.open()
        except StoppedError as error:
            raise WorkflowError(f"nothing was sent: {error}") from error
        try:
            barrier.start()
            barrier.wait()
            decided = True
        except (UnprovenError, StoppedError) as error:
            problems.append(redact(str(error)))
        finally:
            problems += [f"{binding}: could not be removed; “reconciler cleanup” does" for binding in barrier.end()]
            why = "; ".join(problems) or ("" if decided else "it did not end")
            result = Result(run.plan, (), verified=not why, stopped=why)
            try:
                run.write_audit(ended(run.environment.identity.run, result, run.environment.clock.now()))
            except StoppedError as error:
                problems.append(str(error))
        return "; ".join((*problems, *doubts(run)))


class Need(StrEnum):
    """What may be there or missing."""

    CONNECTION = "connection"
    AUTHORIZER = "authorizer"
    FLAVOR = "flavor"
    MESSAGE_CLIENT = "message-client"
    LIST_ACLS = "list-acls"
    ALTER_ACLS = "alter-acls"
    ACLS_DECIDE = "acls-decide"
    AUTHORIZER_CLASS = "authorizer-class"
    OWN_RIGHTS = "own-rights"
    KAFKA_VERSION = "kafka-version"
    READABLE_STATE = "readable-state"
    EVERY_TOPIC = "every-topic"
    CLUSTER_DOCUMENT = "cluster-document"
    PRINCIPAL = "principal"
    DEFAULT_ALLOW = "allow-everyone-if-no-acl-found"
    UPGRADE = "upgrade"


#: So many names are written out.
_MOST_NAMED: Final = 10


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
    canary: RecordOptions | None = None,
    upgrade: tuple[int, int] | None = None,
) -> Diagnosis:
    """Ask a cluster who we are to it; raises a :class:`WorkflowError` where it cannot be asked at all.

    With ``upgrade``, the (major, minor) of a release, also what its brokers refuse or understand otherwise.
    With ``canary`` it also creates ACLs for the barrier's probe, looks whether they decide, and removes them; it says
    where that is recorded.
    """
    with open_any(path, cluster, connection) as (_, target):
        asked = target.cluster.inner if isinstance(target.cluster, FlavoredCluster) else target.cluster
        if not isinstance(asked, KafkaCluster):
            raise RequestError("a snapshot needs no doctor: it is a file")
        try:
            inspection = asked.inspect()
        except ClusterError as error:
            raise WorkflowError(str(error), error.advice) from error
        read = reading_for(target, inspection)
        stated = target.cluster.flavor if isinstance(target.cluster, FlavoredCluster) else None
        topic_configs = flavor.signs_of(read).topic_configs if isinstance(read, ClusterState) else ()
        needs = list(checks(inspection, target.declaration, reading_check(read, inspection), stated, topic_configs))
        if isinstance(read, ClusterState):
            needs += state_checks(read, target.facts)
            needs += upgrade_checks(read, upgrade) if upgrade is not None else ()
        if canary is not None:
            problem = canary_problem(target, connection, canary)
            needs.append(NeedCheck(Need.ACLS_DECIDE, not problem, required=True, detail=problem))
        return Diagnosis(inspection, tuple(needs))


def reading_for(target: Target, inspection: Inspection) -> ClusterState | ClusterError:
    """What a plan would read, or why it could not: the reading itself is tried."""
    facts = target.facts
    request = ReadRequest(
        acls=bool(inspection.can_list_acls),
        principal=facts.principal if facts else None,
        super_users=facts.super_users if facts else (),
    )
    try:
        return target.cluster.read(request)
    except ClusterError as error:
        return error


def reading_check(read: ClusterState | ClusterError, inspection: Inspection) -> NeedCheck:
    """Whether a plan could read the cluster, and whether it would see every topic."""
    if isinstance(read, ClusterError):
        return NeedCheck(Need.READABLE_STATE, False, required=True, detail=str(read))
    # Without an authorizer nothing is hidden from anybody.
    gap = read.topic_gap
    return NeedCheck(Need.EVERY_TOPIC, gap is None or inspection.can_list_acls is None, detail=gap or "")


def state_checks(live: ClusterState, declaration: ClusterDeclaration | None) -> Iterator[NeedCheck]:
    """What the state of a cluster says of its version, and of our own rights there against what is stated."""
    if declaration is not None and declaration.kafka_version is not None:
        try:
            version = version_of(live.kafka_version, live.kafka_version_gap, declaration)
        except WorkflowError as error:
            yield NeedCheck(Need.KAFKA_VERSION, False, required=True, detail=f"{error.message}; {error.advice}")
        else:
            is_known = live.kafka_version is not None and version is not None
            yield NeedCheck(Need.KAFKA_VERSION, is_known, detail=flavor.release_text(declaration.kafka_version))
    for text in rights_doubts(live, declaration):
        yield NeedCheck(Need.OWN_RIGHTS, False, detail=text)


def upgrade_checks(live: ClusterState, release: tuple[int, int]) -> Iterator[NeedCheck]:
    """What brokers of a release refuse, stumble over or understand otherwise, of what is there now."""
    texts = [*_configs_then(live, release), *_ranges_then(live, release)]
    for text in texts:
        yield NeedCheck(Need.UPGRADE, False, detail=text)
    if live.topic_gap or live.acl_gap:
        yield NeedCheck(Need.UPGRADE, False, detail=f"not all was seen: {live.topic_gap or live.acl_gap}")
    elif not texts:
        yield NeedCheck(Need.UPGRADE, True, detail=flavor.release_text(release))


def _configs_then(live: ClusterState, release: tuple[int, int]) -> Iterator[str]:
    """Topic configs by what is wrong with them, whose own value brokers took when it was set."""
    topics: dict[str, list[str]] = {}
    for name, topic in sorted(live.topics.items()):
        for config, value in topic.configs.items():
            refusal = refusal_of(config, value)
            if refusal is not None and refusal.since <= release:
                refused = f"refused since Kafka {refusal.release} ({refusal.reason})"
                why = f"{config}: {refused}, and a broker may not start with it; before the upgrade, {refusal.advice}"
                topics.setdefault(why, []).append(name)
            if (risk := risk_of(config, value)) is not None:
                topics.setdefault(f"{config}: {risk}", []).append(name)
    for why, names in sorted(topics.items()):
        yield f"{why}: {first_of(names, _MOST_NAMED, as_name)}"


def _ranges_then(live: ClusterState, release: tuple[int, int]) -> Iterator[str]:
    """ACLs whose host is no connection's today, and a range of addresses for brokers of 4.4."""
    if release < RANGES_SINCE or (live.kafka_version is not None and live.kafka_version >= RANGES_SINCE):
        return
    ranges = [str(binding) for binding in sorted(live.bindings) if ip_range(binding.entry.host) is not None]
    if ranges:
        since = flavor.release_text(RANGES_SINCE)
        hosts = first_of(ranges, _MOST_NAMED, as_name)
        yield f"hosts that mean nothing before Kafka {since} and are ranges of addresses from then on: {hosts}"


def checks(
    inspection: Inspection,
    declaration: ClusterDeclaration | None,
    reading: NeedCheck,
    stated: flavor.Flavor | None = None,
    topic_configs: Collection[str] = (),
) -> Iterator[NeedCheck]:
    """Every need that this cluster, its declaration and the ``stated`` flavor let us judge."""
    yield NeedCheck(Need.CONNECTION, True, required=True)
    yield NeedCheck(Need.AUTHORIZER, inspection.authorizer is not AuthorizerPresence.ABSENT, required=True)
    if inspection.configs.get(flavor.CLASS_NAME):
        foreign = flavor.foreign_authorizer(inspection.configs)
        detail = f"{flavor.CLASS_NAME}={inspection.configs[flavor.CLASS_NAME]}" if foreign is None else foreign
        yield NeedCheck(Need.AUTHORIZER_CLASS, foreign is None, detail=detail)
    signs = flavor.ClusterSigns(
        inspection.cluster_id, [broker.host for broker in inspection.brokers], inspection.configs, topic_configs
    )
    if stated is not None:
        problem = flavor.flavor_contradiction(stated, signs)
        yield NeedCheck(Need.FLAVOR, problem is None, required=problem is not None, detail=problem or stated.title)
    elif len(shown := flavor.shown_flavors(signs)) > 1:
        yield NeedCheck(Need.FLAVOR, False, detail=disagreement(shown))
    else:
        yield from (
            NeedCheck(Need.FLAVOR, False, detail=f"{proposal(shown_flavor)}; {cure(shown_flavor)}")
            for shown_flavor in shown
        )
    if inspection.no_messages is not None:
        yield NeedCheck(Need.MESSAGE_CLIENT, False, detail=inspection.no_messages)
    if inspection.can_list_acls is not None:
        yield NeedCheck(Need.LIST_ACLS, inspection.can_list_acls, required=True)
    if inspection.can_alter_acls is not None:
        yield NeedCheck(Need.ALTER_ACLS, inspection.can_alter_acls)
    yield reading
    if declaration is None:
        yield NeedCheck(Need.CLUSTER_DOCUMENT, False)
        return
    yield NeedCheck(Need.PRINCIPAL, declaration.principal is not None)
    yield NeedCheck(Need.DEFAULT_ALLOW, declaration.allow_everyone_if_no_acl_found is not None)
