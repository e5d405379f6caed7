"""What each reason of a use case means on the command line: its exit status, and the options that help."""

import shlex
from typing import Final

from reconciler.cli.exits import CommandError, Exit
from reconciler.report.paint import safe
from reconciler.workflow import reasons
from reconciler.workflow.reasons import WorkflowError

#: The first that a reason is an instance of; any other is an error.
_STATUSES: Final = (
    (reasons.RequestError, Exit.USAGE),
    (reasons.StaleError, Exit.STALE),
    (reasons.PlanRefusedError, Exit.REFUSED),
    (reasons.FailedChecksError, Exit.FAILED_CHECK),
    (reasons.HeldError, Exit.LOCKED),
    (reasons.DeclinedError, Exit.INTERRUPTED),
)


def command_error(error: WorkflowError) -> CommandError:
    """A reason as the end of a command."""
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), Exit.ERROR)
    message, advice = _words(error)
    return CommandError(message, advice, status)


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
