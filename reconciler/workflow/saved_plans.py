"""Plans in files: written as they were made, read as they were written."""

from reconciler.adapters.plan_files import read_plan, write_plan
from reconciler.plan import Plan, PlanFileError
from reconciler.workflow.reasons import StaleError, WorkflowError


def save_plan(made: Plan, file: str) -> str:
    """Write a plan into a file; its digest."""
    try:
        return write_plan(made, file)
    except OSError as error:
        raise WorkflowError(f"the plan cannot be saved: {error}") from error


def saved_plan(file: str) -> tuple[Plan, str]:
    """The plan in a file, and the file's digest; raises :class:`StaleError` where the file was altered."""
    try:
        return read_plan(file)
    except PlanFileError as error:
        raise StaleError(f"{file}: {error}", "plan again") from error
    except OSError as error:
        why, advice = error.strerror or str(error), "plan again"
        raise WorkflowError(f"the plan {file} cannot be read: {why}", advice) from error
