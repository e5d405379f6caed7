"""Lint: findings about a set of bindings, each with a rule, evidence and advice. Pure; today's date is an input."""

import datetime
from collections.abc import Collection
from dataclasses import replace

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint.rule import LintFinding, LintRule, LintState, Severity
from reconciler.access.lint.rules import GROUPS, RULES, rule_of
from reconciler.model import APACHE, Declaration

__all__ = ["GROUPS", "RULES", "LintFinding", "LintRule", "Severity", "lint", "rule_of"]


def lint(
    authorizer: Authorizer,
    *,
    topics: Collection[str] | None = None,
    principals: Collection[str] | None = None,
    as_of: datetime.date | None = None,
    soon: datetime.timedelta = datetime.timedelta(days=30),
    principal_types: frozenset[str] = APACHE.principal_types,
) -> list[LintFinding]:
    """All findings, sorted by rule and binding, with manifest lines where the authorizer knows them.

    ``topics`` and ``principals`` are all that exist, or ``None`` where that is not known; without ``as_of`` nothing
    expires. ``principal_types`` are those that the brokers know (:class:`reconciler.model.Flavor`).
    """
    topics, principals = (None if names is None else frozenset(names) for names in (topics, principals))
    state = LintState(authorizer, topics, principals, as_of, soon, principal_types)
    found = (_placed(finding, authorizer) for rule in RULES for finding in rule.check(state))
    return sorted(found, key=lambda finding: finding.order)


def _placed(finding: LintFinding, authorizer: Authorizer) -> LintFinding:
    note = authorizer.sources.notes.get(finding.binding)
    return replace(finding, origin=note.origin if isinstance(note, Declaration) else note)
