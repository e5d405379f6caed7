"""Conditional steps in JSON: sentinels, barriers and bridges.

Apply creates and removes them itself, as far as their condition holds, so they are no part of what a plan changes nor
of its ids. ``<run>`` stands for the name that apply draws, ``<number>`` for the barrier's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from reconciler.codec import (
    ANY_TEXT,
    BOOLEAN,
    NUMBER,
    TEXT,
    TEXTS,
    Codec,
    Record,
    by_number,
    by_value,
    constant,
    derived,
    field,
    flat,
    optional,
    record,
    tagged,
)
from reconciler.codec.values import PATTERN
from reconciler.dataclass import dataclass
from reconciler.model import PatternType, ResourcePattern, ResourceType
from reconciler.plan.conditional import possible_barriers
from reconciler.plan.default_allow.bridge import Bridge, Means, Side, Unbridged
from reconciler.plan.kinds.acl import is_acl_change
from reconciler.plan.phase import TITLES, Phase
from reconciler.plan.proposal import Plan

_START: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.", PatternType.PREFIXED)
_BARRIER: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.<number>")
_OBSERVED: Final = "default-allow is observed on every broker"

PHASE: Final[Codec[Phase]] = by_number(Phase)
PHASE_TITLES: Final = "; ".join(f"{int(phase)} {TITLES[phase]}" for phase in Phase)


@dataclass(frozen=True, slots=True)
class Sentinel:
    """ACLs by which brokers prove what they enforce."""

    phase: Phase
    principal: str
    pattern: ResourcePattern


@dataclass(frozen=True, slots=True)
class Barrier:
    """After a phase, a wait of ``wait_seconds``, or a question as ``principal`` to every broker about ``pattern``."""

    phase: Phase
    only_for_bridges: bool
    wait_seconds: float | None = None
    principal: str | None = None
    pattern: ResourcePattern | None = None


Conditional: TypeAlias = Sentinel | Bridge | Barrier

_PHASE: Final = field("phase", PHASE, PHASE_TITLES, 2)
_PRINCIPAL: Final = field("principal", TEXT, "As whom brokers are asked.", "User:acl-probe")
_PRINCIPALS: Final = field("principals", TEXTS, "Who holds an ALLOW there on the side that has bindings.")
_SIDE: Final = field("side", by_value(Side), "Which way coverage changes.", "closing")
_PATTERN: Final = flat(PATTERN, "pattern")

_FORMS: Final[dict[str, Record[Conditional]]] = {
    "sentinel": record(Sentinel, _PHASE, _PRINCIPAL, _PATTERN),
    "bridge": record(
        Bridge,
        derived("phase", PHASE, PHASE_TITLES, 1, get=lambda _: Phase.CREATE_FIRST),
        derived("untilPhase", PHASE, "The phase in which it is taken away again.", 14, get=lambda _: Phase.DELETE_LAST),
        derived("condition", constant(_OBSERVED), "When apply does this.", _OBSERVED, get=lambda _: _OBSERVED),
        _SIDE,
        field("means", by_value(Means), "How the resource is kept covered.", "bridge"),
        _PRINCIPALS,
        _PATTERN,
    ),
    "barrier": record(
        Barrier,
        _PHASE,
        field("onlyForBridges", BOOLEAN, "Whether it is needed only because of bridges.", False),
        field("waitSeconds", NUMBER, "How long it waits.", 2, default=None, omit=True),
        replace(_PRINCIPAL, default=None, omit=True),
        optional(PATTERN, "pattern", "resourceType"),
    ),
}
_KINDS: Final[Mapping[type, str]] = {Sentinel: "sentinel", Bridge: "bridge", Barrier: "barrier"}
CONDITIONAL: Final[Codec[Conditional]] = tagged("kind", _FORMS, lambda item: _KINDS[type(item)], "What it is.")
UNBRIDGED: Final[Record[Unbridged]] = record(
    Unbridged,
    _PATTERN,
    _SIDE,
    field("reason", ANY_TEXT, "Why nothing can keep it covered.", "no such topic exists yet"),
    _PRINCIPALS,
)


def conditional_steps(plan: Plan) -> tuple[Conditional, ...]:
    """The conditional steps in the order in which apply comes to them."""
    return tuple(_items(plan))


def _items(plan: Plan) -> Iterator[Conditional]:
    probe = plan.terms.probe
    if probe is not None and any(is_acl_change(step.change) for step in plan.steps):
        yield Sentinel(Phase.CREATE_FIRST, probe, _START)
    yield from plan.bridges.wanted
    for phase in possible_barriers(plan):
        only = phase not in plan.barriers
        if probe is None:
            yield Barrier(phase, only, wait_seconds=plan.terms.barrier_wait)
        else:
            yield Barrier(phase, only, principal=probe, pattern=_BARRIER)
