"""What each reason of a use case means on the command line: its exit status, and the options that help."""

import shlex
from typing import Final

from reconciler.cli.exits import CommandError, Exit
from reconciler.report.style import safe
from reconciler.workflow import reasons
from reconciler.workflow.reasons import INTERRUPTED, WorkflowError

_STATUSES: Final = {
    "": Exit.OK,
    INTERRUPTED: Exit.INTERRUPTED,
    reasons.RequestError.reason: Exit.USAGE,
    reasons.StaleError.reason: Exit.STALE,
    reasons.PlanRefusedError.reason: Exit.REFUSED,
    reasons.FailedChecksError.reason: Exit.FAILED_CHECK,
    reasons.HeldError.reason: Exit.LOCKED,
    reasons.DeclinedError.reason: Exit.INTERRUPTED,
}


def status_of(reason: str) -> Exit:
    """The exit status that a reason means, as the word that records have of it; any other is an error."""
    return _STATUSES.get(reason, Exit.ERROR)


def command_error(error: WorkflowError) -> CommandError:
    """A reason as the end of a command."""
    return CommandError(*_words(error), status_of(error.reason))


def _words(error: WorkflowError) -> tuple[str, str]:
    """Message and advice in terms of options, where the reason speaks of what an option gives."""
    message, advice = error.message, error.advice
    match error:
        case reasons.AmbiguousClusterError():
            how = "NAME=snapshot:FILE" if error.snapshot else "NAME --offline for what is declared for one of them"
            advice = f"write --cluster {how}; declared are: {', '.join(error.declared) or 'none'}"
        case reasons.NoClusterError():
            advice = "add --cluster NAME, or --cluster snapshot:FILE"
        case reasons.OperatorConnectionError():
            advice = "give --connections FILE, from the base branch or the environment"
        case reasons.NoConnectionError():
            advice = "declare bootstrapServers in its Cluster document, or give --connections FILE"
        case reasons.UnknownFleetNameError():
            advice = "give --fleet NAME"
        case reasons.NoStoredRunError():
            advice = "take one with `reconciler fleet snapshot`"
        case reasons.NoAuditTopicError():
            message = "a snapshot has no topic for --audit-topic"
        case reasons.NoJournalError():
            advice = "give --journal FILE if it lies elsewhere"
        case reasons.UnreadableJournalError():
            advice = "move it away, or give --journal FILE: without it the plan still recognises its own finished steps"
        case reasons.RecordsError():
            advice = f"give --{error.kept} FILE, in a directory that can be written to"
        case reasons.StaleError():
            found = [
                f"{safe(item.subject)}: expected {safe(item.expected)}, found {safe(item.found)}"
                for item in error.findings
            ]
            message = "\n  ".join([message, *found])
        case reasons.HeldError(claim=claim) if claim is not None:
            holder = shlex.quote(safe(claim.holder))
            advice = f"wait, or, if that run is known to be dead: --break-lease {holder}"
    return message, advice
