"""What lint finds: a stable rule id, the binding, what is the matter, the evidence, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from reconciler.model import AclBinding, Origin


class LintRule(StrEnum):
    """Every rule; ids never change their meaning. ``docs/access.md`` has a section for each."""

    REDUNDANT = "KA001"
    SHADOWED = "KA002"
    IDLE_DENY = "KA003"
    DEAD_HOST = "KA004"
    DEAD_PRINCIPAL = "KA005"
    BREAKS_BROKERS = "KA006"
    DEAD_PATTERN = "KA007"
    UNSUPPORTED_OPERATION = "KA008"
    EVERYBODY = "KA009"
    WILDCARD_WRITE = "KA010"
    CLUSTER_ALTER = "KA011"
    OPEN_PREFIX = "KA012"
    HALF_A_GRANT = "KA013"
    UNKNOWN_TOPIC = "KA014"
    UNKNOWN_PRINCIPAL = "KA015"
    EXPIRED = "KA016"
    EXPIRES_SOON = "KA017"
    CASE = "KA018"
    EVADED_DENY = "KA019"

    @property
    def slug(self) -> str:
        """The rule's name, ``wildcard-write``: its anchor in the documentation."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``related`` are the bindings behind it, ``evidence`` names or principals that show it."""

    rule: LintRule
    binding: AclBinding
    message: str
    advice: str
    related: tuple[AclBinding, ...] = ()
    evidence: tuple[str, ...] = ()
    origin: Origin | None = None

    @property
    def order(self) -> tuple[LintRule, AclBinding, str]:
        """By rule, then by binding."""
        return self.rule, self.binding, self.message
