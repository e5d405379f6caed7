"""The order of a plan, and nothing else.

Exactly this order of the four ACL phases is clean: nothing that neither state permits is ever permitted, nothing
that both permit is ever interrupted, whatever part of a phase is visible at a moment (the proof is in
``docs/order-and-safety.md``). Requests of different phases are never merged, and each is awaited.
"""

from enum import IntEnum
from typing import Final, Self


class Phase(IntEnum):
    """When a step is performed; inside a phase, steps go by key.

    Client quotas and group configs neither widen nor narrow access, so the order of ACLs and topics does not depend on
    them. They come last: a tightened quota throttles this run too, where it is ours, and everything else is through by
    then. Nothing relies on them, so no barrier separates them from what is before.
    """

    title: str

    def __new__(cls, number: int, title: str) -> Self:
        """A number with its ``title``, which people read."""
        phase = int.__new__(cls, number)
        phase._value_, phase.title = number, title
        return phase

    # Bridges, and what we and brokers need on a cluster that the plan closes
    CREATE_FIRST = 1, "create what everything else relies on"
    CREATE_DENY = 2, "create DENY bindings"  # only narrows
    CREATE_ALLOW = 3, "create ALLOW bindings"  # only widens, inside what DENY leaves
    CREATE_TOPIC = 4, "create topics"  # a new topic never lives without its ACLs
    CREATE_PARTITIONS = 5, "add partitions"
    ALTER_CONFIGS = 6, "alter topic configs"  # those that lose no data
    DELETE_ALLOW = 7, "delete ALLOW bindings"  # only narrows
    # Those that a vanishing ALLOW reached: who lost access never sees them
    CREATE_WAITING_TOPIC = 8, "create topics that waited for a revocation"
    # With configs that lose data: nobody is left who may write and so re-create a topic
    DELETE_TOPIC = 9, "delete topics and alter configs that lose data"
    # Those whose going would have uncovered a topic that DELETE_TOPIC deletes
    DELETE_WAITING_ALLOW = 10, "delete ALLOW bindings that covered a deleted topic"
    DELETE_DENY = 11, "delete DENY bindings"  # only widens, to what the new state permits
    # What CREATE_FIRST put there, and what we and brokers need on a cluster that the plan opens
    DELETE_LAST = 12, "delete what everything else relied on"
    ALTER_QUOTAS = 13, "alter client quotas"
    ALTER_GROUP_CONFIGS = 14, "alter group configs"


#: After these phases every broker has to enforce what was sent before anything later relies on it.
BARRIER_AFTER: Final = (
    (Phase.CREATE_FIRST, Phase.CREATE_DENY, Phase.CREATE_ALLOW),
    (Phase.DELETE_ALLOW,),
    (Phase.DELETE_WAITING_ALLOW,),
    (Phase.DELETE_DENY,),
)

TITLES: Final = {phase: phase.title for phase in Phase}


def barriers(phases: set[Phase]) -> tuple[Phase, ...]:
    """After which phases there is a barrier: only where something was sent and something follows that relies on it.

    What comes after DELETE_LAST relies on no ACL.
    """
    return tuple(
        group[-1]
        for group in BARRIER_AFTER
        if phases.intersection(group) and any(group[-1] < phase <= Phase.DELETE_LAST for phase in phases)
    )
