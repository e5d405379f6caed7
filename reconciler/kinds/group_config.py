"""Group configs: ALTER_CONFIGS on the group (KIP-848); one ``GroupConfigs`` document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from reconciler.kinds.listed import ConfigKind
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.listing import Change
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.interface import LoginAtRisk, NewPassword, PhaseContext
from reconciler.plan.phase import Phase
from reconciler.policy.laws import (
    Audit,
    DeclaredBy,
    Ends,
    Goes,
    Law,
    Lockout,
    Lost,
    NewAccess,
    Undeclared,
    Undo,
    Unowned,
)

if TYPE_CHECKING:
    from reconciler.kafka.handshake import Handshake


class GroupConfigs(ConfigKind):
    """Dynamic configs of groups."""

    resource = GroupConfig
    answers = Law(
        kind="groupConfigs",
        words="group config",
        declared_by=DeclaredBy.NAME,
        unowned=Unowned.NO_TEAM,
        ends=Ends.JUDGED,
        goes=Goes.ABSENT,
        lockout=Lockout.NO_LOGIN,
        new_access=NewAccess.NONE,
        lost=Lost.NOTHING,
        undeclared=Undeclared.IF_KIND_DECLARED,
        undo=Undo.RESTORES,
        audit=Audit.BOTH_SIDES,
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

    def irreversible(self, change: Change) -> None:
        """Nothing."""

    def may_alter(self, handshake: "Handshake") -> None:
        """Not known: the right is on each group, of which the handshake tells nothing."""


KIND: Final = GroupConfigs()
