"""What a change does for certain, and what it may do, where some entries of a cluster are guesses.

The law, for every truth that the guesses allow: what truly changes at a request is in :class:`PossibleChange`, and what
is in :class:`CertainChange` truly changes.

Certain is what even the least permissive state after permits and not even the most permissive state before. For what
is possible, the extremes are no use: wherever a guess may deny or allow everything, they say the same before and after
(see ``reconciler.access.interpretation``). So each reading is compared with itself, and the results are united.

Some APIs accept either of two rights. A guess may decide about one of them and not about the other, so each right is
compared on its own; a change of one counts unless the other is held for certain.
"""

from collections.abc import Sequence
from typing import Final

from reconciler.access.api_rights import CLUSTER_NAMES, IDEMPOTENT, ON_EVERY_TOPIC, permitted_by_api
from reconciler.access.by_resource_type import PROBE, may_on_some_resource
from reconciler.access.comparison import AccessComparison
from reconciler.access.effects import NO_EFFECT, AccessEffect
from reconciler.access.index import BindingGroup
from reconciler.access.interpretation import Interpretation, Interpretations
from reconciler.access.name_set import NameSet, literal
from reconciler.access.operations import DENIED
from reconciler.access.work import Work
from reconciler.model import WILDCARD_PRINCIPAL, AclOperation, ResourceType

_WRITE: Final = 1 << AclOperation.WRITE
_NO_WRITE: Final = 1 << AclOperation.WRITE + DENIED
_PROBED: Final = literal(PROBE)


class _GuessedComparison(AccessComparison):
    """Two states of whose entries some are guesses, the same ones before and after."""

    __slots__ = ("_extremes",)

    def __init__(self, before: Interpretations, after: Interpretations, unnamed: str, work: Work | None = None) -> None:
        super().__init__(before.least, after.least, unnamed, work=work)
        self._extremes = (before, after)
        # Names and hosts are divided by the rules of all of them, so that every reading is constant on each part.
        self.interpretations = tuple(
            dict.fromkeys(one for side in self._extremes for one in (*side.both, *side.readings))
        )


class CertainChange(_GuessedComparison):
    """What changes whatever the guesses are."""

    __slots__ = ()

    def effect(
        self, principal: str, host: str, resource_type: ResourceType, key: NameSet, on_cluster: str | None = None
    ) -> AccessEffect:
        """Permitted by the strictest reading after and not by the most permissive before; for losses the other way."""
        before, after = self._extremes
        asked = (principal, host, resource_type, key, on_cluster)
        kept = self.supported[resource_type]
        gained = permitted_by_api(after.least, *asked) & ~permitted_by_api(before.most, *asked) & kept
        lost = permitted_by_api(before.least, *asked) & ~permitted_by_api(after.most, *asked) & kept
        return AccessEffect(gained, lost) if gained or lost else NO_EFFECT


class PossibleChange(_GuessedComparison):
    """What changes for at least one truth that the guesses allow; an operation may be both gained and lost."""

    __slots__ = ("_moves", "_pairs")

    def __init__(self, before: Interpretations, after: Interpretations, unnamed: str, work: Work | None = None) -> None:
        super().__init__(before, after, unnamed, work)
        self._pairs = list(dict.fromkeys(zip(before.readings, after.readings, strict=True)))
        self._moves: dict[str, tuple[bool, bool]] = {}

    def effect(
        self, principal: str, host: str, resource_type: ResourceType, key: NameSet, on_cluster: str | None = None
    ) -> AccessEffect:
        """The changes of all readings, of each of the rights that permit something."""
        before, after = self._extremes
        gained, lost = self._of_right(principal, host, resource_type, key)
        if resource_type is ResourceType.TOPIC:
            other = (principal, on_cluster or host, ResourceType.CLUSTER, CLUSTER_NAMES)
            more, less = (part & ON_EVERY_TOPIC for part in self._of_right(*other))
            # Held through CLUSTER for certain, a right on the topic is nothing new, and its end takes nothing away.
            gained = gained & ~(before.least.access(*other) & ON_EVERY_TOPIC)
            lost = lost & ~(after.least.access(*other) & ON_EVERY_TOPIC)
        elif resource_type is ResourceType.CLUSTER:
            old, new = (self._starts(side, principal, host) for side in self._extremes)
            # A guess may move WRITE as well as the change does: count it only where the change can be the cause.
            up, down = self._write_moves(principal)
            more = IDEMPOTENT if up and new[1] and not old[0] else 0
            less = IDEMPOTENT if down and old[1] and not new[0] else 0
            gained = gained & ~(IDEMPOTENT if old[0] else 0)
            lost = lost & ~(IDEMPOTENT if new[0] else 0)
        else:
            more = less = 0
        # The other way round too: what CLUSTER adds is nothing new where the topic's own ACLs permit it for certain.
        gained |= more & ~before.least.access(principal, host, resource_type, key) if more else 0
        lost |= less & ~after.least.access(principal, host, resource_type, key) if less else 0
        kept = self.supported[resource_type]
        return AccessEffect(gained & kept, lost & kept) if (gained | lost) & kept else NO_EFFECT

    def _of_right(self, principal: str, host: str, kind: ResourceType, key: NameSet) -> tuple[int, int]:
        """What the ACLs on these names alone come to permit, and cease to, in any reading."""
        gained = lost = 0
        for before, after in self._pairs:
            old, new = (reading.access(principal, host, kind, key) for reading in (before, after))
            gained |= new & ~old
            lost |= old & ~new
        return gained, lost

    @staticmethod
    def _starts(side: Interpretations, principal: str, host: str) -> tuple[bool, bool]:
        """Whether WRITE on some topic lets an idempotent producer start: for certain, and perhaps.

        Brokers compare patterns for this, so many guesses decide together, and no reading stands for all mixtures of
        them. Least and most do: more ALLOWs never forbid it, and more DENYs never permit it.
        """
        asked = (principal, host, AclOperation.WRITE, ResourceType.TOPIC)
        least, most = (may_on_some_resource(extreme, *asked) for extreme in side.both)
        return least, most

    def _write_moves(self, principal: str) -> tuple[bool, bool]:
        """Whether something of the change can permit WRITE on some topic, and whether something can forbid it.

        Without this, two states between which nothing changes would differ wherever guesses leave it open.
        """
        if principal not in self._moves:
            self._moves[principal] = (self._forward(principal, self._pairs), self._forward(principal, self._turned()))
        return self._moves[principal]

    def _turned(self) -> list[tuple[Interpretation, Interpretation]]:
        return [(after, before) for before, after in self._pairs]

    @staticmethod
    def _forward(principal: str, pairs: Sequence[tuple[Interpretation, Interpretation]]) -> bool:
        """Whether an ALLOW of WRITE comes, a DENY goes, or a name is left to default-allow."""
        kind = ResourceType.TOPIC
        for old, new in pairs:
            was, now = (one.default_allow and not one.coverage(kind).covers(_PROBED) for one in (old, new))
            if now and not was:
                return True
            for who in dict.fromkeys((principal, WILDCARD_PRINCIPAL)):
                before, after = old.index.group(kind, who), new.index.group(kind, who)
                if before is not after and (_more(before, after, _WRITE) or _more(after, before, _NO_WRITE)):
                    return True
        return False


def _more(old: BindingGroup | None, new: BindingGroup | None, bit: int) -> bool:
    """Whether ``new`` sets a bit on some host and names where ``old`` does not."""
    before = {} if old is None else old.rules
    after = {} if new is None else new.rules
    return any(
        mask & bit and not before.get(host, {}).get(key, 0) & bit
        for host, rules in after.items()
        for key, mask in rules.items()
    )
