"""Callouts about names that a reviewer could take for others: what a plan brings, against all that is known."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from reconciler.model import AclBinding, ClusterState, DesiredState, ResourceType
from reconciler.model.confusables import LookAlikes, mixed_scripts
from reconciler.model.naming import as_name
from reconciler.plan.review.callouts import Callout

LOOKS_LIKE: Final = "confusable"
MIXED: Final = "mixed-scripts"
_PRINCIPAL: Final = "principal"
#: So many names that one looks like are listed.
_NAMED: Final = 3


def confusable(live: ClusterState, desired: DesiredState) -> tuple[Callout, ...]:
    """Principals and names that are declared anew and look like another known one, or mix scripts; sorted."""
    declared = {name for name, topic in desired.topics.items() if not topic.absent}
    existing = live.topics.keys() | live.topic_names
    brought = _names((one for one in desired.bindings if one not in live.bindings), declared - existing)
    if not brought:
        return ()
    alikes = {what: LookAlikes(names) for what, names in brought.items()}
    others = _names((one for one in live.bindings if one not in desired.bindings), declared | existing)
    undeclared = ((kind, name) for kind, names in others.items() for name in names)
    for what, name in chain(_named(desired.bindings), undeclared):
        if what in alikes:
            alikes[what].see(name)
    found: set[Callout] = set()
    for what, names in brought.items():
        found.update(_mixed(what, names))
        for alike in alikes[what].sets():
            found.update(_alike(what, name, alike) for name in alike if name in names)
    return tuple(sorted(found))


def _named(bindings: Iterable[AclBinding]) -> Iterator[tuple[str, str]]:
    """Each name with what it names: once for each run of bindings with it, so it may come again."""
    pattern, principal = None, None
    for binding in bindings:
        if binding.pattern is not pattern:
            pattern = binding.pattern
            yield pattern.resource_type.noun, pattern.name
        if binding.entry.principal is not principal:
            principal = binding.entry.principal
            yield _PRINCIPAL, principal


def _names(bindings: Iterable[AclBinding], topics: Iterable[str]) -> Mapping[str, set[str]]:
    """Names by what they name: principals, and each type of resource."""
    found: dict[str, set[str]] = defaultdict(set)
    for what, name in _named(bindings):
        found[what].add(name)
    found[ResourceType.TOPIC.noun].update(topics)
    return {what: names for what, names in found.items() if names}


def _alike(what: str, name: str, alike: Sequence[str]) -> Callout:
    others = [as_name(other) for other in alike if other != name][:_NAMED]
    text = f"the {what} {as_name(name)} looks like {', '.join(others)}, and is another {what}"
    return Callout(LOOKS_LIKE, name, text)


def _mixed(what: str, names: Iterable[str]) -> Iterator[Callout]:
    for name in names:
        scripts = mixed_scripts(name)
        if scripts:
            yield Callout(MIXED, name, f"the {what} {as_name(name)} mixes letters of {' and '.join(scripts)}")
