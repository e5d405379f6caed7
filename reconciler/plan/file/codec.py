"""A plan in JSON: one table of fields for each of its parts, from which reader, writer and schema follow.

A new field of a plan is one line here.
"""

from dataclasses import replace
from typing import Any, Final, NamedTuple

from reconciler.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    Codec,
    Record,
    array,
    by_value,
    derived,
    field,
    flat,
    group,
    nullable,
    optional,
    record,
    text,
)
from reconciler.codec.values import EXPIRY, MOMENT, ORIGIN
from reconciler.diff import Skipped, SkipReason
from reconciler.model import Change
from reconciler.plan.default_allow.bridge import Bridge, Bridges, Unbridged
from reconciler.plan.facts import Facts
from reconciler.plan.file.access import CALLOUT, CONSEQUENCE, EFFECT, EXCEPTION
from reconciler.plan.file.conditional import CONDITIONAL, PHASE, PHASE_TITLES, UNBRIDGED, Conditional, conditional_steps
from reconciler.plan.file.gaining import GAINING
from reconciler.plan.file.guardrails import GUARDRAILS
from reconciler.plan.file.terms import ACKNOWLEDGEMENT, COUNTS, COVERAGE, FACTS, OPTIONS, TERMS
from reconciler.plan.file.topics import TOPIC_REVIEW
from reconciler.plan.kinds import CHANGE, STEP_CHANGE, with_reason
from reconciler.plan.proposal import Plan, Terms
from reconciler.plan.refusal import REFUSAL
from reconciler.plan.review.access_review import AccessReview, AccessTrend
from reconciler.plan.review.effects import Effect
from reconciler.plan.step import Step, id_of

_ID_EXAMPLE: Final = "0123456789ab"
_DAY: Final = "2026-11-21"


class _Item(NamedTuple):
    """A step with what it does to access."""

    step: Step
    effect: Effect | None


_STEP_ID: Final = derived("id", text("^[0-9a-f]{12}$"), "What names the step.", _ID_EXAMPLE, get=lambda step: step.id)
_STEP_FIELDS: Final = (
    field("phase", PHASE, f"The phase in which it is sent: {PHASE_TITLES}.", 2),
    flat(STEP_CHANGE, "change"),
    field(
        "origin",
        nullable(ORIGIN),
        "The place in the manifests, file:line:column; null: nothing asks for it.",
        "acls.yaml:8:16",
    ),
    field(
        "expires",
        nullable(EXPIRY),
        "Until when what it creates is wanted, through a day or until an instant; null: no end.",
        "2027-01-31",
    ),
    field(
        "reason", nullable(ANY_TEXT), "Why it is wanted, as its declaration says; null: it does not.", "nightly loads"
    ),
    field("ticket", nullable(ANY_TEXT), "The ticket that its declaration names; null: none.", "OPS-42"),
    field(
        "role",
        nullable(ORIGIN),
        "The rule of a Role document that names the operation; null: none does.",
        "roles.yaml:8:7",
        default=None,
    ),
    derived(
        "destructive", BOOLEAN, "Whether somebody may lose access or data.", False, get=lambda step: step.destructive
    ),
    derived("reversible", BOOLEAN, "Whether undo can bring it back.", True, get=lambda step: step.reversible),
)
#: A step, without what it does to access.
STEP: Final[Record[Step]] = record(Step, _STEP_ID, *_STEP_FIELDS)
# A plan may have 150,000 steps: their ids are taken from what is written anyway.
_PLAIN_STEP: Final = record(Step, replace(_STEP_ID, get=lambda _: ""), *_STEP_FIELDS)
_ITEM: Final[Record[_Item]] = record(
    _Item, flat(_PLAIN_STEP, "step"), field("effect", nullable(EFFECT), "What the step does to access.")
)


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
    field("options", OPTIONS, "What the command line asked for."),
    field("terms", TERMS, "The facts and limits that the plan was made under."),
    field("facts", FACTS, "What no API tells of the cluster, and who states it.", get=lambda plan: plan.terms.facts),
    field(
        "acknowledgements",
        array(ACKNOWLEDGEMENT, lines=True),
        "What a person accepted by name, so that a guard lets it pass.",
    ),
    field("counts", COUNTS, "How many bindings and topics were declared and read."),
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
        array(UNBRIDGED, lines=True),
        "Patterns that nothing can keep covered while their bindings change.",
        get=lambda plan: plan.bridges.unbridged,
    ),
    field("warnings", array(ANY_TEXT, lines=True), "What a reviewer should know, in words."),
    field(
        "loginWarnings",
        array(ANY_TEXT, lines=True),
        "What the login that planned may not do, in words. In no id: a review may plan with fewer rights.",
    ),
    field("coverage", COVERAGE, "Patterns that get or lose their only binding, which default-allow makes matter."),
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
            array(CONSEQUENCE),
            "One for each principal and set of names whose access changes.",
            get=lambda plan: plan.access.access_changes,
            attr="access_changes",
        ),
        field(
            "exceptions",
            array(EXCEPTION),
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
        array(CALLOUT, lines=True),
        "What a reviewer should not miss.",
        get=lambda plan: plan.access.callouts,
    ),
    GAINING,
    field("refusals", array(REFUSAL, lines=True), "What guards refuse, each with its remedy."),
    field("guardrails", GUARDRAILS, "The rules that judged the plan, and what the proposal changes about them."),
    field("topics", TOPIC_REVIEW, "The review of topic steps."),
    field(
        "left", array(SKIPPED, lines=True), "Differences that are not changed, each with the reason.", attr="skipped"
    ),
    field("steps", _ITEMS, "Everything that is sent, in order.", get=_items, attr="items"),
)
