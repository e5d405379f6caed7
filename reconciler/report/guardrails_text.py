"""What a proposal changes about the rules that judge it, as text and for programs."""

from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.manifest import GuardrailChange, Meaning
from reconciler.report.results.documents import GuardrailEntry
from reconciler.report.style import Style, safe

_STYLES: Final = {Meaning.LOOSER: "error", Meaning.UNCLEAR: "warn", Meaning.TIGHTER: "add"}


def guardrail_lines(changes: Iterable[GuardrailChange], style: Style) -> Iterator[str]:
    """A title and a line for each change; nothing where there is none."""
    changes = tuple(changes)
    if changes:
        yield style("title", "Guardrails changed: this proposal edits rules that judge it")
    for change in changes:
        entry = guardrail_entry(change)
        yield f"  {style(_STYLES[change.meaning], change.meaning)}  {safe(entry.message)}  {safe(str(entry.place))}"
    if changes:
        yield ""


def guardrail_entry(change: GuardrailChange) -> GuardrailEntry:
    """One change, as commands print it for programs."""
    subject = f"{change.kind} {change.document}" + (f", {change.field}" if change.field else "")
    return GuardrailEntry(change.origin, change.meaning.value, f"{subject}: {_moved(change)}")


def _moved(change: GuardrailChange) -> str:
    if change.reason:
        return change.reason
    if change.before is None:
        return "added" if change.after in ("", "declared") else f"added: {change.after}"
    if change.after is None:
        return "removed" if change.before in ("", "declared") else f"removed: {change.before}"
    return f"{change.before} → {change.after}"
