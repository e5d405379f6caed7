"""Client quotas: ALTER_CONFIGS on the cluster (KIP-546)."""

from typing import Final

from reconciler.codec.kinds import quota
from reconciler.model import AclOperation
from reconciler.plan.kinds.listed import ListedKind
from reconciler.plan.phase import Phase

KIND: Final = ListedKind(quota.KIND, "Quota", Phase.ALTER_QUOTAS, AclOperation.ALTER_CONFIGS)
