"""The order of a plan, and nothing else.

Exactly this order of the four ACL phases is clean: nothing that neither state permits is ever permitted, nothing
that both permit is ever interrupted, whatever part of a phase is visible at a moment (the proof is in
``docs/order-and-safety.md``). Requests of different phases are never merged, and each is awaited.
"""

from enum import IntEnum
from typing import Final


class Phase(IntEnum):
    """When a step is performed; inside a phase, steps go by key."""

    CREATE_FIRST = 0  # bridges, and what we and brokers need on a cluster that the plan closes
    CREATE_DENY = 1  # only narrows
    CREATE_ALLOW = 2  # only widens, inside what DENY leaves
    CREATE_TOPIC = 3  # a new topic never lives without its ACLs
    CREATE_PARTITIONS = 4
    ALTER_CONFIGS = 5  # those that lose no data
    DELETE_ALLOW = 6  # only narrows
    CREATE_WAITING_TOPIC = 7  # those that a vanishing ALLOW reached: who lost access never sees them
    DELETE_TOPIC = 8  # and settings that lose data: nobody is left who may write and so re-create a topic
    DELETE_WAITING_ALLOW = 9  # those whose going would have uncovered a topic that phase 8 deletes
    DELETE_DENY = 10  # only widens, to what the new state permits
    DELETE_LAST = 11  # what phase 0 put there, and what we and brokers need on a cluster that the plan opens
    ALTER_QUOTAS = 12  # relies on no ACL, and nothing relies on it


#: Behind these phases every broker has to enforce what was sent before anything later relies on it.
BARRIER_BEHIND: Final = (
    (Phase.CREATE_FIRST, Phase.CREATE_DENY, Phase.CREATE_ALLOW),
    (Phase.DELETE_ALLOW,),
    (Phase.DELETE_WAITING_ALLOW,),
    (Phase.DELETE_DENY,),
)

TITLES: Final = {
    Phase.CREATE_FIRST: "create what has to stand before everything else",
    Phase.CREATE_DENY: "create DENY bindings",
    Phase.CREATE_ALLOW: "create ALLOW bindings",
    Phase.CREATE_TOPIC: "create topics",
    Phase.CREATE_PARTITIONS: "add partitions",
    Phase.ALTER_CONFIGS: "alter topic settings",
    Phase.DELETE_ALLOW: "delete ALLOW bindings",
    Phase.CREATE_WAITING_TOPIC: "create topics that waited for a revocation",
    Phase.DELETE_TOPIC: "delete topics and alter settings that lose data",
    Phase.DELETE_WAITING_ALLOW: "delete ALLOW bindings that covered a deleted topic",
    Phase.DELETE_DENY: "delete DENY bindings",
    Phase.DELETE_LAST: "delete what has to stand until everything else is through",
    Phase.ALTER_QUOTAS: "alter client quotas",
}


def barriers(phases: set[Phase]) -> tuple[Phase, ...]:
    """After which phases a barrier stands: only where something was sent and something follows."""
    return tuple(
        group[-1]
        for group in BARRIER_BEHIND
        if phases.intersection(group) and any(phase > group[-1] for phase in phases - {Phase.ALTER_QUOTAS})
    )
