"""What a breach says: whose it is, who is a stranger to whom, which consent was meant, and which item of the rules."""

import datetime
from dataclasses import replace
from typing import Any

import pytest

from reconciler.app.manifests import ownerships_of
from reconciler.manifest.guardrail_set import with_guardrails
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.model.acl import AclOperation, AclPermissionType
from reconciler.model.desired import Origin
from reconciler.policy.owners import Agreement
from reconciler.policy.ownership import Breach, BreachKind, Ownership, breach_order

DAY = datetime.date(2027, 1, 1)
CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\nspec: {}\n"
OWNERS = """\
apiVersion: reconciler/v1
kind: Ownership
metadata: {name: teams}
spec:
  owners:
    - {team: pay, files: teams/pay/**, principals: {prefix: "User:pay"}, topics: {prefix: pay.}}
    - {team: led, files: teams/led/**, principals: ["User:led"], topics: {prefix: led.}}
    - {team: sec, files: teams/sec/**, topics: [led.secret, part.x]}
"""
ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principals: [%s]
  rules:
    - {%s}
"""
PAY, LED = "teams/pay/a.yaml", "teams/led/a.yaml"


def _acls(rule: str, principals: str = '"User:pay"') -> str:
    return ACLS % (principals, rule)


def _consenting(more: str) -> str:
    return OWNERS.replace("topics: {prefix: led.}}", f"topics: {{prefix: led.}}, consents: [{{to: pay, {more}}}]}}")


def _ownerships(files: dict[str, str], owners: str) -> tuple[tuple[Ownership, ...], Any]:
    declared = any("kind: Cluster" in text for text in files.values())
    texts = {"o.yaml": owners, **({} if declared else {"cluster.yaml": CLUSTER}), **files}
    manifests = load(Source(path, text) for path, text in texts.items())
    return tuple(ownerships_of(manifests, "prod", DAY)), desired_state(manifests, "prod", DAY)


def _breaches(files: dict[str, str], owners: str = OWNERS) -> list[Breach]:
    (rules,), desired = _ownerships(files, owners)
    return list(rules.breaches(desired))


def test_strangers_are_all_whom_the_files_teams_do_not_own() -> None:
    text = _acls("allow: [WRITE, READ], topics: [led.x]", '"User:pay", "User:led", "User:free"')
    resource, principal = sorted(_breaches({PAY: text}), key=lambda breach: breach.kind, reverse=True)
    assert resource.kind is BreachKind.RESOURCE
    assert (resource.teams, resource.owners) == (("pay",), ("led",))
    assert resource.strangers == ("User:free", "User:led")
    assert resource.operations == (AclOperation.READ, AclOperation.WRITE)
    assert resource.permission is AclPermissionType.ALLOW
    # The principal of another team is a breach of its own; one that nobody owns is none.
    assert (principal.kind, principal.principal, principal.owners) == (BreachKind.PRINCIPAL, "User:led", ("led",))


def test_each_pattern_and_each_permission_is_a_breach_of_its_own() -> None:
    text = _acls("allow: READ, topics: [led.x, led.y]") + "    - {deny: READ, topics: [led.x]}\n"
    found = [(str(one.pattern), one.permission.name) for one in _breaches({PAY: text})]
    assert found == [("TOPIC led.x", "ALLOW"), ("TOPIC led.y", "ALLOW"), ("TOPIC led.x", "DENY")]


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ("operations: READ, topics: [led.x], principals: [User:other]", "o.yaml:7:106"),
        ("operations: READ, topics: [led.x], permissions: [DENY]", "o.yaml:7:106"),
        # Not of another operation or topic, and not one that has expired.
        ("operations: WRITE, topics: [led.x], principals: [User:other]", None),
        ("operations: READ, topics: [led.y], principals: [User:other]", None),
        ("operations: READ, topics: [led.x], principals: [User:other], expires: 2026-12-31", None),
        ("operations: READ, topics: [led.x], principals: [User:other], expires: 2027-01-01", "o.yaml:7:106"),
    ],
)
def test_a_consent_that_was_meant_is_named(more: str, place: str | None) -> None:
    (breach,) = _breaches({PAY: _acls("allow: READ, topics: [led.x]")}, _consenting(more))
    assert (None if breach.consent is None else str(breach.consent)) == place


def test_of_several_consents_that_were_meant_the_first_is_named() -> None:
    meant = (
        "operations: READ, topics: [led.x], principals: [User:other]}, {to: pay, operations: READ, topics: [led.x], "
    )
    (breach,) = _breaches({PAY: _acls("allow: READ, topics: [led.x]")}, _consenting(f"{meant}permissions: [DENY]"))
    assert str(breach.consent) == "o.yaml:7:106"


def test_breaches_stand_in_the_order_of_files_and_lines_a_role_after_its_user() -> None:
    here, role = Origin("a.yaml", 7, 7), Origin("r.yaml", 4, 1)
    plain = Breach(here, BreachKind.RESOURCE)
    in_order = [
        Breach(Origin("a.yaml", 6, 9), BreachKind.RESOURCE),
        Breach(here, BreachKind.PRINCIPAL, principal="User:a"),
        Breach(here, BreachKind.PRINCIPAL, principal="User:b"),
        plain,
        replace(plain, rule=Origin("a.yaml", 1, 1)),
        replace(plain, rule=Origin("b.yaml", 1, 1)),
        replace(plain, role=Origin("b.yaml", 9, 9)),
        replace(plain, role=role),
        replace(plain, operations=(AclOperation.READ,)),
        replace(plain, permission=AclPermissionType.ALLOW, operations=(AclOperation.WRITE,)),
        Breach(Origin("b.yaml", 1, 1), BreachKind.CLAIM),
    ]
    mixed = in_order[::-1]
    assert sorted(mixed, key=breach_order) == in_order


def test_of_a_prefix_each_part_is_its_owners() -> None:
    found = _breaches({PAY: _acls("allow: READ, topics: {prefix: led.}")})
    assert [(one.owners, str(one.part or "")) for one in found] == [(("led",), ""), (("sec",), "TOPIC led.secret")]
    # With the consent of the one, the other is left.
    (breach,) = _breaches(
        {PAY: _acls("allow: READ, topics: {prefix: led.}")},
        _consenting("operations: READ, topics: {prefix: led.}"),
    )
    assert (breach.owners, str(breach.part)) == (("sec",), "TOPIC led.secret")
    # A prefix that nobody owns whole is one breach, of all that it reaches but the file's own.
    (breach,) = _breaches({PAY: _acls("allow: READ, topics: {any: true}")})
    assert (breach.owners, breach.part) == (("led", "sec"), None)


@pytest.mark.parametrize(
    ("owns", "kinds"),
    [
        ("[pay.x]", []),
        ("{prefix: pay.}", []),
        # What nobody owns may be named, and not called one's own.
        ("[free]", [BreachKind.CLAIM]),
        ("{prefix: free.}", [BreachKind.CLAIM]),
        # What others own is a breach anyway, whole or in part.
        ("[led.x]", [BreachKind.RESOURCE]),
        ("{prefix: part.}", [BreachKind.RESOURCE]),
    ],
)
def test_a_teams_file_calls_its_own_what_it_owns(owns: str, kinds: list[BreachKind]) -> None:
    text = _acls("allow: READ, groups: [g]").replace("  rules:", f"  owns: {owns}\n  rules:")
    assert [one.kind for one in _breaches({PAY: text})] == kinds
    assert [one.kind for one in _breaches({"root.yaml": text}) if one.kind is BreachKind.CLAIM] == []


_TOPICS = "apiVersion: reconciler/v1\nkind: Topics\nmetadata: {name: t}\nspec: {topics: [{name: %s}]}\n"


@pytest.mark.parametrize(
    ("topic", "file", "kind", "subject"),
    [
        ("free", PAY, None, ""),
        ("free, absent: true", PAY, BreachKind.UNOWNED, "deletion of topic free"),
        ("free, absent: true", "root.yaml", None, ""),
        ("__consumer_offsets", PAY, BreachKind.UNOWNED, "topic __consumer_offsets"),
        ("__consumer_offsets", "root.yaml", None, ""),
        ("led.x", PAY, BreachKind.TOPIC, ""),
        ("led.x, absent: true", PAY, BreachKind.TOPIC, ""),
        ("led.x", "root.yaml", BreachKind.TOPIC, ""),
        ("led.x", LED, None, ""),
        # What was handed over is no longer the owner's of the prefix.
        ("led.secret", LED, BreachKind.TOPIC, ""),
    ],
)
def test_a_topic_is_its_owners_and_a_free_one_is_not_deleted(
    topic: str, file: str, kind: BreachKind | None, subject: str
) -> None:
    found = _breaches({file: _TOPICS % topic})
    assert [(one.kind, one.subject) for one in found] == ([] if kind is None else [(kind, subject)])


def test_a_role_has_a_say_for_its_file() -> None:
    """Whoever edits the role decides what its users declare: both places are held against the rules."""
    spec = "{rules: [{allow: READ, topics: [led.x]}]}"
    role = f"apiVersion: reconciler/v1\nkind: Role\nmetadata: {{name: mine}}\nspec: {spec}\n"
    text = _acls("role: mine", '"User:led"')
    assert _breaches({LED: text, "teams/led/role.yaml": role}) == []
    found = _breaches({LED: text, "teams/pay/role.yaml": role})
    assert [(one.kind, one.teams, str(one.origin), str(one.role)) for one in found] == [
        (BreachKind.PRINCIPAL, ("pay",), f"{LED}:7:14", "teams/pay/role.yaml:4:16"),
        (BreachKind.RESOURCE, ("pay",), f"{LED}:7:14", "teams/pay/role.yaml:4:16"),
    ]
    assert all(one.rule is None for one in found)
    # A role of no team is everybody's.
    assert _breaches({LED: text, "role.yaml": role}) == []


def test_rules_of_the_base_are_named_with_the_item_that_says_so() -> None:
    texts = {
        "cluster.yaml": CLUSTER,
        PAY: _acls("allow: READ, topics: [led.x]") + "---\n" + _TOPICS % "free, absent: true",
    }
    manifests = with_guardrails(
        load(Source(path, text) for path, text in texts.items()),
        [Source("o.yaml", f"{OWNERS}    - {{team: led, topics: [led.more]}}\n"), Source("c.yaml", CLUSTER)],
    )
    desired = desired_state(manifests, "prod", DAY)
    found = [one for rules in ownerships_of(manifests, "prod", DAY) for one in rules.breaches(desired)]
    assert [(one.kind, str(one.rule)) for one in found] == [
        (BreachKind.RESOURCE, "guardrails://o.yaml:7:14"),
        # Without an owner it is a rule about all that is unowned: the first item stands for it.
        (BreachKind.UNOWNED, "guardrails://o.yaml:6:14"),
    ]


@pytest.mark.parametrize(
    ("rule", "consent", "agreement"),
    [
        ("allow: READ, topics: [pay.x]", "", Agreement.OWN),
        ("allow: READ, topics: [free]", "", None),
        ("allow: READ, topics: [led.x]", "", Agreement.MISSING),
        ("allow: READ, topics: [led.x]", "operations: READ, topics: [led.x]", Agreement.GIVEN),
        ("allow: READ, topics: [led.x]", "operations: READ, topics: [led.x], expires: 2026-12-31", Agreement.MISSING),
        ("allow: READ, topics: {prefix: led.}", "operations: READ, topics: {prefix: led.}", Agreement.MISSING),
    ],
)
def test_what_the_owners_say_to_a_binding(rule: str, consent: str, agreement: Agreement | None) -> None:
    (rules,), desired = _ownerships({PAY: _acls(rule)}, _consenting(consent) if consent else OWNERS)
    ((binding, declared),) = desired.bindings.items()
    assert rules.agreement(binding, declared) is agreement
    assert rules.forbids(binding, declared) is (agreement is Agreement.MISSING)
    assert Ownership(()).agreement(binding, declared) is None
    assert not Ownership(()).forbids(binding, declared)
    assert len(rules.used_consents(desired)) == (agreement is Agreement.GIVEN)


def test_whoever_sets_a_variable_has_a_say_in_the_files_that_use_it() -> None:
    """A file of more teams than those that set it is the breach of the others, who are named."""
    both = (
        OWNERS.replace("files: teams/led/**", "files: [teams/led/**, teams/both/**, teams/ls/**]")
        .replace("files: teams/pay/**", "files: [teams/pay/**, teams/both/**]")
        .replace("files: teams/sec/**", "files: [teams/sec/**, teams/ls/**]")
    )
    text = _acls('allow: READ, topics: ["led.${vars.a}"]', '"User:led"')
    cluster = CLUSTER.replace("spec: {}", "spec: {vars: {a: b}}")
    for place, file, teams, owners in (
        ("teams/pay/c.yaml", LED, ("pay",), ("led",)),
        ("teams/both/c.yaml", LED, ("led", "pay"), ()),
        ("teams/both/c.yaml", "teams/ls/a.yaml", ("led", "pay"), ("sec",)),
        ("teams/led/c.yaml", "teams/both/a.yaml", (), None),
        ("teams/led/c.yaml", LED, (), None),
        ("cluster.yaml", LED, (), None),
    ):
        found = [one for one in _breaches({place: cluster, file: text}, both) if one.kind is BreachKind.VARIABLES]
        assert [(one.teams, one.owners) for one in found] == ([] if owners is None else [(teams, owners)]), place
        assert [str(one.origin) for one in found] == [f"{place}:3:18"] * len(found)
