"""Lint: findings about a set of bindings, each with a rule, evidence and advice. Pure; today's date is an input.

The rules are one line for each, in the groups and the order of ``docs/lint.md``.
"""

import datetime
from collections.abc import Callable, Collection, Iterable
from typing import Final

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint import ineffective, risky, stale
from reconciler.access.lint.rule import LintFinding, LintRule, LintState
from reconciler.model.flavor import APACHE

GROUPS: Final[dict[str, tuple[LintRule, ...]]] = {
    "Redundant": (
        ineffective.redundant,
        ineffective.shadowed,
        ineffective.idle_deny,
    ),
    "Ineffective": (
        ineffective.dead_host,
        ineffective.dead_principal,
        ineffective.breaks_brokers,
        ineffective.dead_pattern,
        ineffective.unsupported_operation,
        ineffective.evaded_deny,
        ineffective.no_login,
        ineffective.changed_name,
    ),
    "Risky": (
        risky.everybody,
        risky.wildcard_write,
        risky.wildcard_read,
        risky.everything,
        risky.cluster_alter,
        risky.open_prefix,
        risky.confusable,
        risky.mixed_scripts,
    ),
    "Stale": (
        stale.half_a_grant,
        stale.unknown_topic,
        stale.unknown_principal,
        stale.undeclared_principal,
        stale.expired,
        stale.expires_soon,
        stale.case,
    ),
}
RULES: Final = tuple(rule for rules in GROUPS.values() for rule in rules)


def rule_of(name: str) -> LintRule | None:
    """The rule with this code or name, whatever its case; ``None`` where there is none."""
    wanted = name.casefold()
    return next((rule for rule in RULES if wanted in (rule.code.casefold(), rule.name)), None)


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
