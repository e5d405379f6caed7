"""Entries of audit logs as text."""

from collections.abc import Iterator, Sequence

from reconciler.model.characters import safe
from reconciler.results.audit import AuditEntry


def entry_lines(found: Sequence[AuditEntry]) -> Iterator[str]:
    """What was done, a line each, with a line below of whose it was; then how many there are."""
    for one in found:
        yield safe(f"{one.time}  {one.outcome}  {one.cluster}: {one.what}")
        yield safe(f"    {'; '.join(whose(one))}")
    yield f"{len(found)} {'entry' if len(found) == 1 else 'entries'}."


def whose(one: AuditEntry) -> Iterator[str]:
    """Who ran, proposed and approved it, a clause each, and where its evidence is."""
    yield f"run {one.run} by {one.operator}"
    if one.proposer is not None:
        yield f"proposed by {one.proposer}"
    if one.approved_by:
        approvers = (f"{name} ({key})" for name, key in zip(one.approved_by, one.keys, strict=True))
        yield f"approved by {', '.join(approvers)}"
    if one.authors:
        yield f"not counted as authors: {', '.join(one.authors)}"
    yield from (part for part in (one.ticket, one.reason, one.url) if part)
    if one.commit is not None:
        yield f"commit {one.commit}"
    yield one.line
