"""Findings of lint as text: rules with their advice once, of very many the first of each rule."""

import re
from dataclasses import replace

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint import GROUPS, RULES
from reconciler.access.lint.rule import AclFinding, LintFinding
from reconciler.model.desired import Origin
from reconciler.plan.guards import NO_GUARDRAILS
from reconciler.results import OutputKind, output
from reconciler.results.access import AccessView, Basis
from reconciler.results.findings import Finding, Level, finding_groups
from reconciler.show.claims import test_document as document_of_tests
from reconciler.show.lint import Linted, lint_document, lint_lines
from reconciler.show.reading import read_result
from tests.worlds import binding

_VIEW = AccessView("prod", Basis.DECLARED, Authorizer(()))


def _findings(count: int, rules: int) -> tuple[LintFinding, ...]:
    return tuple(
        AclFinding(
            RULES[number % rules],
            binding(f"TOPIC:L:topic-{number:05} User:svc-{number}@* ALLOW READ"),
            f"message {number}",
            f"advice of {RULES[number % rules].code}",
            origin=Origin("acls.yaml", number + 1, 1),
        )
        for number in range(count)
    )


def test_thousands_of_findings_fit_a_few_screens_and_none_is_lost_from_the_counts() -> None:
    linted = Linted(_VIEW, _findings(5_000, len(RULES)))
    lines = list(lint_lines([linted]))
    text = "\n".join(lines)
    assert len(lines) < 250
    shown = text.count("    message ")
    assert lines[1] == f"{shown} of 5,000 findings shown; --expand shows the others"
    more = [int(number.replace(",", "")) for number in re.findall(r"and ([\d,]+) more; --expand shows each", text)]
    assert len(more) == len(RULES)
    assert shown + sum(more) == 5_000
    assert all(text.count(f"advice of {rule.code}") == 1 for rule in RULES)
    assert text.splitlines()[-1] == "5,000 findings"
    expanded = "\n".join(lint_lines([linted], expand=True))
    assert all(f"topic-{number:05}" in expanded for number in range(5_000))
    assert "--expand" not in expanded


def test_few_findings_are_all_shown() -> None:
    text = "\n".join(lint_lines([Linted(_VIEW, _findings(20, 4))]))
    assert text.count("    message ") == 20
    assert "--expand" not in text


def test_a_rule_that_is_an_error_shows_more_of_its_findings() -> None:
    (error,) = [number for number, rule in enumerate(RULES) if rule.name == "breaks-brokers"]
    grave = tuple(replace(one, rule=RULES[error]) for one in _findings(15, 1))
    text = "\n".join(lint_lines([Linted(_VIEW, (*_findings(900, error), *grave))]))
    assert f"{RULES[error].code} breaks-brokers (15)" in text
    assert all(f"message {number}\n" in text for number in range(15))


def test_clusters_with_the_same_findings_are_said_together() -> None:
    found = _findings(3, 3)
    linted = [Linted(replace(_VIEW, cluster=f"site-{number}"), found) for number in range(100)]
    other = Linted(replace(_VIEW, cluster="other"), found[:2])
    lines = list(lint_lines([*linted, other]))
    assert lines[0] == "As declared for cluster site-0; the cluster itself was not read."
    assert re.fullmatch(r"The same of 99 clusters: site-1, site-2, .* and \d+ more", lines[1])
    assert lines.count("3 findings") == 1
    assert "As declared for cluster other; the cluster itself was not read." in lines
    assert "site-99" in "\n".join(lint_lines(linted, expand=True))


def test_what_no_listing_shows_is_in_json_and_every_format_made_from_it() -> None:
    fact = "role bindings (RBAC) grant access too, and no ACL listing shows them"
    document = lint_document([Linted(replace(_VIEW, unseen=(fact,)), ()), Linted(_VIEW, ())])
    assert [state.get("unseen") for state in document["states"]] == [[fact], None]
    (found,) = read_result(output(OutputKind.LINT, document)).findings
    assert (found.message, found.cluster, found.level) == (fact, "prod", Level.NOTE)
    tests = document_of_tests([(replace(_VIEW, unseen=(fact,)), (), NO_GUARDRAILS, (), 0)])
    tested = read_result(output(OutputKind.TEST, tests))
    assert tested.findings == (found,)
    texts = list(lint_lines([Linted(replace(_VIEW, unseen=(fact,)), ()), Linted(_VIEW, ())]))
    assert sum(fact in text for text in texts) == 1


def test_of_one_level_risks_come_before_what_is_only_untidy() -> None:
    rules = [rule for group in GROUPS.values() for rule in group]
    groups = list(finding_groups(Finding(rule.code, rule.name, Level(rule.severity), "it is so") for rule in rules))
    kinds = {rule.code: group for group, some in GROUPS.items() for rule in some}
    for level in Level:
        order = list(dict.fromkeys(kinds[group.rule] for group in groups if group.level is level))
        assert order == [kind for kind in ("Risky", "Ineffective", "Stale", "Redundant") if kind in order]
    assert len(groups) == len(rules)
