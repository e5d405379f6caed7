"""Lint: findings about a set of bindings, each with a rule, evidence and advice. Pure; today's date is an input.

The rules are one line for each, in the groups and the order of ``docs/lint.md``.
"""

from collections.abc import Callable, Iterable
from typing import Final

from reconciler.access.lint import ineffective, risky, stale
from reconciler.access.lint.rule import LintFinding, LintRule, LintState

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


def findings(
    state: LintState, rules: Iterable[LintRule] = RULES, wanted: Callable[[LintFinding], bool] = lambda _: True
) -> list[LintFinding]:
    """All findings about a state by these rules, those that are ``wanted``, sorted by rule and binding.

    They have manifest lines where the authorizer knows them.
    """
    notes = state.authorizer.sources.notes
    unplaced = (finding for rule in rules for finding in filter(wanted, rule.check(state)))
    return sorted((item.placed(notes) for item in unplaced), key=lambda finding: finding.order)
