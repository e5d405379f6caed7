"""A smaller set of bindings with exactly the same access, proven by an empty access difference."""

from collections.abc import Iterable
from typing import NamedTuple

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import compare_access
from reconciler.access.hosts import is_dead
from reconciler.access.lint.covering import Covering, IdleDenies
from reconciler.access.name_set import names_of
from reconciler.access.names import has_names
from reconciler.model import AclBinding, AclPermissionType


class Removal(NamedTuple):
    """A binding that can be removed; ``because`` are the bindings that make it redundant, empty if it has no effect."""

    binding: AclBinding
    because: tuple[AclBinding, ...]


class Minimised(NamedTuple):
    """The authorizer with the remaining bindings, and the removals in order."""

    kept: Authorizer
    removed: tuple[Removal, ...]


def minimise(authorizer: Authorizer) -> Minimised:
    """Remove bindings without effect one by one, each judged against the bindings that remain.

    If default-allow is on or unknown, coverage is part of the proof. Opaque entries are kept and taken into account.
    """
    kept, removed = authorizer, list[Removal]()
    # A removal can make another one possible, so repeat until a round removes nothing.
    while True:
        round_ = _without(kept, _superfluous(kept))
        removed += round_.removed
        if not round_.removed:
            return Minimised(kept, tuple(removed))
        kept = round_.kept


def without_change(authorizer: Authorizer, bindings: Iterable[AclBinding]) -> frozenset[AclBinding]:
    """Those of the bindings that can all be removed while access stays the same."""
    there = [Removal(binding, ()) for binding in sorted(bindings) if binding in authorizer.bindings]
    return frozenset(removal.binding for removal in _without(authorizer, there).removed)


def _without(authorizer: Authorizer, removals: list[Removal]) -> Minimised:
    """All removals at once if access stays the same, which is usual; else only those that keep it the same."""
    kept = authorizer.with_changes(removed=[removal.binding for removal in removals])
    if compare_access(authorizer, kept).is_empty:
        return Minimised(kept, tuple(removals))
    return _one_by_one(authorizer, removals)


def _one_by_one(authorizer: Authorizer, removals: list[Removal]) -> Minimised:
    """Only those removals that keep access the same."""
    kept, done = authorizer, []
    for removal in removals:
        smaller = kept.with_changes(removed=[removal.binding])
        if compare_access(kept, smaller).is_empty:
            kept = smaller
            done.append(removal)
    return Minimised(kept, tuple(done))


def _superfluous(authorizer: Authorizer) -> list[Removal]:
    covering = Covering(authorizer.interpretations.bindings_of, authorizer.covering_version)
    idle = IdleDenies(authorizer)
    found = []
    # Narrow patterns first: of two equivalent bindings the wider one stays.
    for binding in sorted(authorizer.bindings, key=lambda b: (-len(names_of(b.pattern).text), b)):
        because = covering.redundancy(binding)
        allow = binding.entry.permission_type is AclPermissionType.ALLOW
        if not because and allow:
            because = covering.shadow(binding)
        dead = is_dead(binding.entry.host, authorizer.kafka_version) or not has_names(
            binding.pattern.resource_type, names_of(binding.pattern)
        )
        if because or dead or (not allow and idle.is_idle(binding)):
            covering.remove(binding)
            found.append(Removal(binding, because))
    return found
