"""Bindings on which a broker fails or hangs (found by reading ``StandardAuthorizerData.checkSection``).

1. A principal without ``:`` makes ``StandardAcl.parsePrincipal`` throw in every scan that reaches it. Since 4.0 brokers
   refuse to create such a binding (KAFKA-18051), but they still fail on one that an older broker accepted.
2. A resource name that sorts before ``*``: the scan that starts at ``*`` continues into it and seeks again from a text
   that does not exist. With one shared character it loops forever, with more ``String.substring`` throws.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from reconciler.access.names import matches
from reconciler.model.acl import WILDCARD, AclBinding, PatternType, ResourceType

_Order = tuple[bool, int, int, int, bytes, bytes, int]


def utf16(text: str) -> bytes:
    """A sort key in the order of Java's ``String.compareTo``."""
    return text.encode("utf-16-be", "surrogatepass")


def scan_order(binding: AclBinding) -> _Order:
    """The order in which a scan meets the bindings that match one name: longer names first, ``*`` last."""
    pattern, entry = binding
    return (
        pattern.is_wildcard,
        -len(pattern.name),
        pattern.pattern_type,
        entry.operation,
        utf16(entry.principal),
        utf16(entry.host),
        entry.permission_type,
    )


def has_unparsable_principal(binding: AclBinding) -> bool:
    """Whether a broker cannot parse the binding's principal."""
    return ":" not in binding.entry.principal


class BrokerDefects:
    """The bindings that can break a broker, by resource type; empty on a healthy cluster."""

    __slots__ = ("_below", "_scan_ends_early", "_unparsable")

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        """Collect the defective bindings."""
        unparsable: defaultdict[ResourceType, list[AclBinding]] = defaultdict(list)
        below: defaultdict[ResourceType, dict[bytes, set[AclBinding]]] = defaultdict(dict)
        wall = set()
        for binding in bindings:
            name = binding[0][1]
            if ":" not in binding[1][0]:
                unparsable[binding[0][0]].append(binding)
            if name < WILDCARD:
                below[binding[0][0]].setdefault(utf16(name), set()).add(binding)
            elif name == WILDCARD and binding[0][2] is PatternType.PREFIXED:
                wall.add(binding[0][0])
        self._unparsable = {kind: sorted(group, key=scan_order) for kind, group in unparsable.items()}
        self._below = {kind: sorted(by_name.items()) for kind, by_name in below.items()}
        # PREFIXED * comes right after LITERAL * in the scan and ends it before the scan reaches any smaller name.
        self._scan_ends_early = frozenset(wall)

    def with_changes(
        self, added: Iterable[AclBinding], removed: Iterable[AclBinding], index: Iterable[AclBinding]
    ) -> "BrokerDefects":
        """The same for a changed ``index``, which is read again only if a changed binding can be defective."""
        if any(
            has_unparsable_principal(b) or b.pattern.name <= WILDCARD for changes in (added, removed) for b in changes
        ):
            return BrokerDefects(index)
        return self

    @property
    def types(self) -> frozenset[ResourceType]:
        """Resource types on which a request may fail."""
        return frozenset(self._unparsable) | frozenset(self._below)

    @property
    def unparsable(self) -> list[AclBinding]:
        """The bindings whose principal brokers cannot parse."""
        return [binding for several in self._unparsable.values() for binding in several]

    @property
    def bindings(self) -> list[AclBinding]:
        """The defective bindings, sorted."""
        defective = set(self.unparsable)
        defective.update(b for rows in self._below.values() for _, several in rows for b in several)
        return sorted(defective)

    def breaking(self, resource_type: ResourceType, name: str, deny: AclBinding | None) -> AclBinding | None:
        """The binding on which a request for ``name`` fails or hangs, or ``None``.

        ``deny`` is the first DENY in scan order that applies to the request: the scan stops there.
        """
        end = None if deny is None else scan_order(deny)
        for binding in self._unparsable.get(resource_type, ()):
            if matches(binding.pattern, name) and (end is None or scan_order(binding) < end):
                return binding
        # A DENY ends the scan before it can leave the names that match.
        return None if deny is not None else self._stumbled(resource_type, name)

    def _stumbled(self, resource_type: ResourceType, name: str) -> AclBinding | None:
        rows = self._below.get(resource_type)
        # Only a scan that continues below LITERAL * gets into these names, and only for names that sort there.
        if not rows or not name < WILDCARD or resource_type in self._scan_ends_early:
            return None
        for text, bindings in reversed(rows[: bisect_left(rows, utf16(WILDCARD), key=lambda row: row[0])]):
            shared = text.decode("utf-16-be", "surrogatepass")
            if not name.startswith(shared):
                return min(bindings) if shared[0] == name[:1] else None
        return None
