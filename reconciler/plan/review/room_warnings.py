"""What a plan says where a service takes no more than so many ACLs, and how full it is."""

from collections.abc import Iterator, Sequence
from typing import Final

from reconciler.model import ClusterState, Flavor
from reconciler.plan.kinds.acl import created_bindings
from reconciler.plan.step import Step

#: From this share of the most on, it is said.
_FULL: Final = 0.9


def room_warnings(live: ClusterState, steps: Sequence[Step], flavor: Flavor) -> Iterator[str]:
    """Near the most that any cluster of the make takes, or beyond what its smallest type takes; guards refuse more."""
    most, fewest = flavor.max_bindings, flavor.fewest_bindings
    there = len(live.bindings) + len(live.opaque)
    creates = len(created_bindings(step.change for step in steps))
    if most is not None and there + creates > most * _FULL:
        has = f"{there:,} ACLs are live, the plan creates {creates:,}"
        yield f"{has}, and {flavor.title} takes {most:,} at most, or fewer"
    elif fewest is not None and creates and there + creates > fewest:
        yield (
            f"{there:,} ACLs are live and the plan creates {creates:,}: the smallest type of cluster of {flavor.title} "
            f"takes {fewest:,}, and refuses the others"
        )
