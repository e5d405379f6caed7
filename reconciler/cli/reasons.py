"""What each reason of a use case means on the command line: its exit status, and the options that help."""

from typing import Final

from reconciler.app import reasons
from reconciler.app.reasons import INTERRUPTED, WorkflowError
from reconciler.cli.console import CommandError, Exit, settings
from reconciler.manifest.read.problem import problems_text
from reconciler.model.characters import safe, shell_quoted

_STATUSES: Final = {
    "": Exit.OK,
    INTERRUPTED: Exit.INTERRUPTED,
    reasons.RequestError.reason: Exit.USAGE,
    reasons.StaleError.reason: Exit.STALE,
    reasons.PlanRefusedError.reason: Exit.REFUSED,
    reasons.NotApprovedError.reason: Exit.REFUSED,
    reasons.FailedChecksError.reason: Exit.FAILED_CHECK,
    reasons.HeldError.reason: Exit.LOCKED,
    reasons.DeclinedError.reason: Exit.INTERRUPTED,
}
#: What helps where a reason has nothing to add to it.
_ADVICE: Final[dict[type[WorkflowError], str]] = {
    reasons.NoClusterError: "add --cluster NAME, or --cluster snapshot:FILE",
    reasons.PastTimeError: "ask what was there then, by the store of readings that serve keeps: add --store PLACE. "
    "Or ask a snapshot of that time (--cluster snapshot:FILE), or what is declared (--offline)",
    reasons.FutureTimeError: "leave --as-of out, or ask what is declared: without --cluster, or with --offline",
    reasons.OperatorConnectionError: "give --connections FILE, from the base branch or the environment",
    reasons.NoConnectionError: "declare bootstrapServers in its Cluster document, or give --connections FILE",
    reasons.UnsavedPlanError: "save it with --out PLAN, have it signed, and apply the file",
    reasons.FewerApprovalsError: "pass that number as --require-approvals, with the signatures",
    reasons.PastClusterError: "write --cluster NAME, without --plan",
    reasons.PastStoreError: "give --store PLACE, where serve keeps them",
    reasons.UnvouchedPlanError: "give --require-approvals NUMBER, or --require-id ID",
    reasons.ManifestAccessError: "revoke other access by an edit: reconciler revoke, merge, apply",
    reasons.LongerAccessError: "to end it sooner, use reconciler break-glass revoke",
    reasons.NotApprovedError: "sign it with reconciler approve PLAN --key KEY, or with ssh-keygen -Y sign",
    reasons.NoTopicsError: "begin with --defaults",
    reasons.UnknownFleetNameError: "give --fleet NAME",
    reasons.NoStoredRunError: "take one with `reconciler fleet snapshot`",
    reasons.NoJournalError: "give --journal FILE if it lies elsewhere",
    reasons.UnreadableJournalError: "move it away, or give --journal FILE: "
    "without it the plan still recognises its own finished steps",
}


def status_of(reason: str) -> Exit:
    """The exit status that a reason means, as the word that records have of it; any other is an error."""
    return _STATUSES.get(reason, Exit.ERROR)


def command_error(error: WorkflowError) -> CommandError:
    """A reason as the end of a command."""
    return CommandError(*_words(error), status_of(error.reason))


def _words(error: WorkflowError) -> tuple[str, str]:
    """Message and advice in terms of options, where the reason speaks of what an option gives."""
    message, advice = error.message, _ADVICE.get(type(error), error.advice)
    match error:
        case reasons.AmbiguousClusterError():
            how = "NAME=snapshot:FILE" if error.snapshot else "NAME, in a question about declarations with --offline"
            advice = f"write --cluster {how}; declared are: {', '.join(error.declared) or 'none'}"
        case reasons.InvalidManifestsError() if settings.expand:
            message = problems_text(error.problems, expand=True)
        case reasons.NoAuditTopicError():
            message = "a snapshot has no topic for --audit topic/NAME"
        case reasons.RecordsError():
            advice = f"give --{error.kept} FILE, in a directory that can be written to"
        case reasons.StaleError() | reasons.NotApprovedError():
            message = "\n  ".join([message, *_details(error)])
        case reasons.HeldError(claims=claims) if claims:
            options = " ".join(f"--break-lease {shell_quoted(claim.holder)}" for claim in claims)
            advice = f"wait, or, if that run is known to be dead: {options}"
    return message, advice


def _details(error: reasons.StaleError | reasons.NotApprovedError) -> list[str]:
    """What was found, one thing a line."""
    if isinstance(error, reasons.NotApprovedError):
        return list(map(safe, error.others))
    return [
        f"{safe(item.subject)}: expected {safe(item.expected)}, found {safe(item.found)}" for item in error.findings
    ]
