"""Callouts about principals that lose in a plan exactly what another gains: a rename, which interrupts its clients."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias

from reconciler.access import Region
from reconciler.model import AclOperation
from reconciler.model.naming import as_name
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.callouts import Callout

RENAMED: Final = "renamed"
#: So many renames are told one by one; a plan with more is one decision, and one callout.
_NAMED: Final = 3

#: Hosts, names, operations, and under which reading of what is not known.
_Part: TypeAlias = tuple[str, Region, tuple[AclOperation, ...], str | None]


def renames(rows: Iterable[AccessChange]) -> tuple[Callout, ...]:
    """Principals whose whole loss is another's whole gain, each with that other; sorted.

    The order of a plan keeps what both states permit. They permit nothing to both names, and only people know when
    the clients have changed their login.
    """
    lost: dict[str, set[_Part]] = defaultdict(set)
    gained: dict[str, set[_Part]] = defaultdict(set)
    for row in rows:
        if row.principal is not None:
            for side, operations in ((lost, row.lost), (gained, row.gained)):
                if operations:
                    side[row.principal].add((row.hosts, row.region, operations, row.reading))
    heirs: dict[frozenset[_Part], list[str]] = defaultdict(list)
    # Who both gains and loses was given other access, not another name.
    for principal in sorted(gained.keys() - lost.keys()):
        heirs[frozenset(gained[principal])].append(principal)
    found = [
        (old, heirs[access][0])
        for old in sorted(lost.keys() - gained.keys())
        if (access := frozenset(lost[old])) in heirs
    ]
    told = [_told(old, new) for old, new in found[:_NAMED]]
    if more := len(found) - len(told):
        text = f"{more:,} more principals lose in this plan what others gain: clients with the old logins are refused"
        told.append(Callout(RENAMED, found[_NAMED][0], text))
    return tuple(told)


def _told(old: str, new: str) -> Callout:
    text = (
        f"{as_name(old)} loses in this plan what {as_name(new)} gains: clients that still log in as {as_name(old)} are "
        "refused. To rename without an outage, grant both first and remove the old name in a later plan"
    )
    return Callout(RENAMED, old, text)
