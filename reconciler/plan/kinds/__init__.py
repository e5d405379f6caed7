"""The kinds of resources that a plan can change: one module each, found by the type of a change's sides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from reconciler.codec import Codec, tagged
from reconciler.codec.changes import IMPOSSIBLE
from reconciler.model import Change, ClusterState, Impossible, listed_kinds
from reconciler.plan.kinds import acl, topic
from reconciler.plan.kinds.interface import Kind, LoginAtRisk
from reconciler.plan.kinds.listed import ListedKind
from reconciler.policy.laws import Lockout

__all__ = ["CHANGE", "KINDS", "LISTED", "STEP_CHANGE", "Kind", "describe", "kind_of", "logins_at_risk", "with_reason"]

LISTED: Final[tuple[ListedKind, ...]] = listed_kinds(__name__)
KINDS: Final[tuple[Kind, ...]] = (acl, topic, *LISTED)

_BY_TYPE: Final = {side: kind for kind in KINDS for side in kind.TYPES}


def kind_of(change: Change) -> Kind:
    """The kind of resource that ``change`` is about."""
    if isinstance(change, Impossible):
        return _BY_TYPE[Impossible]
    return _BY_TYPE[type(change.before if change.after is None else change.after)]


def logins_at_risk(changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
    """What the kinds whose law is a guard of their own say of the logins that have to work."""
    guarded = {kind_of(change) for change in changes if kind_of(change).law(change).lockout is Lockout.GUARD}
    for kind in KINDS:
        if kind in guarded:
            yield from kind.risks(changes, live, logins)


def with_reason(change: Change, reason: str) -> Change:
    """An impossible change with the reason that JSON keeps beside it; every other change as it is."""
    return replace(change, reason=reason) if isinstance(change, Impossible) else change


def describe(change: Change) -> str:
    """A change in a few words, as reports and refusals name it."""
    return kind_of(change).describe(change)


def _action(change: Change) -> str:
    return kind_of(change).action(change)


_CODECS: Final[dict[str, Codec[Any]]] = {name: codec for kind in KINDS for name, codec in kind.CODECS.items()}
#: A change that a step can perform, in JSON: ``action``, ``before``, ``after``.
STEP_CHANGE: Final[Codec[Change]] = tagged("action", _CODECS, _action, "What is done.")
#: Any change.
CHANGE: Final[Codec[Change]] = tagged("action", {**_CODECS, "Impossible": IMPOSSIBLE}, _action, "What would be done.")
