"""The kinds of resources that an apply performs. All listed kinds are performed in one way."""

from typing import Final

from reconciler.apply.kinds import acl, topic
from reconciler.apply.kinds.interface import Kind
from reconciler.apply.kinds.listed import ListedKind
from reconciler.model import kind_finder
from reconciler.plan import Plan
from reconciler.plan.kinds import LISTED
from reconciler.ports import ReadRequest

__all__ = ["KINDS", "Kind", "kind_of", "request_for"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *map(ListedKind, LISTED))
kind_of: Final = kind_finder(KINDS)


def request_for(plan: Plan) -> ReadRequest:
    """What has to be read to hold the steps of a plan against a cluster."""
    changes = [step.change for step in plan.steps]
    # Nothing by default: a listing costs seconds on a large cluster, and rights that we may not have.
    request = ReadRequest(acls=False, all_topics=False)
    for kind in KINDS:
        request = kind.request(changes, request)
    return request
