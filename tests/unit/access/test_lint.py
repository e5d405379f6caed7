"""One example for each rule, and what must not be found."""

import datetime

import pytest

from reconciler.access import Authorizer, LintRule, lint, minimise
from reconciler.model import Declaration, Origin
from tests.unit.access.bindings import binding, bindings

DAY = datetime.date(2026, 3, 1)


@pytest.mark.parametrize(
    ("rule", "found", "others"),
    [
        ("REDUNDANT", "TOPIC:L:ab User:a@* ALLOW READ", ["TOPIC:P:a User:a@* ALLOW READ"]),
        ("REDUNDANT", "TOPIC:L:ab User:a@10.0.0.1 ALLOW READ", ["TOPIC:L:ab User:*@* ALLOW READ"]),
        ("REDUNDANT", "TOPIC:L:a User:a@* ALLOW DESCRIBE", ["TOPIC:L:a User:a@* ALLOW WRITE"]),
        ("REDUNDANT", "TOPIC:L:a User:a@* DENY READ", ["TOPIC:L:a User:a@* DENY ALL", "TOPIC:L:a User:a@* ALLOW READ"]),
        (
            "REDUNDANT",
            "TRANSACTIONAL_ID:L:a User:a@* ALLOW ALL",
            ["TRANSACTIONAL_ID:L:a User:a@* ALLOW WRITE", "TRANSACTIONAL_ID:P:a User:a@* ALLOW TWO_PHASE_COMMIT"],
        ),
        ("SHADOWED", "TOPIC:L:a User:a@* ALLOW CREATE", ["TOPIC:L:* User:*@* DENY CREATE"]),
        ("IDLE_DENY", "TOPIC:L:a User:a@* DENY READ", ["TOPIC:L:b User:a@* ALLOW READ"]),
        ("DEAD_HOST", "TOPIC:L:a User:a@localhost ALLOW READ", []),
        ("DEAD_HOST", "TOPIC:L:a User:a@::1 ALLOW READ", []),
        ("DEAD_PRINCIPAL", "TOPIC:L:a User:a*@* ALLOW READ", []),
        ("DEAD_PRINCIPAL", "TOPIC:L:a Group:*@* ALLOW READ", []),
        ("DEAD_PRINCIPAL", "TOPIC:L:a user:a@* ALLOW READ", []),
        ("BREAKS_BROKERS", "GROUP:L:a nobody@* ALLOW READ", []),
        ("BREAKS_BROKERS", "GROUP:L:#a User:a@* ALLOW READ", []),
        ("DEAD_PATTERN", "TOPIC:L:foo* User:a@* ALLOW READ", []),
        ("DEAD_PATTERN", "TOPIC:P:* User:a@* ALLOW READ", []),
        ("DEAD_PATTERN", "GROUP:P:g* User:a@* ALLOW READ", []),
        ("DEAD_PATTERN", "CLUSTER:P:x User:a@* ALLOW CREATE", []),
        ("UNSUPPORTED_OPERATION", "GROUP:L:a User:a@* ALLOW WRITE", []),
        ("EVERYBODY", "TOPIC:L:a User:*@* ALLOW READ", []),
        ("WILDCARD_WRITE", "TOPIC:L:* User:a@* ALLOW WRITE", []),
        ("CLUSTER_ALTER", "CLUSTER:L:kafka-cluster User:a@* ALLOW ALL", []),
        ("OPEN_PREFIX", "TOPIC:P:pay User:a@* ALLOW READ", []),
        ("HALF_A_GRANT", "TOPIC:L:a User:a@* ALLOW READ", ["GROUP:L:g User:b@* ALLOW READ"]),
        ("HALF_A_GRANT", "TRANSACTIONAL_ID:L:a User:a@* ALLOW WRITE", []),
        ("UNKNOWN_TOPIC", "TOPIC:L:gone User:a@* ALLOW READ", []),
        ("UNKNOWN_PRINCIPAL", "TOPIC:L:paying User:gone@* ALLOW READ", []),
        ("CASE", "TOPIC:L:a User:a@* ALLOW READ", ["TOPIC:L:a User:A@* ALLOW READ"]),
        ("EVADED_DENY", "GROUP:L:* User:a@* DENY READ", ["GROUP:L:g User:a@* ALLOW READ"]),
    ],
)
def test_each_rule_finds_what_it_is_for(rule: str, found: str, others: list[str]) -> None:
    place = Origin("a.yaml", 3, 1)
    authorizer = Authorizer({binding(found): place, **dict.fromkeys(bindings(*others))})
    findings = lint(authorizer, topics=["paying", "pay.x"], principals=["User:a"], today=DAY)
    hits = [finding for finding in findings if finding.rule is LintRule[rule] and finding.binding == binding(found)]
    assert len(hits) == 1
    assert hits[0].origin == place
    assert hits[0].message
    assert hits[0].advice
    assert findings == sorted(findings, key=lambda finding: finding.order)


def test_sound_bindings_have_no_findings() -> None:
    authorizer = Authorizer(
        bindings(
            "TOPIC:P:pay. User:a@* ALLOW READ",
            "TOPIC:L:pay.secret User:a@* DENY READ",
            "TOPIC:L:pay.secret User:a@* DENY DESCRIBE",
            "GROUP:P:pay- User:a@10.0.0.1 ALLOW READ",
            "GROUP:P:pay- User:a@* ALLOW READ",
        )
    )
    rules = [finding.rule for finding in lint(authorizer, topics=["pay.secret"], principals=["User:a"], today=DAY)]
    assert rules == [LintRule.REDUNDANT]


def test_the_evidence_of_an_open_prefix_is_what_it_takes_in() -> None:
    authorizer = Authorizer(bindings("TOPIC:P:pay User:a@* ALLOW READ"))
    (found,) = [f for f in lint(authorizer, topics=["pay", "pay.x", "payroll", "q"]) if f.rule is LintRule.OPEN_PREFIX]
    assert found.evidence == ("payroll",)


def test_what_expired_and_what_soon_does() -> None:
    held = bindings("TOPIC:L:a User:a@* ALLOW READ", "TOPIC:L:b User:a@* ALLOW READ", "TOPIC:L:c User:a@* ALLOW READ")
    days = (DAY - datetime.timedelta(1), DAY, DAY + datetime.timedelta(40))
    notes = {
        one: Declaration(Origin("a.yaml", line, 1), expires=day)
        for line, (one, day) in enumerate(zip(held, days, strict=True), 1)
    }
    found = [(f.rule, f.binding) for f in lint(Authorizer(notes), today=DAY) if f.rule in ("KA016", "KA017")]
    assert found == [(LintRule.EXPIRED, held[0]), (LintRule.EXPIRES_SOON, held[1])]
    assert not [f for f in lint(Authorizer(notes)) if f.rule in ("KA016", "KA017")]


def test_minimise_says_by_what_each_binding_is_covered() -> None:
    wide, narrow, dead = bindings(
        "TOPIC:P:a User:a@* ALLOW READ", "TOPIC:L:ab User:a@* ALLOW DESCRIBE", "TOPIC:L:x User:a@localhost ALLOW READ"
    )
    smaller = minimise(Authorizer([wide, narrow, dead]))
    assert {removal.binding: removal.because for removal in smaller.removed} == {narrow: (wide,), dead: ()}
    assert smaller.kept.bindings == {wide}


def test_a_binding_that_only_covers_stays_where_default_allow_is_on_or_unknown() -> None:
    for setting in (True, None):
        dead = bindings("TOPIC:L:x User:a@localhost ALLOW READ")
        assert minimise(Authorizer(dead, (), setting)).kept.bindings == set(dead)


def test_rule_ids_are_stable() -> None:
    assert [(rule.value, rule.slug) for rule in LintRule][:3] == [
        ("KA001", "redundant"),
        ("KA002", "shadowed"),
        ("KA003", "idle-deny"),
    ]
    assert len({rule.value for rule in LintRule}) == 19


def test_the_wildcard_does_not_make_a_prefix_of_asterisks_redundant() -> None:
    held = bindings("GROUP:L:* User:a@* ALLOW READ", "GROUP:P:* User:a@* ALLOW READ", "GROUP:L:*x User:a@* ALLOW READ")
    found = {finding.binding: finding.related for finding in lint(Authorizer(held)) if finding.rule == "KA001"}
    assert found == {held[2]: (held[1],)}
