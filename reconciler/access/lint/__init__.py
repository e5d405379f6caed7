"""Lint: findings about a set of bindings, each with a rule, evidence and advice. Pure; today's date is an input."""

import datetime
from collections.abc import Callable, Collection, Iterable

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint.rule import LintFinding, LintRule, LintState
from reconciler.access.lint.rules import RULES
from reconciler.model.flavor import APACHE


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
    expires. ``principal_types`` are those that the brokers know (:class:`reconciler.model.flavor.Flavor`).
    """
    topics, principals = (None if names is None else frozenset(names) for names in (topics, principals))
    return findings(LintState(authorizer, topics, principals, as_of, soon, principal_types))


def findings(
    state: LintState, rules: Iterable[LintRule] = RULES, told: Callable[[LintFinding], bool] = lambda _: True
) -> list[LintFinding]:
    """The same of a state, by some of the rules; only those that are ``told``."""
    notes = state.authorizer.sources.notes
    found = (finding for rule in rules for finding in filter(told, rule.check(state)))
    return sorted((item.placed(notes) for item in found), key=lambda finding: finding.order)
