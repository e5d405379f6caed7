"""Sets of host classes, written as hosts."""

from collections.abc import Sequence
from dataclasses import field

from reconciler.access.hosts import HostClass, Hosts, is_within
from reconciler.dataclass import dataclass
from reconciler.model import WILDCARD
from reconciler.model.kafka_release import KafkaVersion


@dataclass(slots=True)
class ClassSet:
    """Some of a list of host classes: ``members``, and with ``usual`` all that are not ``lacking``; by number."""

    members: list[int] = field(default_factory=list)
    lacking: set[int] = field(default_factory=set)
    usual: bool = False

    def example(self, classes: Sequence[HostClass]) -> str:
        """A host of the first class."""
        return classes[0 if self.usual and 0 not in self.lacking else min(self.members)].sample

    def hosts(self, classes: Sequence[HostClass], version: KafkaVersion) -> Hosts | None:
        """The hosts of these classes, or ``None`` for no class."""
        others = sorted(self.lacking.difference(self.members)) if self.usual else None
        # Without ranges, what is not listed need not be looked at: it may be hundreds of classes for each region.
        if others is not None and not any("/" in classes[number].label for number in others):
            return Hosts(any_host=True, but=tuple(classes[number].label for number in others))
        members = self.members if others is None else sorted({*range(len(classes))}.difference(others))
        if not members:
            return None
        chosen = [classes[number] for number in sorted(members)]
        if chosen[0].label != WILDCARD and not any("/" in host.label for host in chosen):
            return Hosts(any_host=False, listed=tuple(host.label for host in chosen))
        return _together(chosen, classes, version)


def _together(hosts: Sequence[HostClass], classes: Sequence[HostClass], version: KafkaVersion) -> Hosts:
    """Some of all classes as a set of hosts."""
    chosen = {host.label for host in hosts}
    others = tuple(host.label for host in classes if host.label not in chosen)
    if WILDCARD in chosen:
        listed = tuple(host.label for host in hosts if is_within(host.label, others, version))
        return Hosts(any_host=True, listed=listed, but=others)
    listed = tuple(host.label for host in hosts)
    return Hosts(any_host=False, listed=listed, but=tuple(o for o in others if is_within(o, listed, version)))
