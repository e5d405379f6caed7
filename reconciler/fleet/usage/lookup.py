"""The bindings that apply to one access, found without a scan over all of them."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from reconciler.access import AccessRequest, KafkaVersion
from reconciler.access.evidence import covers_operation, host_matches
from reconciler.model import WILDCARD, WILDCARD_PRINCIPAL, AclBinding, PatternType, ResourceType

_Key: TypeAlias = tuple[ResourceType, str]


class Lookup:
    """Bindings by type, principal and name; prefixes by their lengths."""

    __slots__ = ("_lengths", "_literal", "_prefixed", "_version")

    def __init__(self, bindings: Iterable[AclBinding], version: KafkaVersion) -> None:
        """Takes a few microseconds for each binding."""
        self._version = version
        self._literal: dict[tuple[ResourceType, str, str], list[AclBinding]] = {}
        self._prefixed: dict[tuple[ResourceType, str, str], list[AclBinding]] = {}
        self._lengths: dict[_Key, set[int]] = {}
        for binding in bindings:
            (kind, name, pattern_type), (principal, *_) = binding
            if pattern_type is PatternType.PREFIXED:
                self._prefixed.setdefault((kind, principal, name), []).append(binding)
                self._lengths.setdefault((kind, principal), set()).add(len(name))
            else:
                self._literal.setdefault((kind, principal, name), []).append(binding)

    def applying(self, request: AccessRequest) -> Iterator[AclBinding]:
        """Bindings that allow or deny the access; for any host, if the request has none."""
        for binding in self._on_name(request):
            entry = binding.entry
            if covers_operation(entry, request.operation) and (
                not request.host or host_matches(entry.host, request.host, self._version)
            ):
                yield binding

    def _on_name(self, request: AccessRequest) -> Iterator[AclBinding]:
        kind, name = request.resource_type, request.resource_name
        for principal in dict.fromkeys((request.principal, WILDCARD_PRINCIPAL)):
            for literal in dict.fromkeys((name, WILDCARD)):
                yield from self._literal.get((kind, principal, literal), ())
            for length in self._lengths.get((kind, principal), ()):
                if length <= len(name):
                    yield from self._prefixed.get((kind, principal, name[:length]), ())
