"""Which bindings were used. What counts as use is defined here, and nowhere else.

A binding was used if a log names it as what decided an access, or if it applies to an access that was decided its way:
an ALLOW to one that was permitted, a DENY to one that was refused. It stands ``alone`` if it decides an access that no
other binding decides so, ``decided`` if only a log's word shows it, and ``also`` if all that it decides is decided so
by others as well, or permitted anyway: by a super user, a role or a default. Rights only looked up are no use.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reconciler.access import KafkaVersion
from reconciler.fleet.usage.event import Event, LoggedReason
from reconciler.fleet.usage.lookup import Lookup
from reconciler.model import AclBinding, AclPermissionType


class BindingUse(StrEnum):
    """What the logs show of a binding: the strongest that holds."""

    ALONE = "alone"
    DECIDED = "decided"
    ALSO = "also"
    UNUSED = "unused"
    CANNOT_SAY = "cannot say"


@dataclass(frozen=True, slots=True)
class BindingUses:
    """How many bindings stand how, and those without any use, in order."""

    standings: Mapping[BindingUse, int]
    unused: tuple[AclBinding, ...]


_STRENGTH: Final = {BindingUse.ALSO: 1, BindingUse.DECIDED: 2, BindingUse.ALONE: 3}
#: Grounds beside which no binding was needed.
_ANYWAY: Final = frozenset(
    {LoggedReason.SUPER_USER, LoggedReason.ROLE, LoggedReason.DEFAULT_ALLOW, LoggedReason.DEFAULT_DENY}
)


class BindingUseCollector:
    """Gathers the use of a set of bindings, access by access, in any order."""

    __slots__ = ("_bindings", "_lookup", "_seen", "gone")

    def __init__(self, bindings: frozenset[AclBinding], version: KafkaVersion) -> None:
        """Nothing is used yet. ``gone`` are bindings that logs name and that are not among these."""
        self._bindings = bindings
        self._lookup = Lookup(bindings, version)
        self._seen: dict[AclBinding, BindingUse] = {}
        self.gone: dict[AclBinding, int] = {}

    def see(self, event: Event, times: int) -> None:
        """Take an access that was tried so often."""
        if event.asked_only:
            return
        if event.acl in self._bindings:
            self._stands(event.acl, BindingUse.DECIDED)
        elif event.acl is not None:
            self.gone[event.acl] = self.gone.get(event.acl, 0) + times
        wanted = AclPermissionType.ALLOW if event.allowed else AclPermissionType.DENY
        found = [b for b in self._lookup.applying(event.request) if b.entry.permission_type is wanted]
        alone = len(found) == 1 and event.ground not in _ANYWAY
        for binding in found:
            self._stands(binding, BindingUse.ALONE if alone else BindingUse.ALSO)

    def standing(self, binding: AclBinding) -> BindingUse | None:
        """What was seen of a binding so far; ``None`` for no use."""
        return self._seen.get(binding)

    def uses(self, *, allows_known: bool, denies_known: bool) -> BindingUses:
        """What was found; where use is not known to be in the logs, nothing can be called unused."""
        known = {AclPermissionType.ALLOW: allows_known, AclPermissionType.DENY: denies_known}
        rest = self._bindings - self._seen.keys()
        unused = [binding for binding in rest if known[binding.entry.permission_type]]
        standings = dict.fromkeys(BindingUse, 0)
        for standing in self._seen.values():
            standings[standing] += 1
        standings[BindingUse.UNUSED] = len(unused)
        standings[BindingUse.CANNOT_SAY] = len(rest) - len(unused)
        return BindingUses(standings, tuple(sorted(unused)))

    def _stands(self, binding: AclBinding, standing: BindingUse) -> None:
        """Note the stronger of what is known and what is new."""
        known = self._seen.get(binding)
        if known is None or _STRENGTH[standing] > _STRENGTH[known]:
            self._seen[binding] = standing
