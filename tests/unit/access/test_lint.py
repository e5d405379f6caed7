"""One example for each rule, and what must not be found."""

import datetime
from typing import Any

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint import RULES, findings, rule_of
from reconciler.access.lint.rule import LintState
from reconciler.access.remediation import simplify
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.desired import Declaration, Expiry, Origin
from reconciler.model.flavor import FLAVORS
from reconciler.model.kinds.group_config import GroupConfig
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, ScramUser
from reconciler.model.listing import ListedItem
from tests.unit.access.lint_page import PAGE, refreshed
from tests.unit.access.linting import lint
from tests.worlds import binding, bindings

DAY = datetime.date(2026, 3, 1)


@pytest.mark.parametrize(
    ("rule", "found", "others"),
    [
        ("redundant", "TOPIC:L:ab User:a@* ALLOW READ", ["TOPIC:P:a User:a@* ALLOW READ"]),
        ("redundant", "TOPIC:L:ab User:a@10.0.0.1 ALLOW READ", ["TOPIC:L:ab User:*@* ALLOW READ"]),
        ("redundant", "TOPIC:L:a User:a@* ALLOW DESCRIBE", ["TOPIC:L:a User:a@* ALLOW WRITE"]),
        ("redundant", "TOPIC:L:a User:a@* DENY READ", ["TOPIC:L:a User:a@* DENY ALL", "TOPIC:L:a User:a@* ALLOW READ"]),
        (
            "redundant",
            "TRANSACTIONAL_ID:L:a User:a@* ALLOW ALL",
            ["TRANSACTIONAL_ID:L:a User:a@* ALLOW WRITE", "TRANSACTIONAL_ID:P:a User:a@* ALLOW TWO_PHASE_COMMIT"],
        ),
        ("shadowed", "TOPIC:L:a User:a@* ALLOW CREATE", ["TOPIC:L:* User:*@* DENY CREATE"]),
        ("idle-deny", "TOPIC:L:a User:a@* DENY READ", ["TOPIC:L:b User:a@* ALLOW READ"]),
        ("dead-host", "TOPIC:L:a User:a@localhost ALLOW READ", []),
        ("dead-host", "TOPIC:L:a User:a@::1 ALLOW READ", []),
        ("dead-principal", "TOPIC:L:a User:a*@* ALLOW READ", []),
        ("dead-principal", "TOPIC:L:a Group:*@* ALLOW READ", []),
        ("dead-principal", "TOPIC:L:a user:a@* ALLOW READ", []),
        ("breaks-brokers", "GROUP:L:a nobody@* ALLOW READ", []),
        ("breaks-brokers", "GROUP:L:#a User:a@* ALLOW READ", []),
        ("dead-pattern", "TOPIC:L:foo* User:a@* ALLOW READ", []),
        ("dead-pattern", "TOPIC:P:* User:a@* ALLOW READ", []),
        ("dead-pattern", "GROUP:P:g* User:a@* ALLOW READ", []),
        ("dead-pattern", "CLUSTER:P:x User:a@* ALLOW CREATE", []),
        ("unsupported-operation", "GROUP:L:a User:a@* ALLOW CREATE", []),
        ("everybody", "TOPIC:L:a User:*@* ALLOW READ", []),
        ("wildcard-write", "TOPIC:L:* User:a@* ALLOW WRITE", []),
        ("wildcard-read", "TOPIC:L:* User:a@* ALLOW READ", ["GROUP:L:* User:a@* ALLOW READ"]),
        ("wildcard-read", "GROUP:L:* User:a@10.0.0.1 ALLOW READ", []),
        ("everything", "TOPIC:L:* User:a@* ALLOW ALL", []),
        ("everything", "USER:L:* User:a@* ALLOW CREATE_TOKENS", []),
        ("everything", "USER:P:User: User:a@* ALLOW DESCRIBE_TOKENS", []),
        ("everything", "USER:P:Us User:a@* ALLOW ALL", []),
        ("everything", "DELEGATION_TOKEN:L:* User:a@* ALLOW DESCRIBE", []),
        ("cluster-alter", "CLUSTER:L:kafka-cluster User:a@* ALLOW CLUSTER_ACTION", []),
        ("cluster-alter", "CLUSTER:L:kafka-cluster User:a@* ALLOW ALL", []),
        ("cluster-alter", "CLUSTER:L:kafka-cluster User:a@* ALLOW ALTER_CONFIGS", []),
        ("open-prefix", "TOPIC:P:pay User:a@* ALLOW READ", []),
        ("half-a-grant", "TOPIC:L:a User:a@* ALLOW READ", ["GROUP:L:g User:b@* ALLOW READ"]),
        ("half-a-grant", "TRANSACTIONAL_ID:L:a User:a@* ALLOW WRITE", []),
        ("unknown-topic", "TOPIC:L:gone User:a@* ALLOW READ", []),
        ("unknown-principal", "TOPIC:L:paying User:gone@* ALLOW READ", []),
        ("case", "TOPIC:L:a User:a@* ALLOW READ", ["TOPIC:L:a User:A@* ALLOW READ"]),
        ("evaded-deny", "GROUP:L:* User:a@* DENY READ", ["GROUP:L:g User:a@* ALLOW READ"]),
        ("confusable", "TOPIC:L:a User:p\u0430yroll@* ALLOW READ", ["TOPIC:L:a User:payroll@* ALLOW READ"]),
        ("confusable", "TOPIC:L:paylng User:a@* ALLOW READ", ["TOPIC:L:pay1ng User:a@* ALLOW READ"]),
        ("mixed-scripts", "GROUP:L:p\u0430yroll User:a@* ALLOW READ", []),
    ],
)
def test_each_rule_finds_what_it_is_for(rule: str, found: str, others: list[str]) -> None:
    place = Origin("a.yaml", 3, 1)
    authorizer = Authorizer({binding(found): place, **dict.fromkeys(bindings(*others))})
    findings = lint(authorizer, topics=["paying", "pay.x"], principals=["User:a"], as_of=DAY)
    hits = [finding for finding in findings if finding.rule.name == rule and finding.binding == binding(found)]
    assert len(hits) == 1
    assert hits[0].origin == place
    assert hits[0].message
    assert hits[0].advice
    assert findings == sorted(findings, key=lambda finding: finding.order)


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (ScramUser("B\u00f6qu\u00e1rd", {"SCRAM-SHA-512": 4096}), "no-login"),
        (ScramUser("a\0", {"SCRAM-SHA-512": 4096}), "no-login"),
        # SASLprep makes a plain blank of it, and an "a" of the second: brokers refuse them before.
        (ScramUser("a\u00a0b", {"SCRAM-SHA-512": 4096}), "no-login"),
        (ScramUser("\u00aa", {"SCRAM-SHA-512": 4096}), "no-login"),
        (ScramUser("B\u00f6qu\u00e1rd", {"SCRAM-SHA-512": DISABLED_ITERATIONS}), None),
        (ScramUser(" a", {"SCRAM-SHA-512": 4096}), "changed-name"),
        (ScramUser("a\x01", {"SCRAM-SHA-512": 4096}), "changed-name"),
        (ScramUser("a,b=c d ~\\", {"SCRAM-SHA-512": 4096}), None),
        (ClientQuota(QuotaEntity.of(client_id=" a")), "changed-name"),
        (ClientQuota(QuotaEntity.of(user="u", client_id="\ta")), "changed-name"),
        (ClientQuota(QuotaEntity.of(client_id="a ")), None),
        (ClientQuota(QuotaEntity.of(client_id="\u00a0a")), None),
        (ClientQuota(QuotaEntity.of(client_id="")), None),
        # The name of a certificate, mostly: no client sends it.
        (ClientQuota(QuotaEntity.of(user=" a")), None),
        (GroupConfig(" g"), "changed-name"),
        (GroupConfig("g "), None),
    ],
)
def test_names_that_clients_cannot_send_are_told_of_users_quotas_and_groups(item: ListedItem, rule: str | None) -> None:
    place = Origin("a.yaml", 3, 1)
    found = findings(LintState(Authorizer({}), listed=((item, place),)))
    assert [(one.rule.name, one.subject, one.origin, one.binding) for one in found] == (
        [] if rule is None else [(rule, item.subject, place, None)]
    )


@pytest.mark.parametrize("kind", [ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID])
@pytest.mark.parametrize("pattern_type", [PatternType.LITERAL, PatternType.PREFIXED])
def test_acls_on_names_that_librdkafka_changes_are_told(kind: ResourceType, pattern_type: PatternType) -> None:
    operation = AclOperation.READ if kind is ResourceType.GROUP else AclOperation.WRITE
    entry = AccessControlEntry("User:a", "*", operation, AclPermissionType.ALLOW)
    held = {name: AclBinding(ResourcePattern(kind, name, pattern_type), entry) for name in (" x", "\tx", "x ", "x y")}
    found = [one.binding for one in lint(Authorizer(held.values())) if one.rule.name == "changed-name"]
    assert found == sorted([held[" x"], held["\tx"]])


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
    rules = [finding.rule.name for finding in lint(authorizer, topics=["pay.secret"], principals=["User:a"], as_of=DAY)]
    assert rules == ["redundant"]


def test_the_evidence_of_an_open_prefix_is_what_it_takes_in() -> None:
    authorizer = Authorizer(bindings("TOPIC:P:pay User:a@* ALLOW READ"))
    (found,) = [f for f in lint(authorizer, topics=["pay", "pay.x", "payroll", "q"]) if f.rule.name == "open-prefix"]
    assert found.evidence == ("payroll",)


def test_what_expired_and_what_soon_does() -> None:
    held = bindings("TOPIC:L:a User:a@* ALLOW READ", "TOPIC:L:b User:a@* ALLOW READ", "TOPIC:L:c User:a@* ALLOW READ")
    days = (DAY - datetime.timedelta(1), DAY, DAY + datetime.timedelta(40))
    notes = {
        one: Declaration(Origin("a.yaml", line, 1), expires=Expiry(day))
        for line, (one, day) in enumerate(zip(held, days, strict=True), 1)
    }
    found = [(f.rule.name, f.binding) for f in lint(Authorizer(notes), as_of=DAY) if f.rule.code in ("KA016", "KA017")]
    assert found == [("expired", held[0]), ("expires-soon", held[1])]
    assert not [f for f in lint(Authorizer(notes)) if f.rule.code in ("KA016", "KA017")]


def test_minimise_says_by_what_each_binding_is_covered() -> None:
    wide, narrow, dead = bindings(
        "TOPIC:P:a User:a@* ALLOW READ", "TOPIC:L:ab User:a@* ALLOW DESCRIBE", "TOPIC:L:x User:a@localhost ALLOW READ"
    )
    smaller = simplify(Authorizer([wide, narrow, dead]))
    assert {removal.binding: removal.because for removal in smaller.removed} == {narrow: (wide,), dead: ()}
    assert smaller.kept.bindings == {wide}


@pytest.mark.parametrize("default_allow", [False, True, None])
def test_a_deny_has_an_effect_where_default_allow_is_on_or_unknown(default_allow: bool | None) -> None:
    """It takes what no ALLOW gives, and covers a resource that would be open to everyone."""
    authorizer = Authorizer(bindings("TOPIC:L:a User:a@* DENY READ"), (), default_allow)
    found = {finding.rule.name for finding in lint(authorizer, as_of=DAY)}
    assert ("idle-deny" in found) is (default_allow is False)


def test_a_binding_that_only_covers_stays_where_default_allow_is_on_or_unknown() -> None:
    for setting in (True, None):
        dead = bindings("TOPIC:L:x User:a@localhost ALLOW READ")
        assert simplify(Authorizer(dead, (), setting)).kept.bindings == set(dead)


def test_codes_and_names_are_stable() -> None:
    assert [(rule.code, rule.name) for rule in sorted(RULES, key=lambda rule: rule.code)] == [
        ("KA001", "redundant"),
        ("KA002", "shadowed"),
        ("KA003", "idle-deny"),
        ("KA004", "dead-host"),
        ("KA005", "dead-principal"),
        ("KA006", "breaks-brokers"),
        ("KA007", "dead-pattern"),
        ("KA008", "unsupported-operation"),
        ("KA009", "everybody"),
        ("KA010", "wildcard-write"),
        ("KA011", "cluster-alter"),
        ("KA012", "open-prefix"),
        ("KA013", "half-a-grant"),
        ("KA014", "unknown-topic"),
        ("KA015", "unknown-principal"),
        ("KA016", "expired"),
        ("KA017", "expires-soon"),
        ("KA018", "case"),
        ("KA019", "evaded-deny"),
        ("KA020", "confusable"),
        ("KA021", "mixed-scripts"),
        ("KA022", "wildcard-read"),
        ("KA023", "no-login"),
        ("KA024", "changed-name"),
        ("KA025", "everything"),
        ("KA026", "undeclared-principal"),
    ]
    errors = {rule.code for rule in RULES if rule.severity == "error"}
    assert errors == {"KA004", "KA006", "KA007", "KA019", "KA023"}


@pytest.mark.parametrize(
    ("token", "told"),
    [
        ("USER:L:User:ghost User:known@* ALLOW CREATE_TOKENS", False),
        ("USER:P:User:gh User:known@* ALLOW ALL", False),
        ("USER:L:User:ghost User:known@* ALLOW DESCRIBE_TOKENS", True),
        ("USER:L:User:ghost User:known@* DENY CREATE_TOKENS", True),
        ("USER:L:User:ghost User:ghost@* ALLOW CREATE_TOKENS", True),
        ("USER:L:User:other User:known@* ALLOW CREATE_TOKENS", True),
    ],
)
def test_a_principal_without_a_user_may_log_in_by_a_token(token: str, told: bool) -> None:
    held = bindings("TOPIC:L:a User:ghost@* ALLOW READ", token)
    found = findings(LintState(Authorizer(held), users=frozenset({"known"})))
    assert any(one.rule.code == "KA026" and "User:ghost" in one.message for one in found) is told


def test_a_rule_is_found_by_code_or_name() -> None:
    assert {rule_of(rule.code.lower()) for rule in RULES} == {rule_of(rule.name) for rule in RULES} == set(RULES)
    assert rule_of("KA999") is None


def test_the_page_has_every_rule_as_it_is_today() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == refreshed(page), "run: make reference"


def test_the_wildcard_does_not_make_a_prefix_of_asterisks_redundant() -> None:
    held = bindings("GROUP:L:* User:a@* ALLOW READ", "GROUP:P:* User:a@* ALLOW READ", "GROUP:L:*x User:a@* ALLOW READ")
    found = {finding.binding: finding.related for finding in lint(Authorizer(held)) if finding.rule.code == "KA001"}
    assert found == {held[2]: (held[1],)}


def test_an_allow_that_implies_an_operation_of_its_type_is_not_called_dead() -> None:
    held = bindings(
        "CLUSTER:L:kafka-cluster User:a@* ALLOW READ",
        "GROUP:L:g User:a@* ALLOW ALTER",
        "CLUSTER:L:kafka-cluster User:a@* ALLOW DELETE",
        "CLUSTER:L:kafka-cluster User:a@* DENY READ",
        "GROUP:L:g User:a@* DENY ALTER",
        "GROUP:L:g User:a@* ALLOW CREATE",
    )
    found = [finding.binding for finding in lint(Authorizer(held)) if finding.rule.code == "KA008"]
    assert found == sorted(held[3:])


def test_principal_types_that_the_brokers_know_are_alive() -> None:
    bound = [binding(f"TOPIC:L:t {principal}@* ALLOW READ") for principal in ("RedpandaRole:r", "Group:g", "Robot:x")]
    types = FLAVORS["redpanda"].principal_types
    found = lint(Authorizer(dict.fromkeys(bound)), principal_types=types)
    assert [one.subject.split()[0] for one in found if one.rule.code == "KA005"] == ["Robot:x"]
    plain = lint(Authorizer(dict.fromkeys(bound)))
    assert len([one for one in plain if one.rule.code == "KA005"]) == 3


@pytest.mark.parametrize("facts", [{"default_allow": True}, {"super_users": ["User:a", "User:b"]}])
def test_only_rules_that_say_so_rest_on_facts(facts: dict[str, Any]) -> None:
    marks = test_each_rule_finds_what_it_is_for.pytestmark  # type: ignore[attr-defined]
    cases = next(mark for mark in marks if mark.name == "parametrize").args[1]
    texts = {text for _, found, others in cases for text in (found, *others)}
    certain = Authorizer(bindings(*texts), ["User:a"], allow_everyone_if_no_acl_found=False)
    state = LintState(certain, frozenset({"paying"}), frozenset({"User:a"}), DAY)
    doubted = certain.doubting(**facts)
    for rule in RULES:
        fresh = findings(LintState(doubted, state.topics, state.principals, DAY), [rule])
        assert fresh == findings(state.about(doubted), [rule])
        if not rule.on_facts:
            assert fresh == findings(state, [rule])
