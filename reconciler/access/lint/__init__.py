"""Findings about a set of bindings: each with a stable rule id, evidence and advice. Pure; today's date is an input."""

import datetime
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint.covering import covering_findings
from reconciler.access.lint.dead import dead_findings
from reconciler.access.lint.finding import Finding, LintRule
from reconciler.access.lint.habits import case_twins, dated, half_grants, unknown_names
from reconciler.access.lint.risk import risk_findings
from reconciler.model import Declaration

__all__ = ["Finding", "LintRule", "lint"]


def lint(
    authorizer: Authorizer,
    *,
    topics: Collection[str] | None = None,
    principals: Collection[str] | None = None,
    today: datetime.date | None = None,
    soon: datetime.timedelta = datetime.timedelta(days=30),
) -> list[Finding]:
    """All findings, sorted by rule and binding, with manifest lines where the authorizer knows them.

    ``topics`` and ``principals`` are all that exist, or ``None`` where that is not known; without ``today`` nothing
    expires.
    """
    topics, principals = (None if known is None else frozenset(known) for known in (topics, principals))
    found: Iterator[Finding] = chain(
        covering_findings(authorizer),
        dead_findings(authorizer),
        risk_findings(authorizer, sorted(topics or ())),
        half_grants(authorizer),
        unknown_names(authorizer, topics, principals),
        dated(authorizer, today, soon) if today is not None else iter(()),
        case_twins(authorizer),
    )
    return sorted((_placed(finding, authorizer) for finding in found), key=lambda finding: finding.order)


def _placed(finding: Finding, authorizer: Authorizer) -> Finding:
    note = authorizer.evidence.notes.get(finding.binding)
    return replace(finding, origin=note.origin if isinstance(note, Declaration) else note)
