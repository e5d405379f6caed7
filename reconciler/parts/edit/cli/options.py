"""How commands that edit manifests hand over the result: printed as a patch, written, or committed on a branch.

So do ``lint --fix``, and ``lint --simplify`` with ``--write`` or ``--branch``.
"""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.cli.change_options import Keeping
from reconciler.cli.console import CommandError, Exit, info_lines, out_json, out_text, progress, style_for
from reconciler.cli.notes import info_note
from reconciler.model.characters import safe
from reconciler.model.desired import moment_text
from reconciler.parts.edit.app.simplify import fix_lint, fix_simplify
from reconciler.results import OutputKind
from reconciler.show.claims import breach_lines
from reconciler.show.review import review_lines

if TYPE_CHECKING:
    from reconciler.parts.edit.app.editing import ManifestEdit


#: Of so many clusters the change of access is shown.
_CLUSTERS: Final = 5


def keep(
    kind: OutputKind | None,
    edit: "ManifestEdit",
    keeping: Keeping,
    *,
    message: str,
    output: str = "text",
    nothing: str = "",
    extra: dict[str, Any] | None = None,
) -> int:
    """Show what an edit does to access, then print, write or commit it.

    ``kind`` is that of its JSON, which has ``extra`` besides; a command without JSON has none.
    """
    if keeping.write and keeping.branch:
        raise CommandError("--write and --branch exclude each other", "give one of the two", Exit.USAGE)
    if not edit.files:
        progress(nothing or "Nothing to change.")
        if kind is not None and output == "json":
            out_json(kind, {**(extra or {}), **_document(edit)})
        return Exit.OK
    _show(edit)
    if kind is not None and output == "json":
        out_json(kind, {**(extra or {}), **_document(edit)})
    elif not keeping.write and not keeping.branch:
        out_text(edit.patch())
    if keeping.write:
        for path in edit.write():
            progress(f"wrote {safe(path)}")
    elif keeping.branch:
        progress(f"committed {edit.commit(keeping.branch, message)} on the new branch {safe(keeping.branch)}")
    else:
        progress("Nothing was written: --write writes the files, --branch NAME commits them.")
    return Exit.OK


def _show(edit: "ManifestEdit") -> None:
    """What it does to access, now and later, and which rules of Ownership it breaks."""
    style = style_for(sys.stderr)
    for cluster, review in list(edit.access.items())[:_CLUSTERS]:
        if len(edit.access) > 1:
            progress(style("title", safe(cluster)))
        _progress(review_lines(review, style))
        for when, then in edit.later.get(cluster, ()):
            _progress((f"From {moment_text(when)} on, when something ends:", *review_lines(then, style)))
    if len(edit.access) > _CLUSTERS:
        progress(
            f"… and the access of {len(edit.access) - _CLUSTERS:,} more clusters: “reconciler fleet plan” shows it"
        )
    _progress(breach_lines(edit.breaches, style))


def _progress(lines: Iterable[str]) -> None:
    texts = list(lines)
    if texts:
        info_lines(texts)


def _document(edit: "ManifestEdit") -> dict[str, Any]:
    return {"patch": edit.patch(), "files": dict(edit.files)}


def fix(
    request: StateRequest, connection: ConnectionOptions, keeping: Keeping, output: str, also: tuple[str, ...]
) -> int:
    """The exit status of the edit that ends findings; ``also`` names rules whose fix changes access."""
    fixed = fix_lint(request, connection, also=also, tell=info_note)
    count = f"{len(fixed.fixed):,} findings fixed" if len(fixed.fixed) != 1 else "1 finding fixed"
    progress(f"{count}, {len(fixed.kept):,} left to you: what stays depends on them" if fixed.kept else count)
    message = "Remove ACLs that lint finds superfluous"
    return keep(
        OutputKind.LINT_EDIT, fixed.edit, keeping, message=message, output=output, nothing="There is nothing to fix."
    )


def simplify(request: StateRequest, connection: ConnectionOptions, keeping: Keeping, output: str) -> int:
    """The exit status of the edit to the smaller set of bindings."""
    smaller = fix_simplify(request, connection, tell=info_note)
    return keep(OutputKind.LINT_EDIT, smaller, keeping, message="Remove ACLs that change nothing", output=output)
