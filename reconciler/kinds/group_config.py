"""Group configs: ALTER_CONFIGS on the group (KIP-848); one ``GroupConfigs`` document."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from reconciler.kinds.listed import ConfigKind
from reconciler.model.characters import as_name
from reconciler.model.kinds.group_config import (
    DLQ_AUTO_CREATE,
    DLQ_ENABLE,
    DLQ_PREFIX,
    DLQ_SHARE_VERSION,
    DeadLetterQueue,
    GroupConfig,
)
from reconciler.model.listing import Change, items_after
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.kinds.interface import LoginAtRisk, NewPassword, PhaseContext
from reconciler.plan.kinds.topic import topics_after
from reconciler.plan.phase import Phase
from reconciler.policy import laws
from reconciler.results.words import copies_words

if TYPE_CHECKING:
    from reconciler.kafka.handshake import Handshake


class GroupConfigs(ConfigKind):
    """Dynamic configs of groups."""

    resource = GroupConfig
    answers = laws.Law(
        kind="groupConfigs",
        words="group config",
        declared_by=laws.DeclaredBy.NAME,
        unowned=laws.Unowned.NO_TEAM,
        ends=laws.Ends.JUDGED,
        goes=laws.Goes.ABSENT,
        lockout=laws.Lockout.NO_LOGIN,
        new_access=laws.NewAccess.NONE,
        lost=laws.Lost.NOTHING,
        undeclared=laws.Undeclared.IF_KIND_DECLARED,
        undo=laws.Undo.RESTORES,
        audit=laws.Audit.BOTH_SIDES,
    )
    noun = "group config"
    at_end = "its configs go: defaults hold"
    reading_right = "DESCRIBE_CONFIGS on the cluster and on every group that has configs"

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """Late: nothing relies on them."""
        return Phase.ALTER_DYNAMIC_CONFIGS

    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """None."""
        yield from ()

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """None: they are no login's."""
        yield from ()

    def topics_needed(self, items: Iterable[GroupConfig]) -> Iterator[str]:
        """Those of dead letter queues."""
        yield from (queue.topic for item in items if (queue := item.dead_letter_queue) is not None)

    def warnings(self, changes: Sequence[Change], live: ClusterState) -> Iterator[str]:
        """What a dead letter queue needs and lacks, and whose records it shows to whom (KIP-1191)."""
        items = live.listing(GroupConfig).items or frozenset()
        before = {item.group: item.dead_letter_queue for item in items}
        after = topics_after(live.topics, changes)
        for item in sorted(items_after(GroupConfig, items, changes)):
            queue = item.dead_letter_queue
            if queue is None or (queue == before.get(item.group) and queue.topic not in after):
                continue
            if queue.copies and queue != before.get(item.group):
                yield copies_words(item.group, queue.topic)
            of_group = f"topic {as_name(queue.topic)}, the dead letter queue of group {as_name(item.group)}"
            for why in lacking(queue, after.get(queue.topic, live.topics.get(queue.topic)), live):
                yield f"brokers write nothing to {of_group}: {why}"

    def irreversible(self, change: Change) -> None:
        """Nothing."""

    def may_alter(self, handshake: "Handshake") -> None:
        """Not known: the right is on each group, of which the handshake tells nothing."""


def lacking(queue: DeadLetterQueue, topic: Topic | None, live: ClusterState) -> Iterator[str]:
    """Why brokers write nothing to a queue, as ``ShareGroupDLQStateManager.validateDlqTopic`` asks; as far as known.

    The level of ``share.version`` decides, not the release.
    """
    if live.share_version is not None and live.share_version < DLQ_SHARE_VERSION:
        yield f"share.version is {live.share_version}, and it takes {DLQ_SHARE_VERSION}"
    prefix = live.broker_defaults.get(DLQ_PREFIX, "")
    if not queue.topic.startswith(prefix):
        yield f"its name does not begin with {prefix}, the brokers' {DLQ_PREFIX}"
    if queue.topic in live.unreadable_topics:
        return
    if topic is None:
        if live.broker_defaults.get(DLQ_AUTO_CREATE) != "true":
            yield f"there is no such topic, and {DLQ_AUTO_CREATE} is not on"
    elif topic.configs.get(DLQ_ENABLE) != "true":
        yield f"the topic does not have {DLQ_ENABLE}=true"


KIND: Final = GroupConfigs()
