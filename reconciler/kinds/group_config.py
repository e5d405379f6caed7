"""Group configs: ALTER_CONFIGS on the group (KIP-848); times with their units; one ``GroupConfigs`` document."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reconciler.kinds.listed import ListedKind
from reconciler.manifest.documents.groups import group_name_problem
from reconciler.manifest.write.text import scalar, text_problem
from reconciler.manifest.write.written import EditedKind
from reconciler.model.acl import AclOperation
from reconciler.model.kinds.group_config import GROUP_KEYS, GroupConfig
from reconciler.model.listing import Change, resource_of, values_of
from reconciler.model.state import ClusterState
from reconciler.model.topic_configs import ConfigType, with_unit
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


class GroupConfigs(ListedKind, EditedKind):
    """Dynamic configs of groups."""

    resource = GroupConfig
    operation = AclOperation.ALTER_CONFIGS
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
    document = "GroupConfigs"
    items_key = "groups"
    values_key = "configs"
    reading_right = "DESCRIBE_CONFIGS on the cluster and on every group that has configs"

    def phase(self, change: Change, context: PhaseContext) -> Phase:
        """Late: nothing relies on them."""
        return Phase.ALTER_GROUP_CONFIGS

    def irreversible(self, change: Change) -> None:
        """Nothing."""

    def passwords(self, change: Change) -> Iterator[NewPassword]:
        """None."""
        yield from ()

    def risks(self, changes: Sequence[Change], live: ClusterState, logins: Mapping[str, str]) -> Iterator[LoginAtRisk]:
        """None: they are no login's."""
        yield from ()

    def shown(self, name: str, value: str) -> str:
        """``50000 (50s)``: as Kafka has it, and as a person writes it."""
        if name not in GROUP_KEYS or GROUP_KEYS[name].type is not ConfigType.MILLIS:
            return value
        said = with_unit(ConfigType.MILLIS, value)
        return value if said == value else f"{value} ({said})"

    def problem(self, item: GroupConfig) -> str | None:
        """A name or a text that no manifest has, or what brokers refuse."""
        trouble = group_name_problem(item.group)
        texts = (item.group, *item.values, *item.values.values())
        refused = item.refusal()
        if trouble is not None:
            return trouble.message
        return next(filter(None, map(text_problem, texts)), None) or (refused and refused.message)

    def lines(self, item: GroupConfig) -> Iterator[str]:
        """A line a config."""
        yield f"    - name: {scalar(item.group)}"
        yield "      configs:"
        yield from (f"        {scalar(name)}: {scalar(value)}" for name, value in item.values.items())

    def item(self, entry: Any) -> GroupConfig:
        """Of the group's id and its configs."""
        group, values = entry
        return GroupConfig(group, dict(values))

    def alteration(self, change: Change, secrets: Mapping[str, str]) -> tuple[str, list[tuple[str, str | None]]]:
        """The group, and its configs; those without a value are reset. Other configs of the group stay."""
        values = {**dict.fromkeys(values_of(change.before)), **values_of(change.after)}
        return resource_of(change).group, list(values.items())

    def may_alter(self, handshake: "Handshake") -> None:
        """Not known: the right is on each group, of which the handshake tells nothing."""

    def about(self, item: GroupConfig) -> Mapping[str, str]:
        """The group."""
        return {"name": scalar(item.group, flow=True)}

    def settings(self, item: GroupConfig) -> Mapping[str, str]:
        """Its configs."""
        return {name: scalar(value, flow=True) for name, value in item.values.items()}


KIND: Final = GroupConfigs()
