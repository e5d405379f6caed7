"""The order of a plan, and nothing else.

Exactly this order of the four ACL phases is clean: nothing that neither state permits is ever permitted, nothing
that both permit is ever interrupted, whatever part of a phase is visible at a moment (the proof is in
``docs/order-and-safety.md``). Requests of different phases are never merged, and each is awaited.
"""

from enum import IntEnum
from typing import Final


class Phase(IntEnum):
    """When a step is performed; inside a phase, steps go by key.

    Client quotas neither widen nor narrow access, so the order of ACLs and topics does not depend on them. They come
    last because a tightened one throttles this run too, where it is ours: everything else is through by then. Nothing
    relies on them, so no barrier separates them from what is before.
    """

    CREATE_FIRST = 1  # bridges, and what we and brokers need on a cluster that the plan closes
    CREATE_DENY = 2  # only narrows
    CREATE_ALLOW = 3  # only widens, inside what DENY leaves
    CREATE_TOPIC = 4  # a new topic never lives without its ACLs
    CREATE_PARTITIONS = 5
    ALTER_CONFIGS = 6  # those that lose no data
    DELETE_ALLOW = 7  # only narrows
    CREATE_WAITING_TOPIC = 8  # those that a vanishing ALLOW reached: who lost access never sees them
    DELETE_TOPIC = 9  # and configs that lose data: nobody is left who may write and so re-create a topic
    DELETE_WAITING_ALLOW = 10  # those whose going would have uncovered a topic that DELETE_TOPIC deletes
    DELETE_DENY = 11  # only widens, to what the new state permits
    DELETE_LAST = 12  # what CREATE_FIRST put there, and what we and brokers need on a cluster that the plan opens
    ALTER_QUOTAS = 13


#: After these phases every broker has to enforce what was sent before anything later relies on it.
BARRIER_AFTER: Final = (
    (Phase.CREATE_FIRST, Phase.CREATE_DENY, Phase.CREATE_ALLOW),
    (Phase.DELETE_ALLOW,),
    (Phase.DELETE_WAITING_ALLOW,),
    (Phase.DELETE_DENY,),
)

TITLES: Final = {
    Phase.CREATE_FIRST: "create what everything else relies on",
    Phase.CREATE_DENY: "create DENY bindings",
    Phase.CREATE_ALLOW: "create ALLOW bindings",
    Phase.CREATE_TOPIC: "create topics",
    Phase.CREATE_PARTITIONS: "add partitions",
    Phase.ALTER_CONFIGS: "alter topic configs",
    Phase.DELETE_ALLOW: "delete ALLOW bindings",
    Phase.CREATE_WAITING_TOPIC: "create topics that waited for a revocation",
    Phase.DELETE_TOPIC: "delete topics and alter configs that lose data",
    Phase.DELETE_WAITING_ALLOW: "delete ALLOW bindings that covered a deleted topic",
    Phase.DELETE_DENY: "delete DENY bindings",
    Phase.DELETE_LAST: "delete what everything else relied on",
    Phase.ALTER_QUOTAS: "alter client quotas",
}


def barriers(phases: set[Phase]) -> tuple[Phase, ...]:
    """After which phases there is a barrier: only where something was sent and something follows that relies on it.

    What comes after DELETE_LAST relies on no ACL.
    """
    return tuple(
        group[-1]
        for group in BARRIER_AFTER
        if phases.intersection(group) and any(group[-1] < phase <= Phase.DELETE_LAST for phase in phases)
    )
