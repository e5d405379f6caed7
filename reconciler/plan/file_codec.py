"""A plan in JSON: one table of fields for each of its parts, from which reader, writer and schema follow.

A new field of a plan is one line here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    Codec,
    array,
    by_value,
    constant,
    mapping,
    nullable,
    text,
)
from reconciler.codec.objects import Record, derived, field, group, optional, record, tagged
from reconciler.codec.values import MOMENT, ORIGIN
from reconciler.dataclass import dataclass
from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.model.listing import Change
from reconciler.model.says import Flat, Says
from reconciler.plan.bridges import possible_barriers
from reconciler.plan.difference import DriftCause, Skipped, SkipReason
from reconciler.plan.guards import GUARDRAILS
from reconciler.plan.kinds import CHANGE
from reconciler.plan.kinds.acl import is_acl_change
from reconciler.plan.kinds.topic import with_reason
from reconciler.plan.observed import Facts
from reconciler.plan.overlap import CoverageChange
from reconciler.plan.phase import PHASE, PHASE_TITLES, Phase
from reconciler.plan.proposal import TERMS, Counts, Options, Plan, Terms
from reconciler.plan.refusal import REFUSAL, AcceptedGuard
from reconciler.plan.review.access_change import GAINING, AccessChange, ExemptPrincipal
from reconciler.plan.review.access_review import AccessReview, AccessTrend
from reconciler.plan.review.callouts import Callout
from reconciler.plan.review.effects import Effect
from reconciler.plan.review.topics import TOPIC_REVIEW
from reconciler.plan.step import Bridge, Bridges, Step, Unbridged, id_of

_ID_EXAMPLE: Final = "0123456789ab"
_DAY: Final = "2026-11-21"


# Conditional steps in JSON: probe ACLs, barriers and bridges.
#
# Apply creates and removes them itself, as far as their condition holds, so they are no part of what a plan changes nor
# of its ids. ``<run>`` stands for the name that apply draws, ``<number>`` for the barrier's.

_START: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.", PatternType.PREFIXED)
_BARRIER: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.<number>")
_OBSERVED: Final = "default-allow is observed on every broker"
_PRINCIPAL: Final = "As whom brokers are asked."


@dataclass(frozen=True, slots=True)
class ProbeAcls:
    """ACLs by which brokers prove what they enforce."""

    phase: Annotated[Phase, PHASE, Says(PHASE_TITLES, 2)]
    principal: Annotated[str, Says(_PRINCIPAL, "User:acl-probe")]
    pattern: Annotated[ResourcePattern, Flat]


@dataclass(frozen=True, slots=True)
class PropagationCheck:
    """After a phase, a wait of ``wait_seconds``, or a question as ``principal`` to every broker about ``pattern``."""

    phase: Annotated[Phase, PHASE, Says(PHASE_TITLES, 2)]
    only_for_bridges: Annotated[bool, Says("Whether it is needed only because of bridges.", False)]
    wait_seconds: Annotated[float | None, Says("How long it waits.", 2, omit=True)] = None
    principal: Annotated[str | None, Says(_PRINCIPAL, "User:acl-probe", omit=True)] = None
    pattern: Annotated[ResourcePattern | None, Flat] = None


Conditional: TypeAlias = ProbeAcls | Bridge | PropagationCheck

_FORMS: Final[dict[str, Record[Any]]] = {
    "sentinel": record_of(ProbeAcls),
    "bridge": record_of(
        Bridge,
        first=(
            derived("phase", PHASE, PHASE_TITLES, 1, get=lambda _: Phase.CREATE_FIRST),
            derived(
                "untilPhase", PHASE, "The phase in which it is taken away again.", 14, get=lambda _: Phase.DELETE_LAST
            ),
            derived("condition", constant(_OBSERVED), "When apply does this.", _OBSERVED, get=lambda _: _OBSERVED),
        ),
    ),
    "barrier": record_of(PropagationCheck),
}
_KINDS: Final[Mapping[type, str]] = {ProbeAcls: "sentinel", Bridge: "bridge", PropagationCheck: "barrier"}
CONDITIONAL: Final[Codec[Conditional]] = tagged("kind", _FORMS, lambda item: _KINDS[type(item)], "What it is.")


def conditional_steps(plan: Plan) -> tuple[Conditional, ...]:
    """The conditional steps in the order in which apply comes to them."""
    return tuple(_conditional(plan))


def _conditional(plan: Plan) -> Iterator[Conditional]:
    probe = plan.terms.probe
    if probe is not None and any(is_acl_change(step.change) for step in plan.steps):
        yield ProbeAcls(Phase.CREATE_FIRST, probe, _START)
    yield from plan.bridges.wanted
    for phase in possible_barriers(plan):
        only = phase not in plan.barriers
        if probe is None:
            yield PropagationCheck(phase, only, wait_seconds=plan.terms.barrier_wait)
        else:
            yield PropagationCheck(phase, only, principal=probe, pattern=_BARRIER)


# A plan with its steps.

_COMPUTED: Final = (
    derived(
        "destructive", BOOLEAN, "Whether somebody may lose access or data.", False, get=lambda step: step.destructive
    ),
    derived("reversible", BOOLEAN, "Whether undo can bring it back.", True, get=lambda step: step.reversible),
)


def _step(id_of_step: Callable[[Step], str]) -> Record[Step]:
    name = derived("id", text("^[0-9a-f]{12}$"), "What names the step.", _ID_EXAMPLE, get=id_of_step)
    return record_of(Step, *_COMPUTED, first=(name,))


#: A step, without what it does to access.
STEP: Final = _step(lambda step: step.id)
# A plan may have 150,000 steps: their ids are taken from what is written anyway.
_PLAIN_STEP: Final = _step(lambda _: "")


class _Item(NamedTuple):
    """A step with what it does to access."""

    step: Annotated[Step, _PLAIN_STEP, Flat]
    effect: Annotated[Effect | None, Says("What the step does to access.")]


_ITEM: Final = record_of(_Item)


def _write_item(item: _Item) -> dict[str, Any]:
    written = _ITEM.write(item)
    written["id"] = id_of(written)
    return written


_ITEMS: Final = array(Codec(_ITEM.read, _write_item, _ITEM.schema), lines=True)


def _skipped(detail: str, change: Change | None, **facts: Any) -> Skipped:
    return Skipped(change=change and with_reason(change, detail), detail=detail, **facts)


SKIPPED: Final[Record[Skipped]] = record(
    _skipped,
    field("reason", by_value(SkipReason), "Why it is not changed.", "held-back"),
    field("subject", ANY_TEXT, "What it is about, in words.", "topic orders"),
    field("detail", ANY_TEXT, "Why, in words.", "deletions need --allow-deletes"),
    field("origin", nullable(ORIGIN), "The place in the manifests; null where there is none.", "acls.yaml:8:16"),
    optional(CHANGE, "change", "action"),
)


def _plan(
    cluster_name: str,
    terms: Terms,
    facts: Facts,
    items: tuple[_Item, ...],
    conditional: tuple[Conditional, ...],
    unbridged: tuple[Unbridged, ...],
    **parts: Any,
) -> Plan:
    review = {
        name: parts.pop(name) for name in ("access_changes", "exceptions", "callouts", "more_principals", "denials")
    }
    return Plan(
        terms=replace(terms, cluster=cluster_name, facts=facts),
        steps=tuple(item.step for item in items),
        access=AccessReview(effects=tuple(item.effect for item in items), **review),
        bridges=Bridges(tuple(item for item in conditional if isinstance(item, Bridge)), unbridged),
        **parts,
    )


def _items(plan: Plan) -> tuple[_Item, ...]:
    return tuple(map(_Item, plan.steps, plan.access.effects))


#: Everything of a plan but its ids; whether those of its steps are right, the document checks with its own.
PLAN: Final[Record[Plan]] = record(
    _plan,
    field("toolVersion", TEXT, "The version that made the plan.", "0.1.0"),
    field(
        "sourceCommit", nullable(TEXT), "The commit of the manifests; null where they are in no repository.", "0123abc"
    ),
    field(
        "createdAt",
        nullable(text(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")),
        "When the plan was made, in UTC; null: nobody said. In no id, but in the file's.",
        f"{_DAY}T08:00:00Z",
    ),
    group(
        "cluster",
        "The cluster that was read.",
        field("id", TEXT, "The id that the brokers gave the cluster.", "4L6g3nShT-eMCtK--X86sw", attr="cluster_id"),
        field(
            "name", TEXT, "Its name in the manifests.", "prod", get=lambda plan: plan.terms.cluster, attr="cluster_name"
        ),
    ),
    field("asOf", MOMENT, "The instant, or the begin of the day, that decides what has expired.", f"{_DAY}T08:00:00Z"),
    field("options", record_of(Options), "What the command line asked for."),
    field("terms", TERMS, "The facts and limits that the plan was made under."),
    field(
        "facts",
        record_of(Facts),
        "What no API tells of the cluster, and who states it.",
        get=lambda plan: plan.terms.facts,
    ),
    field(
        "accepted",
        array(record_of(AcceptedGuard), lines=True),
        "What a person accepted by name, so that a safety check lets it pass.",
    ),
    field("counts", record_of(Counts), "How many bindings and topics were declared and read."),
    derived(
        "estimatedSeconds",
        NUMBER,
        "How long performing it takes, barriers included.",
        5.1,
        get=lambda plan: plan.estimated_seconds,
    ),
    derived(
        "barriersAfterPhases",
        array(PHASE, lines=True),
        "The phases after which every broker has to enforce what was sent.",
        get=lambda plan: plan.barriers,
    ),
    field(
        "conditional",
        array(CONDITIONAL, lines=True),
        "Created and removed by apply itself, as far as the conditions hold.",
        get=conditional_steps,
    ),
    field(
        "unbridged",
        array(record_of(Unbridged), lines=True),
        "Patterns that nothing can keep covered while their bindings change.",
        get=lambda plan: plan.bridges.unbridged,
    ),
    field("warnings", array(ANY_TEXT, lines=True), "What a reviewer should know, in words."),
    field(
        "loginWarnings",
        array(ANY_TEXT, lines=True),
        "What the login that planned may not do, in words. In no id: a review may plan with fewer rights.",
    ),
    field(
        "coverage",
        record_of(CoverageChange),
        "Patterns that get or lose their only binding, which default-allow makes matter.",
    ),
    derived(
        "accessChange",
        by_value(AccessTrend),
        "The plan's effect on access in one word.",
        "widening",
        get=lambda plan: plan.access.trend,
    ),
    group(
        "access",
        "Who gains and loses what, computed on all bindings before and after.",
        field(
            "rows",
            array(record_of(AccessChange)),
            "One for each principal and set of names whose access changes.",
            get=lambda plan: plan.access.access_changes,
            attr="access_changes",
        ),
        field(
            "exceptions",
            array(record_of(ExemptPrincipal)),
            "Principals with rights of their own, whom a row about everybody else leaves out.",
            get=lambda plan: plan.access.exceptions,
        ),
        field(
            "morePrincipals",
            COUNT,
            "How many principals that gain or lose are not listed.",
            0,
            get=lambda plan: plan.access.more_principals,
        ),
        field(
            "denials",
            TEXT,
            "A digest of what principals reached through User:* gain and are denied; empty: all are listed.",
            "",
            get=lambda plan: plan.access.denials,
        ),
    ),
    field(
        "callouts",
        array(record_of(Callout), lines=True),
        "What a reviewer should not miss.",
        get=lambda plan: plan.access.callouts,
    ),
    GAINING,
    field("refusals", array(REFUSAL, lines=True), "What safety checks refuse, each with its remedy."),
    field("guardrails", GUARDRAILS, "The rules that judged the plan, and what the proposal changes about them."),
    field("topics", TOPIC_REVIEW, "The review of topic steps."),
    field(
        "left", array(SKIPPED, lines=True), "Differences that are not changed, each with the reason.", attr="skipped"
    ),
    field(
        "causes",
        mapping(by_value(DriftCause)),
        "Of a drift report: why each difference is there, by the id of its change; absent where what was applied last "
        "is not known.",
        {_ID_EXAMPLE: "merged"},
        default=None,
        omit=True,
    ),
    field("steps", _ITEMS, "Everything that is sent, in order.", get=_items, attr="items"),
)
