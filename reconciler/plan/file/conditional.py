"""Conditional steps in JSON: sentinels, barriers and bridges.

Apply creates and removes them itself, as far as their condition holds, so they are no part of what a plan changes nor
of its ids. ``<run>`` stands for the name that apply draws, ``<number>`` for the barrier's.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, TypeAlias

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import Codec, constant
from reconciler.codec.objects import Record, derived, tagged
from reconciler.dataclass import dataclass
from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.model.says import Flat, Says
from reconciler.plan.bridges import possible_barriers
from reconciler.plan.kinds.acl import is_acl_change
from reconciler.plan.phase import PHASE, PHASE_TITLES, Phase
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Bridge

_START: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.", PatternType.PREFIXED)
_BARRIER: Final = ResourcePattern(ResourceType.TOPIC, "__kr.<run>.<number>")
_OBSERVED: Final = "default-allow is observed on every broker"
_PRINCIPAL: Final = "As whom brokers are asked."


@dataclass(frozen=True, slots=True)
class Sentinel:
    """ACLs by which brokers prove what they enforce."""

    phase: Annotated[Phase, PHASE, Says(PHASE_TITLES, 2)]
    principal: Annotated[str, Says(_PRINCIPAL, "User:acl-probe")]
    pattern: Annotated[ResourcePattern, Flat]


@dataclass(frozen=True, slots=True)
class Barrier:
    """After a phase, a wait of ``wait_seconds``, or a question as ``principal`` to every broker about ``pattern``."""

    phase: Annotated[Phase, PHASE, Says(PHASE_TITLES, 2)]
    only_for_bridges: Annotated[bool, Says("Whether it is needed only because of bridges.", False)]
    wait_seconds: Annotated[float | None, Says("How long it waits.", 2, omit=True)] = None
    principal: Annotated[str | None, Says(_PRINCIPAL, "User:acl-probe", omit=True)] = None
    pattern: Annotated[ResourcePattern | None, Flat] = None


Conditional: TypeAlias = Sentinel | Bridge | Barrier

_FORMS: Final[dict[str, Record[Any]]] = {
    "sentinel": record_of(Sentinel),
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
    "barrier": record_of(Barrier),
}
_KINDS: Final[Mapping[type, str]] = {Sentinel: "sentinel", Bridge: "bridge", Barrier: "barrier"}
CONDITIONAL: Final[Codec[Conditional]] = tagged("kind", _FORMS, lambda item: _KINDS[type(item)], "What it is.")


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
