"""Ownership: which file may name what, told on manifests as people write them."""

import datetime

import pytest

from reconciler.app.manifests import ownerships_of
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.safeguards import ownership as owners_of
from reconciler.model.acl import AclOperation, ResourcePattern, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.scope import NameSelector
from reconciler.policy.owners import OwnedPatterns, OwnedPrincipals, Owner, OwnerConsent
from reconciler.policy.ownership import Breach, Ownership
from reconciler.show.claims import advice, consent_lines, message

DAY = datetime.date(2027, 1, 1)
CLUSTER = "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod, labels: {env: prod}}\nspec: {}\n"
OWNERS = """
    - {team: payments, files: teams/payments/**, principals: {prefix: "User:pay"}, topics: {prefix: payments.}}
    - {team: ledger, files: [teams/ledger/*], principals: [User:led], topics: {prefix: ledger.}, groups: {prefix: led}}
    - {team: platform, files: platform.yaml, cluster: true, principals: {any: true}}
"""


def document(kind: str, spec: str, name: str = "a") -> str:
    return f"apiVersion: reconciler/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{spec}\n"


def acls(principal: str, *rules: str, name: str = "a") -> str:
    return document(
        "Acls", f"  principal: {principal}\n  rules:\n" + "".join(f"    - {rule}\n" for rule in rules), name
    )


def breaches(files: dict[str, str], owners: str = OWNERS) -> list[str]:
    texts = {"cluster.yaml": CLUSTER, "ownership.yaml": document("Ownership", f"  owners:{owners}", "teams"), **files}
    manifests = load(Source(path, text) for path, text in texts.items())
    rules = ownerships_of(manifests, "prod", DAY)[0]
    return [told(breach) for breach in rules.breaches(desired_state(manifests, "prod", DAY))]


def told(breach: Breach) -> str:
    subject = breach.principal or breach.subject or str(breach.pattern or "")
    operations = ",".join(operation.name for operation in breach.operations)
    owners = "+".join(breach.owners) or "nobody"
    return " ".join(part for part in (breach.origin.file, breach.kind, operations, subject, "of", owners) if part)


PAY = "teams/payments/acls.yaml"


@pytest.mark.parametrize(
    "rule",
    [
        "{allow: READ, topics: [payments.orders]}",
        "{allow: ALL, topics: {prefix: payments.audit.}}",
        "{allow: READ, topics: [nobodys]}",
        "{allow: READ, groups: [nobodys]}",
        "{allow: WRITE, transactionalIds: {any: true}}",
    ],
)
def test_a_file_may_name_its_own_and_what_nobody_owns(rule: str) -> None:
    assert breaches({PAY: acls("User:pay-svc", rule)}) == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("{allow: READ, topics: [ledger.v2]}", "READ TOPIC ledger.v2 of ledger"),
        ("{allow: [READ, WRITE], topics: [ledger.v2]}", "READ,WRITE TOPIC ledger.v2 of ledger"),
        ("{deny: READ, topics: [ledger.v2]}", "READ TOPIC ledger.v2 of ledger"),
        ("{allow: READ, topics: {prefix: led}}", "READ TOPIC PREFIXED led of ledger"),
        ("{allow: READ, topics: {any: true}}", "READ TOPIC * of ledger"),
        ("{allow: READ, groups: {prefix: led-x}}", "READ GROUP PREFIXED led-x of ledger"),
        ("{allow: ALTER, cluster: true}", "ALTER CLUSTER kafka-cluster of platform"),
    ],
)
def test_a_file_may_not_name_what_another_team_owns(rule: str, expected: str) -> None:
    assert breaches({PAY: acls("User:pay-svc", rule)}) == [f"{PAY} resource {expected}"]


def test_the_cluster_is_not_free_even_if_nobody_owns_it() -> None:
    owners = "\n    - {team: payments, files: teams/payments/**}\n"
    files = {PAY: acls("User:pay-svc", "{allow: ALTER, cluster: true}")}
    assert breaches(files, owners) == [f"{PAY} resource ALTER CLUSTER kafka-cluster of nobody"]


def test_a_principal_of_another_team_cannot_be_named() -> None:
    files = {PAY: acls("User:led", "{allow: READ, topics: [payments.a]}", "{allow: READ, topics: [payments.b]}")}
    assert breaches(files) == [f"{PAY} principal User:led of ledger+platform"]


def test_everybody_is_a_principal_of_whoever_owns_every_one() -> None:
    files = {PAY: acls('"User:*"', "{allow: READ, topics: [payments.a]}")}
    assert breaches(files) == [f"{PAY} principal User:* of platform"]


def test_a_file_of_no_team_may_name_only_what_nobody_owns() -> None:
    rules = ("{allow: READ, topics: [payments.orders]}", "{allow: READ, topics: [nobodys]}")
    assert breaches({"stray.yaml": acls("User:pay-svc", *rules)}) == [
        "stray.yaml principal User:pay-svc of payments+platform",
        "stray.yaml resource READ TOPIC payments.orders of payments",
    ]


def test_a_topic_of_another_team_cannot_be_declared() -> None:
    topics = document("Topics", "  topics: [{name: ledger.v3}, {name: payments.a}, {name: nobodys}]")
    assert breaches({PAY: topics}) == [f"{PAY} topic TOPIC ledger.v3 of ledger"]


def test_a_topic_that_nobody_owns_may_be_declared_and_not_deleted() -> None:
    topics = document("Topics", "  topics: [{name: nobodys, absent: true}]")
    assert breaches({PAY: topics}) == [f"{PAY} unowned deletion of topic nobodys of nobody"]
    own = document("Topics", "  topics: [{name: __consumer_offsets}]")
    assert breaches({PAY: own}) == [f"{PAY} unowned topic __consumer_offsets of nobody"]


CONSENT = "{{to: payments, operations: [READ], topics: [ledger.v2], expires: {day}}}"


@pytest.mark.parametrize(("day", "left"), [("2027-01-01", 0), ("2026-12-31", 1)])
def test_a_consent_of_the_owner_counts_through_its_last_day(day: str, left: int) -> None:
    owners = OWNERS.replace("groups: {prefix: led}", f"consents: [{CONSENT.format(day=day)}]")
    files = {PAY: acls("User:pay-svc", "{allow: READ, topics: [ledger.v2]}")}
    assert len(breaches(files, owners)) == left


@pytest.mark.parametrize(
    "rule",
    ["{allow: WRITE, topics: [ledger.v2]}", "{allow: ALL, topics: [ledger.v2]}", "{allow: READ, topics: [ledger.v3]}"],
)
def test_a_consent_covers_no_more_than_it_says(rule: str) -> None:
    owners = OWNERS.replace("groups: {prefix: led}", f"consents: [{CONSENT.format(day='2027-01-31')}]")
    assert len(breaches({PAY: acls("User:pay-svc", rule)}, owners)) == 1


def given(team: str) -> str:
    spec = f"  consents: [{{team: {team}, to: payments, operations: ALL, topics: {{prefix: ledger.}}}}]"
    return document("Ownership", spec, "given")


def test_a_consent_in_the_owners_file_counts() -> None:
    files = {PAY: acls("User:pay-svc", "{allow: READ, topics: [ledger.v2]}"), "teams/ledger/c.yaml": given("ledger")}
    assert breaches(files) == []


@pytest.mark.parametrize("file", ["teams/payments/c.yaml", "teams/ledger/deeper/c.yaml"])
def test_a_consent_elsewhere_does_not_count_and_is_told(file: str) -> None:
    files = {PAY: acls("User:pay-svc", "{allow: READ, topics: [ledger.v2]}"), file: given("ledger")}
    assert sorted(breaches(files)) == sorted(
        [f"{PAY} resource READ TOPIC ledger.v2 of ledger", f"{file} consent of ledger"]
    )


def test_nobody_can_consent_for_another_owner() -> None:
    files = {PAY: acls("User:pay-svc", "{allow: READ, topics: [ledger.v2]}"), "platform.yaml": given("platform")}
    assert breaches(files) == [f"{PAY} resource READ TOPIC ledger.v2 of ledger"]


def test_owners_in_a_file_of_a_team_are_told() -> None:
    owners = document("Ownership", "  owners: [{team: payments, topics: {prefix: ledger.}}]", "mine")
    assert breaches({PAY: owners}) == [f"{PAY} owners of nobody"]


def test_what_several_teams_own_is_each_ones() -> None:
    owners = OWNERS + "    - {team: payments, topics: {prefix: ledger.shared.}}\n"
    rules = ("{allow: READ, topics: [ledger.shared.a]}", "{allow: READ, topics: [ledger.other]}")
    assert breaches({PAY: acls("User:pay-svc", *rules)}, owners) == [
        f"{PAY} resource READ TOPIC ledger.other of ledger"
    ]


def test_without_owners_everything_is_permitted() -> None:
    manifests = load([Source("cluster.yaml", CLUSTER), Source(PAY, acls("User:x", "{allow: ALTER, cluster: true}"))])
    assert Ownership(()).breaches(desired_state(manifests, "prod", DAY)) == ()


def test_a_quota_is_its_users() -> None:
    theirs = document("Quotas", "  quotas:\n    - {user: [pay-a, led, nobody], limits: {request_percentage: 1}}")
    default = document("Quotas", "  quotas:\n    - {user: {default: true}, limits: {request_percentage: 1}}", "b")
    owners = OWNERS.replace("principals: {any: true}", "principals: [User:platform]")
    assert breaches({"teams/payments/quotas.yaml": theirs, "teams/payments/default.yaml": default}, owners) == [
        "teams/payments/default.yaml shared quota of default user of nobody",
        "teams/payments/quotas.yaml principal User:led of ledger",
        "teams/payments/quotas.yaml unowned quota of user nobody of nobody",
    ]


def test_the_configs_of_a_group_are_its_owners() -> None:
    names = "[payments.a, ledger.a, nobodys]"
    theirs = document(
        "GroupConfigs", f"  groups:\n    - {{name: {names}, configs: {{share.isolation.level: read_committed}}}}"
    )
    assert breaches({"teams/payments/groups.yaml": theirs}) == [
        "teams/payments/groups.yaml group GROUP ledger.a of ledger",
        "teams/payments/groups.yaml unowned config of group nobodys of nobody",
        "teams/payments/groups.yaml unowned config of group payments.a of nobody",
    ]


def test_the_consents_in_use_are_named_with_their_reason() -> None:
    given = (
        "{team: ledger, to: payments, operations: [READ], topics: [ledger.v2], reason: settlement reads the ledger}",
        "{team: ledger, to: payments, operations: [READ], topics: [ledger.v3]}",
    )
    files = {
        "cluster.yaml": CLUSTER,
        "ownership.yaml": document("Ownership", f"  owners:{OWNERS}", "teams"),
        "teams/ledger/own.yaml": document("Ownership", "  consents:\n" + "".join(f"    - {one}\n" for one in given)),
        PAY: acls("User:pay-svc", "{allow: READ, topics: [ledger.v2, payments.orders]}"),
    }
    manifests = load(Source(path, text) for path, text in files.items())
    rules = ownerships_of(manifests, "prod", DAY)[0]
    desired = desired_state(manifests, "prod", DAY)
    assert rules.breaches(desired) == ()
    [line] = consent_lines(rules.used_consents(desired))
    assert line == (
        "consent  teams/ledger/own.yaml:6:26: ledger lets files of payments declare READ on topic ledger.v2: "
        "`settlement reads the ledger`"
    )


def test_a_consent_to_a_part_is_in_use_only_where_every_owner_consents() -> None:
    owners = OWNERS + "    - {team: platform, topics: {prefix: ledger.audit.}}\n"
    consent = "  consents: [{team: %s, to: payments, operations: [READ], topics: {prefix: %s}}]"
    own = document("Ownership", consent % ("ledger", "ledger."), "own")
    others = document("Ownership", consent % ("platform", "ledger.audit."), "others")
    rules = acls("User:pay-svc", "{allow: READ, topics: {prefix: ledger.}}")
    for more, used in (({}, 0), ({"platform.yaml": others}, 2)):
        files = {"cluster.yaml": CLUSTER, "ownership.yaml": document("Ownership", f"  owners:{owners}", "teams")}
        texts = {**files, "teams/ledger/own.yaml": own, PAY: rules, **more}
        manifests = load(Source(path, text) for path, text in texts.items())
        judged, wanted = ownerships_of(manifests, "prod", DAY)[0], desired_state(manifests, "prod", DAY)
        assert (len(judged.used_consents(wanted)), len(judged.breaches(wanted))) == (used, 0 if used else 1)


@pytest.mark.parametrize(
    ("ends", "until", "told"),
    [
        (("2027-02-01", "2027-03-01"), "", ["2027-03-01"]),
        (("2027-03-01", "2027-02-01"), "", ["2027-03-01"]),
        (("2027-02-01", "2027-03-01"), ", expires: 2027-02-20", []),
        (("2027-02-01",), ", expires: 2027-02-20", ["2027-02-01"]),
        (("2027-02-01",), ", expires: 2027-02-01", []),
        (("2027-02-01", None), "", []),
        ((None,), "", []),
    ],
)
def test_a_use_is_told_of_the_consent_that_ends_last_and_before_it(
    ends: tuple[str | None, ...], until: str, told: list[str]
) -> None:
    given = (
        f"{{team: ledger, to: payments, operations: [READ], topics: [ledger.v2]{f', expires: {end}' if end else ''}}}"
        for end in ends
    )
    files = {
        "cluster.yaml": CLUSTER,
        "ownership.yaml": document("Ownership", f"  owners:{OWNERS}", "teams"),
        "teams/ledger/own.yaml": document("Ownership", "  consents:\n" + "".join(f"    - {one}\n" for one in given)),
        PAY: acls("User:pay-svc", f"{{allow: READ, topics: [ledger.v2]{until}}}"),
    }
    manifests = load(Source(path, text) for path, text in files.items())
    lapsing = ownerships_of(manifests, "prod", DAY)[0].outlasting(desired_state(manifests, "prod", DAY))
    assert [str(consent.expires) for consent in lapsing] == told
    assert {place.file for places in lapsing.values() for place in places} == ({PAY} if told else set())


def test_of_many_consents_the_first_few_are_shown_and_each_that_leaves_a_breach() -> None:
    """Those that only say who agreed must not stand between a plan and its verdict."""
    origins = [Origin("own.yaml", line, 1) for line in range(1, 25)]
    many = [OwnerConsent("ledger", "pay", frozenset({AclOperation.READ}), (), origin) for origin in origins]
    lines = list(consent_lines(many))
    assert len(lines) == 4
    assert lines[-1] == "consent  and 21 more of 24 consents in use; --expand shows each"
    assert len(list(consent_lines(many, expand=True))) == 24
    assert len(list(consent_lines(many[:4]))) == 4, "a line that says one more could show it"
    lapsing = dict.fromkeys(many[-5:], (Origin("teams/pay/a.yaml", 7, 1),))
    lines = list(consent_lines(many, lapsing=lapsing))
    assert ["is a breach" in line for line in lines] == [True] * 5 + [False] * 4


def test_teams_are_the_owners_that_they_stand_for() -> None:
    short = (
        '{teams: {pay: {prefix: [pay., pay-], principals: {prefix: "User:pay-"}}, log: {prefix: log., files: l.yaml}}}'
    )
    kinds = ("topics", "groups", "transactionalIds")
    resources = ", ".join(f"{kind}: {{prefix: [pay., pay-]}}" for kind in kinds)
    logs = ", ".join(f"{kind}: {{prefix: log.}}" for kind in kinds)
    long = (
        f'{{owners: [{{team: pay, files: teams/pay/**, principals: {{prefix: "User:pay-"}}, {resources}}}, '
        f"{{team: log, files: l.yaml, {logs}}}]}}"
    )
    head = "apiVersion: reconciler/v1\nkind: Ownership\nmetadata: {name: o}\nspec: "
    cluster = "\n---\napiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n"
    found = [
        [(one.team, one.files, one.principals, set(one.patterns)) for one in owners_of(load([source]), "c")[0]]
        for source in (Source("o.yaml", head + text + cluster) for text in (short, long))
    ]
    assert found[0] == found[1]


HANDED_OVER = (
    f"{OWNERS}    - {{team: orders, files: teams/orders/**, principals: [User:pay-o], topics: [payments.o]}}\n"
)
ORDERS = "teams/orders/acls.yaml"


@pytest.mark.parametrize(
    ("file", "principal", "names", "expected"),
    [
        (ORDERS, "User:pay-o", "[payments.o]", []),
        (ORDERS, "User:pay-o", "[payments.i]", ["resource READ TOPIC payments.i of payments"]),
        (PAY, "User:pay-svc", "[payments.o]", ["resource READ TOPIC payments.o of orders"]),
        (PAY, "User:pay-svc", "{prefix: payments.}", ["resource READ TOPIC PREFIXED payments. of orders"]),
        (PAY, "User:pay-svc", "{prefix: payments.i}", []),
        (PAY, "User:pay-o", "[payments.i]", ["principal User:pay-o of orders+platform"]),
    ],
)
def test_the_most_exact_item_of_ownership_hands_over(
    file: str, principal: str, names: str, expected: list[str]
) -> None:
    text = acls(principal, f"{{allow: READ, topics: {names}}}")
    assert breaches({file: text}, HANDED_OVER) == [f"{file} {breach}" for breach in expected]


def test_a_topic_that_was_handed_over_is_declared_by_its_new_owner() -> None:
    topics = document("Topics", "  topics: [{name: payments.o, absent: true}]")
    assert breaches({ORDERS: topics}, HANDED_OVER) == []
    assert breaches({PAY: topics}, HANDED_OVER) == [f"{PAY} topic TOPIC payments.o of orders"]


def test_a_prefix_that_reaches_what_was_handed_over_needs_a_consent_to_that_only() -> None:
    consent = "{team: orders, to: payments, operations: [READ], topics: [payments.o]}"
    files = {
        PAY: acls("User:pay-svc", "{allow: READ, topics: {prefix: payments.}}"),
        "teams/orders/consents.yaml": document("Ownership", f"  consents: [{consent}]", "consents"),
    }
    assert breaches(files, HANDED_OVER) == []
    owners = document("Ownership", f"  owners:{HANDED_OVER}", "teams")
    manifests = load(Source(*one) for one in {"cluster.yaml": CLUSTER, "o.yaml": owners, PAY: files[PAY]}.items())
    (breach,) = ownerships_of(manifests, "prod", DAY)[0].breaches(desired_state(manifests, "prod", DAY))
    assert message(breach) == (
        "a file of payments declares READ on every topic starting with payments., "
        "which reaches topic payments.o of orders"
    )
    assert consent in advice(breach)


def test_of_teams_that_all_own_every_name_there_is_one_set() -> None:
    origin, everyone = Origin("o.yaml", 1, 1), NameSelector(any_name=True)
    topic = ResourcePattern(ResourceType.TOPIC, "*")
    owners = [Owner(team, origin, principals=everyone, patterns=(topic,)) for team in ("a", "b")]
    owners.append(Owner("c", origin, principals=NameSelector(("User:c",)), patterns=()))
    people, patterns = OwnedPrincipals(owners), OwnedPatterns(owners)
    assert people.owners("User:x") == people.owners("User:*") == {"a", "b"}
    assert people.owners("User:x") is people.owners("User:y") is people.owners("User:*")
    assert people.owners("User:c") == {"a", "b", "c"}
    named = [patterns.owners(ResourcePattern(ResourceType.TOPIC, name)) for name in ("x", "y")]
    assert named[0] == {"a", "b"}
    assert named[0] is named[1]
    assert patterns.owners(ResourcePattern(ResourceType.USER, "User:c")) == {"a", "b", "c"}
