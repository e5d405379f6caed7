"""Saved plans on disk: written atomically, read with their digest."""

from pathlib import Path

from reconciler.adapters.atomic_write import write_atomically
from reconciler.plan import Plan, PlanFileError, file_digest, parse_plan, plan_text


def write_plan(plan: Plan, out: str) -> str:
    """Write the plan and return its ``file-…`` digest; raises ``OSError``."""
    text = plan_text(plan)
    write_atomically(text, out)
    return file_digest(text)


def read_plan(path: str) -> tuple[Plan, str]:
    """The plan and its ``file-…`` digest; raises ``OSError`` or ``PlanFileError``."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise PlanFileError("not a saved plan: the file is not UTF-8 text") from error
    return parse_plan(text), file_digest(text)
