"""What commands found, in one shape: findings, each with a stable rule, and checks that passed or did not."""

from enum import StrEnum
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model import AclBinding, Origin


class Level(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


#: The heaviest first.
LEVELS: Final = tuple(Level)


class CheckStatus(StrEnum):
    """What came of a check. Only ``FAILED`` and ``UNDECIDED`` stop anything; a doubt is never a pass."""

    FAILED = "failed"
    UNDECIDED = "undecided"
    #: Failed or undecided, and declared to be a warning only.
    WARNED = "warned"
    #: Failed or undecided, and accepted for a while.
    WAIVED = "waived"
    PASSED = "passed"

    @property
    def stops(self) -> bool:
        """Whether it fails a pipeline."""
        return self in (CheckStatus.FAILED, CheckStatus.UNDECIDED)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. ``rule`` is stable (``KA001``, ``KR012``, ``guard-lockout``), ``name`` its slug.

    ``cluster`` is empty where it is about the manifests themselves; ``place`` is ``None`` where nothing declares it.
    ``waived`` says why and until when it is accepted. ``checked``: a check of the same report says it, too. ``binding``
    is what ``subject`` spells, where it is about one.
    """

    rule: str
    name: str
    level: Level
    message: str
    advice: str = ""
    cluster: str = ""
    subject: str = ""
    place: Origin | None = None
    details: tuple[str, ...] = ()
    waived: str = ""
    checked: bool = False
    binding: AclBinding | None = None

    @property
    def about_guardrails(self) -> bool:
        """Whether it is about a change of the rules that judge the change."""
        return self.rule.startswith("guardrail-")


@dataclass(frozen=True, slots=True)
class Check:
    """A claim about access or a policy, and what came of it; ``lines`` say what broke it and what would mend it.

    ``basis`` is the state that was looked at: ``declared``, ``live``, ``after the plan``.
    """

    group: str
    name: str
    cluster: str
    standing: CheckStatus
    message: str
    lines: tuple[str, ...] = ()
    place: Origin | None = None
    basis: str = ""

    @property
    def told_elsewhere(self) -> bool:
        """Whether a plan's refusals or a fleet's clusters say it already."""
        return self.group in ("Guards", "Fleet")

    @property
    def where(self) -> str:
        """``prod, after the plan``; empty where neither is known."""
        return ", ".join(filter(None, (self.cluster, self.basis)))
