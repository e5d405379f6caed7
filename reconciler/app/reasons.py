"""Why a use case ends without its result: one class for each reason that a caller treats differently, with its data.

``str()`` says what is wrong, ``advice`` what to do about it; no secret is in either. What exit status a reason means,
and which option of a command helps, is the command line's business. It imports this module before any command's.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from reconciler.manifest.read.problem import Problem, did_you_mean, problems_text
from reconciler.model.characters import as_name

if TYPE_CHECKING:
    from reconciler.apply.lease import LeaseClaim
    from reconciler.plan.observed import Observed
    from reconciler.plan.proposal import Plan
    from reconciler.plan.refusal import Refusal
    from reconciler.show.claims import Checks

#: The reason of what was stopped by a person or because its time was over, which is no error of the use case.
INTERRUPTED: Final = "interrupted"


class WorkflowError(Exception):
    """A use case ended without its result: something failed, and no subclass says more.

    ``reason`` is the same as a word, for records and other processes.
    """

    reason: ClassVar[str] = "failed"

    def __init__(self, message: str, advice: str = "") -> None:
        """``message`` and ``advice`` are sentences for a person."""
        super().__init__(message)
        self.message, self.advice = message, advice


class RequestError(WorkflowError):
    """What was asked cannot be done as it was asked: the arguments have to change."""

    reason = "request"


class AmbiguousClusterError(RequestError):
    """Several clusters are ``declared``, or none, and nothing says which one is meant; ``snapshot`` stands for it."""

    def __init__(self, declared: Sequence[str], *, snapshot: bool) -> None:
        """Keep the names."""
        alone = ", so snapshot: alone does not say which one is meant" if snapshot else ""
        super().__init__(f"the manifests declare {len(declared)} clusters{alone}")
        self.declared, self.snapshot = tuple(declared), snapshot


class UndeclaredClusterError(RequestError):
    """The manifests do not declare the cluster ``name``; ``declared`` are those that they do."""

    def __init__(self, name: str, declared: Sequence[str]) -> None:
        """Keep the names; the advice is the nearest one."""
        declare = f"the manifests declare {', '.join(map(as_name, declared))}" if declared else "add a Cluster document"
        super().__init__(f"no manifest declares the cluster {name!r}", did_you_mean(name, declared, declare))
        self.name, self.declared = name, tuple(declared)


class NoClusterError(RequestError):
    """A saved plan can be looked at only on the state of its cluster, and no cluster is named."""


class PastTimeError(RequestError):
    """A cluster is read as it is now, and not as it was at a past time."""


class FutureTimeError(RequestError):
    """A cluster is read as it is now, and not as it will be."""


class OperatorConnectionError(RequestError):
    """In CI the manifests under review must not say where to connect: the operator has to give a connections file."""


class NoAuditTopicError(RequestError):
    """A snapshot file has no topic that could keep audit records."""


class UnsavedPlanError(RequestError):
    """People approve the bytes of a file, and this plan is in none."""


class FewerApprovalsError(RequestError):
    """The operator's file asks for more approvals of such a plan than were asked for here."""


class PastClusterError(RequestError):
    """A past time is asked of one cluster by its name."""

    def __init__(self) -> None:
        """One message says it."""
        super().__init__("a past time is asked of one cluster by its name")


class PastStoreError(RequestError):
    """A past time is asked of a store of readings."""

    def __init__(self) -> None:
        """One message says it."""
        super().__init__("a past time needs the store of readings")


class UnvouchedPlanError(RequestError):
    """No manifest wants what a plan does, so a file alone is not enough."""


class ManifestAccessError(RequestError):
    """Access that manifests declare ends by an edit of them, and only break-glass access ends without one."""


class LongerAccessError(RequestError):
    """Break-glass access is there already, for longer than asked."""


class NoJournalError(RequestError):
    """There is no journal at ``path``, so nothing says which steps were performed."""

    def __init__(self, path: str) -> None:
        """Keep the path."""
        super().__init__(f"there is no journal {path}, so nothing says which steps were performed")
        self.path = path


class InvalidManifestsError(WorkflowError):
    """The manifests cannot be used; ``problems`` has every one, with its place."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        """Keep the problems; the message shows few of them in full, and many by kind."""
        super().__init__(problems_text(problems))
        self.problems = problems


class NoConnectionError(WorkflowError):
    """Nothing says how to reach ``cluster``."""

    def __init__(self, cluster: str) -> None:
        """Keep the name."""
        super().__init__(f"nothing says how to reach cluster {cluster!r}")
        self.cluster = cluster


class StaleError(WorkflowError):
    """A plan is not, or no longer, the one for this state; ``findings`` name each object, expected and found."""

    reason = "stale"

    def __init__(self, message: str, advice: str = "", findings: "Sequence[Observed]" = ()) -> None:
        """Keep the findings."""
        super().__init__(message, advice)
        self.findings = tuple(findings)


class FleetPlanGivenError(StaleError):
    """A file is the plan of a fleet, where that of one cluster is wanted."""


class PlanRefusedError(WorkflowError):
    """A guard refuses; ``refusals`` name each guard and object, ``plan`` is what was about to be performed."""

    reason = "refused"

    def __init__(
        self,
        message: str = "a safety check refuses this plan: nothing was sent",
        advice: str = "",
        *,
        plan: "Plan | None" = None,
        refusals: "Sequence[Refusal]" = (),
    ) -> None:
        """Keep the plan and the refusals."""
        super().__init__(message, advice)
        self.plan, self.refusals = plan, tuple(refusals)


class NotApprovedError(WorkflowError):
    """Too few people have signed the plan: ``approvals`` count, ``others`` are signatures that do not, and why."""

    reason = "not approved"

    def __init__(self, required: int, approvals: Sequence[str], others: Sequence[str]) -> None:
        """Keep both lists."""
        given = ", ".join(approvals) or "nobody"
        super().__init__(f"the plan needs the approval of {required}, and {given} approved it: nothing was sent")
        self.approvals, self.others = tuple(approvals), tuple(others)


class TooMuchAccessError(WorkflowError):
    """Who gains and who loses access would take more decisions than ``limit``: there is no plan, nor a part of one."""

    reason = "too-much-access"

    def __init__(self, limit: int, sent: str = "") -> None:
        """Say what multiplies; ``sent`` is what has become of a plan that was to be performed."""
        super().__init__(
            f"too much to decide: who gains and who loses access takes more than {limit:,} decisions{sent}",
            "hosts times names, or principals times prefixes of User:*, are too many in one change: use one prefix "
            "instead of many names, or plan and apply the change in parts",
        )
        self.limit = limit


class FailedChecksError(WorkflowError):
    """An access test, an owner or a topic policy stands against a plan; ``checks`` has what."""

    reason = "failed checks"

    def __init__(self, message: str, checks: "Checks") -> None:
        """Keep the checks."""
        super().__init__(message)
        self.checks = checks


class HeldError(WorkflowError):
    """Somebody else is applying: by ``claims`` where they hold the cluster's lease, else at the same journal."""

    reason = "held"

    def __init__(self, message: str, claims: "Sequence[LeaseClaim]" = ()) -> None:
        """Keep the claims."""
        super().__init__(message)
        self.claims = tuple(claims)


class DeclinedError(WorkflowError):
    """Whoever was asked did not agree: nothing was sent."""

    reason = "declined"


class RecordsError(WorkflowError):
    """What is sent could not be written down, so nothing was sent; ``kept`` is ``journal`` or ``audit``."""

    def __init__(self, message: str, kept: str) -> None:
        """Keep which of the two it is."""
        super().__init__(message, "name a file in a directory that can be written to")
        self.kept = kept


class UnreadableJournalError(WorkflowError):
    """A journal is there and cannot be read."""


class NoAuthorizerError(WorkflowError):
    """The cluster has no authorizer: it has no ACLs, and everybody may do everything."""


class NoTopicsError(WorkflowError):
    """A cluster has no topics to learn a policy from."""

    def __init__(self, cluster: str) -> None:
        """Name the cluster."""
        super().__init__(f"cluster {cluster} has no topics to learn from")


class UnknownFleetNameError(RequestError):
    """The manifests declare several fleets, or none of that name, so it is not known which one is meant."""


class NoStoredRunError(WorkflowError):
    """The store has no run, or not the one that was asked for."""
