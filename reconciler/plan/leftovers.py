"""What runs of this tool left on a cluster, as differences that no plan removes: ``cleanup`` does, or the same plan.

Leftover bridges are no steps. Their removal may interrupt somebody, so it belongs to the plan that put them there, or
to a person who says so; until then they are named in every plan and make every drift report differ.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from reconciler.model.acl import AclBinding
from reconciler.model.characters import pattern_name
from reconciler.model.desired import moment_text
from reconciler.model.listing import Change
from reconciler.model.markers import BreakGlass, is_harmless, markers, standing_bridges
from reconciler.model.scope import is_reserved
from reconciler.model.state import ClusterState
from reconciler.plan.difference import Skipped, SkipReason
from reconciler.plan.kinds.acl import is_acl_change, touched_bindings
from reconciler.plan.overlap import PatternIndex, pattern_indexes
from reconciler.plan.review.access_change import EVERYBODY_ELSE
from reconciler.plan.review.callouts import Callout

#: The rule of :func:`bridge_callouts`.
LEFT_OPEN: Final = "left-open"
_NO_PATTERNS: Final = PatternIndex(())
_BRIDGE: Final = (
    "a bridge without a run, by which everybody may do everything there that no DENY refuses: apply the plan of that "
    "run again, or “reconciler cleanup” removes it"
)
_OWN: Final = "left by a run that is over: “reconciler cleanup” removes it"
_FOREIGN: Final = "no run of this tool writes this on a name reserved for it, so somebody else did: find out who"


def leftover_bridges(live: ClusterState, default_allow: bool | None) -> tuple[AclBinding, ...]:
    """The bridges in ``live``, sorted; what a marker calls a bridge is one only where default-allow is declared on."""
    return tuple(sorted(standing_bridges(live.bindings))) if default_allow is True else ()


def bridges_taken_over(live: ClusterState, changes: Iterable[Change]) -> dict[AclBinding, set[AclBinding]]:
    """The bridges that performing ``changes`` ends, because it touches their names, each with its markers."""
    touched = pattern_indexes(binding.pattern for binding in touched_bindings(changes))
    there = standing_bridges(live.bindings)
    found: dict[AclBinding, set[AclBinding]] = {}
    for mark, marker in markers(live.bindings).items():
        index = touched.get(marker.bridge.pattern.resource_type, _NO_PATTERNS)
        if marker.bridge in there and any(True for _ in index.overlapping(marker.bridge.pattern)):
            found.setdefault(marker.bridge, set()).add(mark)
    return found


def left_behind(live: ClusterState, default_allow: bool | None, going_on: Collection[AclBinding]) -> Iterator[Skipped]:
    """Each bridge, then each binding on a reserved name that is not of a run that is ``going_on``."""
    runs = {marker.bridge: marker.run for marker in markers(live.bindings).values()}
    for bridge in leftover_bridges(live, default_allow):
        yield Skipped(SkipReason.LEFTOVER, f"{bridge} (run {runs[bridge]})", _BRIDGE)
    for binding in sorted(binding for binding in live.bindings if is_reserved(binding.pattern.name)):
        if binding not in going_on:
            yield Skipped(SkipReason.LEFTOVER, str(binding), _OWN if is_harmless(binding) else _FOREIGN)


def not_yet(change: Change, emergency: Mapping[AclBinding, BreakGlass]) -> str | None:
    """Why access that an operator gave at once stays until its end; the plan and its reviewers see it."""
    if not is_acl_change(change) or change.before is None or (found := emergency.get(change.before)) is None:
        return None
    end = moment_text(found.end)
    return f"break-glass access until {end}: “reconciler serve --act” ends it then, and a plan after that deletes it"


def bridge_callouts(live: ClusterState, default_allow: bool | None) -> tuple[Callout, ...]:
    """That a bridge leaves a resource open to everybody, one for each."""
    return tuple(
        Callout(
            LEFT_OPEN,
            EVERYBODY_ELSE,
            f"everybody may do everything on {pattern_name(bridge.pattern)}: a leftover bridge",
        )
        for bridge in leftover_bridges(live, default_allow)
    )
