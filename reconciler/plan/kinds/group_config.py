"""Group configs: ALTER_CONFIGS on the group (KIP-848)."""

from typing import Final

from reconciler.codec.kinds import group_config
from reconciler.model import AclOperation
from reconciler.plan.kinds.listed import ListedKind
from reconciler.plan.phase import Phase

KIND: Final = ListedKind(group_config.KIND, "GroupConfigs", Phase.ALTER_GROUP_CONFIGS, AclOperation.ALTER_CONFIGS)
