"""The order of a plan, and nothing else.

Exactly this order of the four ACL phases is clean: nothing that neither state permits is ever permitted, nothing
that both permit is ever interrupted, whatever part of a phase is visible at a moment (the proof is in
``docs/order-and-safety.md``). Requests of different phases are never merged, and each is awaited.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, Self

from reconciler.codec.codec import Codec, by_number


class Phase(IntEnum):
    """When a step is performed; inside a phase, steps go by key.

    Quotas and dynamic configs neither widen nor narrow access, so the order of ACLs and topics does not depend on
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
    CREATE_DENY = 2, "create DENY ACLs"  # only narrows
    # Who can log in from here on is held by every DENY; one who waits for a grant finds it soon after
    ALTER_USERS = 3, "create SCRAM users and set passwords"
    CREATE_ALLOW = 4, "create ALLOW ACLs"  # only widens, inside what DENY leaves
    CREATE_TOPIC = 5, "create topics"  # a new topic never lives without its ACLs
    CREATE_PARTITIONS = 6, "add partitions"
    ALTER_CONFIGS = 7, "alter topic configs"  # those that lose no data
    # Before their grants go: nobody new logs in as them, which revokes sooner
    DELETE_USERS = 8, "delete SCRAM users"
    DELETE_ALLOW = 9, "delete ALLOW ACLs"  # only narrows
    # Those that a vanishing ALLOW reached: who lost access never sees them
    CREATE_WAITING_TOPIC = 10, "create topics that waited for a revocation"
    # With configs that lose data: nobody is left who may write and so re-create a topic
    DELETE_TOPIC = 11, "delete topics and alter configs that lose data"
    # Those whose going would have uncovered a topic that DELETE_TOPIC deletes
    DELETE_WAITING_ALLOW = 12, "delete ALLOW ACLs that covered a deleted topic"
    DELETE_DENY = 13, "delete DENY ACLs"  # only widens, to what the new state permits
    # What CREATE_FIRST put there, and what we and brokers need on a cluster that the plan opens
    DELETE_LAST = 14, "delete what everything else relied on"
    ALTER_QUOTAS = 15, "alter client quotas"
    ALTER_DYNAMIC_CONFIGS = 16, "alter group configs and client metrics"
    # May take hours, in which all else has been done; it widens and narrows nothing
    MOVE_REPLICAS = 17, "move replicas"


#: After these phases every broker has to enforce what was sent before anything later relies on it.
BARRIER_AFTER: Final = (
    (Phase.CREATE_FIRST, Phase.CREATE_DENY, Phase.CREATE_ALLOW),
    (Phase.DELETE_ALLOW,),
    (Phase.DELETE_WAITING_ALLOW,),
    (Phase.DELETE_DENY,),
)

#: A broker publishes the users of a metadata update a moment before its ACLs (``BrokerMetadataPublisher``).
_BEFORE_LOGINS: Final = (Phase.CREATE_FIRST, Phase.CREATE_DENY)

TITLES: Final = {phase: phase.title for phase in Phase}
#: ``1 create what everything else relies on; 2 create DENY ACLs`` and so on.
PHASE_TITLES: Final = "; ".join(f"{int(phase)} {phase.title}" for phase in Phase)
#: A phase in JSON: its number.
PHASE: Final[Codec[Phase]] = by_number(Phase)


def barriers(phases: set[Phase]) -> tuple[Phase, ...]:
    """After which phases there is a barrier: only where something was sent and something follows that relies on it.

    What comes after DELETE_LAST relies on no ACL. New logins alone rely on DENYs before ALLOWs are created.
    """
    before_logins = Phase.ALTER_USERS in phases and not phases.isdisjoint(_BEFORE_LOGINS)
    return (
        *((_BEFORE_LOGINS[-1],) if before_logins else ()),
        *(
            group[-1]
            for group in BARRIER_AFTER
            if phases.intersection(group) and any(group[-1] < phase <= Phase.DELETE_LAST for phase in phases)
        ),
    )


def waits(phases: Sequence[Phase]) -> tuple[bool, ...]:
    """Whether there is a barrier behind each of the phases of a run, in order; none behind the last one."""
    places = barriers(set(phases))
    following = (*phases[1:], *phases[-1:])
    return tuple(any(a <= place < b for place in places) for a, b in zip(phases, following, strict=True))
