"""The certificate of a plan: what ``check_plan.py``, which knows nothing of this program, proves the plan by.

It is data: the ACLs before, the facts that decide what they mean, and the orders in which a run may go. The checker
computes all answers itself (``docs/certificate.md``).
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Final

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import text
from reconciler.codec.document import compact
from reconciler.codec.objects import derived
from reconciler.dataclass import dataclass
from reconciler.model.acl import AclBinding, ResourcePattern, ResourceType
from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.flavor import known_release
from reconciler.model.markers import standing_bridges
from reconciler.model.says import AnyText, Flat, Says
from reconciler.model.state import ClusterState
from reconciler.plan.bridges import stages
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.kinds.topic import created_topics
from reconciler.plan.phase import waits
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Means

FORMAT_VERSION: Final = "1.0"


class CertificateError(Exception):
    """Why nothing can be proven about a plan; ``advice`` says what you can do."""

    def __init__(self, message: str, advice: str) -> None:
        """``str()`` is the message."""
        super().__init__(message)
        self.advice = advice


class ChangeAction(StrEnum):
    """What a change does with its ACL."""

    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class CertifiedFacts:
    """What no ACL says, and what they mean depends on; ``None``: not known, so that both have to be safe."""

    default_allow: Annotated[
        bool | None,
        Says(
            "The brokers' setting; null: not established, so the plan has to be safe with both.",
            False,
            name="allowEveryoneIfNoAclFound",
        ),
    ]
    host_ranges: Annotated[
        bool | None, Says("Whether a host with a slash is a range (Kafka 4.4 and later); null: not known.", False)
    ]
    super_users: Annotated[tuple[str, ...], Says("Whom no ACL limits, as the operator states.")]


@dataclass(frozen=True, slots=True)
class CertifiedChange:
    """An ACL that a run creates or deletes; ``step`` is the plan's, ``None`` for a temporary ACL."""

    step: Annotated[
        str | None, Says("The id of the plan's step; null: a temporary allow-all ACL of the run.", "0123456789ab")
    ]
    action: Annotated[ChangeAction, Says("What is done with it.", "create")]
    acl: Annotated[AclBinding, Flat]


@dataclass(frozen=True, slots=True)
class CertifiedPhase:
    """Changes of which brokers may show any part at a moment; ``check``: then each one enforces them all."""

    title: Annotated[str, Says("What it does.", "create DENY ACLs")]
    changes: Annotated[tuple[int, ...], Says("Positions in changes, from 0.")]
    check: Annotated[
        str | None,
        Says("What comes after it before the next one is sent: a question to every broker, or a wait.", "asked"),
    ]


@dataclass(frozen=True, slots=True)
class CertifiedOrder:
    """One way in which a run may go."""

    observed: Annotated[
        bool, Says("Whether it goes so only if every broker was seen to allow everyone where no ACL is found.", False)
    ]
    phases: Annotated[tuple[CertifiedPhase, ...], Says("Its phases, in the order of sending.")]


@dataclass(frozen=True, slots=True)
class TemporarilyRefused:
    """Names on which nothing can keep access up under default-allow, as the plan says, too."""

    pattern: Annotated[ResourcePattern, Flat]
    reason: Annotated[AnyText, Says("Why.", "names that do not exist yet cannot be bridged")]


@dataclass(frozen=True, slots=True)
class Certificate:
    """See the module."""

    plan: Annotated[str, text("^file-[0-9a-f]{64}$"), Says("The digest of the plan file.", f"file-{'0' * 64}")]
    cluster: Annotated[str, Says("The cluster's name in the manifests.", "prod")]
    cluster_id: Annotated[str, Says("The id that the brokers gave it.", "4L6g3nShT-eMCtK--X86sw")]
    facts: Annotated[CertifiedFacts, Says("What the answers depend on beside ACLs.")]
    before: Annotated[tuple[AclBinding, ...], Says("Every ACL of the cluster before the plan.")]
    changes: Annotated[tuple[CertifiedChange, ...], Says("Every ACL that is created or deleted.")]
    orders: Annotated[tuple[CertifiedOrder, ...], Says("The ways in which a run may go; one is not observed.")]
    may_interrupt: Annotated[
        tuple[TemporarilyRefused, ...], Says("Where someone may be refused for a moment under default-allow.")
    ]


_VERSION: Final = derived(
    "formatVersion", text(r"^1\.[0-9]+$"), "Of the certificate.", FORMAT_VERSION, get=lambda _: FORMAT_VERSION
)
CERTIFICATE: Final = record_of(Certificate, first=(_VERSION,))


def certificate(plan: Plan, live: ClusterState, digest: str) -> Certificate:
    """The certificate of ``plan``, which was made from ``live`` and whose file has this digest.

    Raises :class:`CertificateError` where what is live leaves open what ACLs mean.
    """
    terms = plan.terms
    if live.opaque:
        raise CertificateError(
            f"{len(live.opaque):,} ACLs of the cluster cannot be read, so nothing can be proven",
            "delete them, or use a version that can read them",
        )
    if terms.default_allow is True and standing_bridges(live.bindings):
        raise CertificateError(
            "temporary ACLs of an earlier run are still there, so nothing can be proven",
            "run “reconciler cleanup” first",
        )
    release = known_release(live.kafka_version)
    facts = CertifiedFacts(
        default_allow=terms.established_default_allow,
        host_ranges=None if release is None else release >= RANGES_SINCE,
        super_users=terms.facts.established_super_users,
    )
    rows = [
        CertifiedChange(step.id, ChangeAction.CREATE if step.change.before is None else ChangeAction.DELETE, binding)
        for step in plan.steps
        if (binding := touched_binding(step.change)) is not None
    ]
    bridges = [bridge.binding for bridge in plan.bridges.wanted if bridge.means is Means.BRIDGE]
    rows += [CertifiedChange(None, action, binding) for action in ChangeAction for binding in bridges]
    orders = [_order(plan, rows, observed=False)]
    if plan.bridges.wanted:
        orders.insert(0, _order(plan, rows, observed=True))
    return Certificate(
        digest,
        terms.cluster,
        plan.cluster_id,
        facts,
        tuple(sorted(live.bindings)),
        tuple(rows),
        tuple(orders),
        tuple(sorted(set(_refused(plan)), key=lambda item: (item.pattern, item.reason))),
    )


def certificate_text(value: Certificate) -> str:
    """The file's text: one ACL, change or order a line."""
    return (
        "{\n"
        + ",\n".join(f"{compact(name)}:{_lines(item)}" for name, item in CERTIFICATE.write(value).items())
        + "\n}\n"
    )


def _lines(item: object) -> str:
    return "[\n" + ",\n".join(map(compact, item)) + "\n]" if isinstance(item, list) and item else compact(item)


def _order(plan: Plan, rows: list[CertifiedChange], *, observed: bool) -> CertifiedOrder:
    """The phases as ``reconciler.apply.performing`` goes through them."""
    moved = {bridge.binding for bridge in plan.bridges.wanted if bridge.means is not Means.BRIDGE}
    number = {row.step: index for index, row in enumerate(rows)}
    own = {action: _own(rows, action) for action in ChangeAction}
    check = "asked" if plan.terms.probe is not None else f"waited {plan.terms.barrier_wait:g} s"
    staged = stages(plan.steps, moved if observed else None)
    phases = [
        CertifiedPhase(
            phase.title,
            tuple(number[step.id] for step in steps if step.id in number),
            check if waited else None,
        )
        for (phase, steps), waited in zip(staged, waits([phase for phase, _ in staged]), strict=True)
    ]
    if observed:
        phases.insert(0, CertifiedPhase("create temporary allow-all ACLs", own[ChangeAction.CREATE], None))
        phases.append(CertifiedPhase("delete temporary allow-all ACLs", own[ChangeAction.DELETE], None))
    return CertifiedOrder(observed, tuple(phases))


def _own(rows: list[CertifiedChange], action: ChangeAction) -> tuple[int, ...]:
    return tuple(index for index, row in enumerate(rows) if row.step is None and row.action is action)


def _refused(plan: Plan) -> Iterator[TemporarilyRefused]:
    """What the plan tells of interruptions, and topics that it creates itself: nobody uses those yet."""
    for item in plan.bridges.unbridged:
        yield TemporarilyRefused(item.pattern, item.reason)
    if plan.terms.default_allow is not False:
        for topic in created_topics(step.change for step in plan.steps):
            yield TemporarilyRefused(ResourcePattern(ResourceType.TOPIC, topic.name), "the plan creates the topic")
