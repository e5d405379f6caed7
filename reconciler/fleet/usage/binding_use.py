"""Which bindings were used. This module defines what counts as use.

A binding was used if a log names it as the reason of an access, or if it applies to an access with its outcome: an
ALLOW to a permitted one, a DENY to a denied one. It is ``alone`` if it decides an access that no other binding decides
the same way, ``decided`` if only the log names it, and ``also`` if other bindings decide all its accesses too, or they
are permitted anyway (super user, role, default). Looking up rights without an access is not use.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from reconciler.access import KafkaVersion
from reconciler.dataclass import dataclass
from reconciler.fleet.usage.event import Event, LoggedReason
from reconciler.fleet.usage.lookup import Lookup
from reconciler.model import AclBinding, AclPermissionType


class BindingUse(StrEnum):
    """What the logs show about a binding: the strongest value that applies."""

    ALONE = "alone"
    DECIDED = "decided"
    ALSO = "also"
    UNUSED = "unused"
    CANNOT_SAY = "cannot say"


@dataclass(frozen=True, slots=True)
class BindingUses:
    """Counts of bindings by use, and the unused ones, sorted."""

    counts: Mapping[BindingUse, int]
    unused: tuple[AclBinding, ...]


_STRENGTH: Final = {BindingUse.ALSO: 1, BindingUse.DECIDED: 2, BindingUse.ALONE: 3}
#: Reasons for which no binding was needed.
_ANYWAY: Final = frozenset(
    {LoggedReason.SUPER_USER, LoggedReason.ROLE, LoggedReason.DEFAULT_ALLOW, LoggedReason.DEFAULT_DENY}
)


class BindingUseCollector:
    """Collects the use of a set of bindings, access by access, in any order."""

    __slots__ = ("_bindings", "_lookup", "_seen", "gone")

    def __init__(self, bindings: frozenset[AclBinding], version: KafkaVersion) -> None:
        """``gone`` are bindings that logs name and that are not in ``bindings``."""
        self._bindings = bindings
        self._lookup = Lookup(bindings, version)
        self._seen: dict[AclBinding, BindingUse] = {}
        self.gone: dict[AclBinding, int] = {}

    def see(self, event: Event, times: int) -> None:
        """Add an access that happened ``times`` times."""
        if event.asked_only:
            return
        if event.acl in self._bindings:
            self._keep_stronger(event.acl, BindingUse.DECIDED)
        elif event.acl is not None:
            self.gone[event.acl] = self.gone.get(event.acl, 0) + times
        wanted = AclPermissionType.ALLOW if event.allowed else AclPermissionType.DENY
        found = [b for b in self._lookup.applying(event.request) if b.entry.permission_type is wanted]
        alone = len(found) == 1 and event.ground not in _ANYWAY
        for binding in found:
            self._keep_stronger(binding, BindingUse.ALONE if alone else BindingUse.ALSO)

    def use_of(self, binding: AclBinding) -> BindingUse | None:
        """The use of a binding so far; ``None`` for none."""
        return self._seen.get(binding)

    def uses(self, *, allows_known: bool, denies_known: bool) -> BindingUses:
        """The result. A binding is only called unused if the logs would show its use."""
        known = {AclPermissionType.ALLOW: allows_known, AclPermissionType.DENY: denies_known}
        rest = self._bindings - self._seen.keys()
        unused = [binding for binding in rest if known[binding.entry.permission_type]]
        counts = dict.fromkeys(BindingUse, 0)
        for use in self._seen.values():
            counts[use] += 1
        counts[BindingUse.UNUSED] = len(unused)
        counts[BindingUse.CANNOT_SAY] = len(rest) - len(unused)
        return BindingUses(counts, tuple(sorted(unused)))

    def _keep_stronger(self, binding: AclBinding, use: BindingUse) -> None:
        """Keep the stronger of the known and the new use."""
        known = self._seen.get(binding)
        if known is None or _STRENGTH[use] > _STRENGTH[known]:
            self._seen[binding] = use
