"""The kinds of resources that an apply performs. All listed kinds are performed in one way."""

from typing import Final

from reconciler.apply.kinds import acl, topic
from reconciler.apply.kinds.interface import Kind, ListedKind
from reconciler.model.kinds import kind_finder, listed_types
from reconciler.model.listing import resource_of
from reconciler.plan.proposal import Plan
from reconciler.ports import ReadRequest

KINDS: Final[tuple[Kind, ...]] = (acl.KIND, topic.KIND, *map(ListedKind, listed_types()))
kind_of: Final = kind_finder(KINDS)


def request_for(plan: Plan) -> ReadRequest:
    """What has to be read to hold the steps of a plan against a cluster."""
    changes = [step.change for step in plan.steps]
    sides = [type(resource_of(change)) for change in changes]
    there = set(sides)
    # Nothing by default: a listing costs seconds on a large cluster, and rights that we may not have.
    request = ReadRequest(acls=False, all_topics=False)
    for kind in KINDS:
        # Mostly there are none: a plan of 100,000 steps has bindings alone.
        some = not there.isdisjoint(kind.TYPES)
        own = [change for change, side in zip(changes, sides, strict=True) if side in kind.TYPES] if some else []
        request = kind.request(own, request)
    return request
