"""Group configs: ALTER_CONFIGS on the group (KIP-848)."""

from typing import Final

from reconciler.codec.kinds import json_kind
from reconciler.model import AclOperation
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.plan.kinds.listed import ListedKind
from reconciler.plan.phase import Phase

KIND: Final = ListedKind(json_kind(GroupConfig), "GroupConfigs", Phase.ALTER_GROUP_CONFIGS, AclOperation.ALTER_CONFIGS)
