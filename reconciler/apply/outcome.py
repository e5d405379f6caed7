"""What became of each step, and of the whole."""

from enum import StrEnum
from typing import TYPE_CHECKING

from reconciler.dataclass import dataclass
from reconciler.model import Change

if TYPE_CHECKING:
    from reconciler.plan import Plan, Step


class Outcome(StrEnum):
    """One for each step. ``UNKNOWN`` may still be applied later: it was read again and did not show."""

    DONE = "done"
    ALREADY = "already"
    FAILED = "failed"
    UNKNOWN = "unknown"
    BLOCKED = "blocked"
    NOT_ATTEMPTED = "not-attempted"


#: With these the step's after-state is there.
GOOD = frozenset({Outcome.DONE, Outcome.ALREADY})


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """A step's outcome; ``code`` and ``message`` are the broker's words, ``blocked_by`` the change it waits for.

    ``identity`` is the id that Kafka gave to what the step created, empty where it gives none or was not asked.
    """

    step: "Step"
    outcome: Outcome
    code: str = ""
    message: str = ""
    blocked_by: Change | None = None
    identity: str = ""


@dataclass(frozen=True, slots=True)
class LoginCheck:
    """A login with a password that the run set; ``works`` is ``None`` if it could not be tried, ``detail`` says why."""

    principal: str
    mechanism: str
    works: bool | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The end of an apply, honest about what is not as it should be.

    ``stopped`` says why the run ended early (``""``: it did not); ``differences`` name what the last reading does
    not show although it was reported done; ``verified`` is whether that reading took place.
    ``notes`` say whom the plan may have refused for a moment where nothing could bridge it. ``audit_head`` is the
    digest of the run's last line in the audit log, empty where there is no log. ``doubt`` says why brokers may not
    enforce what the last reading shows, empty where nothing speaks for that or a probe saw that they do.
    ``logins`` are those that were tried with new passwords.
    """

    plan: "Plan"
    outcomes: tuple[StepOutcome, ...]
    verified: bool
    differences: tuple[str, ...] = ()
    stopped: str = ""
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    audit_head: str = ""
    doubt: str = ""
    logins: tuple[LoginCheck, ...] = ()

    @property
    def succeeded(self) -> bool:
        """Whether the last reading showed every step's after-state, and no new password was refused."""
        good = all(outcome.outcome in GOOD for outcome in self.outcomes)
        return good and self.verified and not self.differences and not self.stopped and not self.refused_logins

    @property
    def refused_logins(self) -> tuple[LoginCheck, ...]:
        """The new passwords that do not log in."""
        return tuple(one for one in self.logins if one.works is False)

    def count(self, outcome: Outcome) -> int:
        """How many steps ended so."""
        return sum(item.outcome is outcome for item in self.outcomes)
