"""``lint --fix``, and ``lint --simplify`` with ``--write`` or ``--branch``: what lint proposes, as an edit."""

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli.console import progress
from reconciler.cli.notes import info_note
from reconciler.cli.options import Keeping
from reconciler.parts.edit.app.simplify import fix_lint, fix_minimise
from reconciler.parts.edit.cli.options import keep
from reconciler.results.output import OutputKind


def fix(
    request: StateRequest, connection: ConnectionOptions, keeping: Keeping, output: str, also: tuple[str, ...]
) -> int:
    """The exit status of the edit that ends findings; ``also`` names rules whose fix changes access."""
    found = fix_lint(request, connection, also=also, tell=info_note)
    count = f"{len(found.fixed):,} findings fixed" if len(found.fixed) != 1 else "1 finding fixed"
    progress(f"{count}, {len(found.kept):,} left to you: what stays depends on them" if found.kept else count)
    message = "Remove ACLs that lint finds superfluous"
    return keep(
        OutputKind.LINT_EDIT, found.edit, keeping, message=message, output=output, nothing="There is nothing to fix."
    )


def minimise(request: StateRequest, connection: ConnectionOptions, keeping: Keeping, output: str) -> int:
    """The exit status of the edit to the smaller set of bindings."""
    smaller = fix_minimise(request, connection, tell=info_note)
    return keep(OutputKind.LINT_EDIT, smaller, keeping, message="Remove ACLs that change nothing", output=output)
