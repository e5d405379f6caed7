"""What each lint rule says of which bindings: its words and evidence, by the rule's definition."""

import datetime

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.lint import findings, rule_of
from reconciler.access.lint.rule import LintState
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.desired import Declaration, Expiry, Origin
from tests.property.access_naive import Cluster, operations
from tests.unit.access.linting import lint
from tests.unit.access.test_lint_definitions import VERSION, effect, of
from tests.worlds import binding, bindings

_O, _T = AclOperation, ResourceType
TODAY = datetime.date(2026, 3, 1)


def told(*texts: str, rule: str, **facts: object) -> list[tuple[str, ...]]:
    """What one rule says of some bindings, without those that it names elsewhere."""
    chosen = rule_of(rule)
    assert chosen is not None
    state = LintState(Authorizer(bindings(*texts)), **facts)  # type: ignore[arg-type]
    return [(str(one.binding), one.message, one.advice, *one.evidence) for one in findings(state, [chosen])]


NAME_PRINCIPALS, LEGAL = "name each principal", "write a legal name"


@pytest.mark.parametrize(
    ("principal", "problem"),
    [
        ("User:a", None),
        ("User:*", None),
        ("nobody", None),
        ("User:team-*", ("'User:team-*' is not a pattern: Kafka knows only User:* and exact names", NAME_PRINCIPALS)),
        ("Group:*", ("'Group:*' is not a pattern: Kafka knows only User:* and exact names", NAME_PRINCIPALS)),
        ("User:a\t", ("'User:a\\t' has spaces at an end, and Kafka does not trim them", "write it without them")),
        ("User:\ta", ("'User:\\ta' has spaces at an end, and Kafka does not trim them", "write it without them")),
        ("\tUser:a", ("'\\tUser:a' has spaces at an end, and Kafka does not trim them", "write it without them")),
        (
            "Group:a",
            (
                "connections are of type User, not 'Group:a', unless you have a custom principal builder",
                "name users, or keep it if your brokers have such a builder",
            ),
        ),
    ],
)
def test_principals_that_no_connection_has(principal: str, problem: tuple[str, str] | None) -> None:
    found = told(f"TOPIC:L:a {principal}@* ALLOW READ", rule="KA005")
    assert [one[1:] for one in found] == ([] if problem is None else [problem])


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("TOPIC:L:a", None),
        ("TOPIC:P:a", None),
        ("TOPIC:L:*", None),
        ("GROUP:L:*", None),
        ("CLUSTER:L:*", None),
        ("CLUSTER:P:kafka", None),
        ("TOPIC:L:pay.*", ("no TOPIC can have such a name", "Kafka has no globs: write PREFIXED pay.")),
        ("TOPIC:P:pay*", ("no TOPIC can have such a name", "Kafka has no globs: write PREFIXED pay")),
        ("TOPIC:P:*", ("no TOPIC can have such a name", "write LITERAL *")),
        ("TOPIC:L:a:b", ("no TOPIC can have such a name", LEGAL)),
        ("TOPIC:L:*a", ("no TOPIC can have such a name", LEGAL)),
        ("TOPIC:L:..", ("no TOPIC can have such a name", LEGAL)),
        ("CLUSTER:L:a*", ("no CLUSTER can have such a name", "the cluster is called kafka-cluster")),
        ("GROUP:P:*", ("the asterisk in '*' is a letter here, not a wildcard", "write LITERAL * if that is meant")),
        ("GROUP:L:g*", ("the asterisk in 'g*' is a letter here, not a wildcard", "write PREFIXED g if that is meant")),
        ("GROUP:P:g*", ("the asterisk in 'g*' is a letter here, not a wildcard", "write PREFIXED g if that is meant")),
    ],
)
def test_patterns_that_match_nothing_or_not_what_is_meant(where: str, problem: tuple[str, str] | None) -> None:
    found = told(f"{where} User:a@* ALLOW DESCRIBE", rule="dead-pattern")
    assert [one[1:] for one in found] == ([] if problem is None else [problem])


def test_the_cluster_is_named_once_for_altering_it() -> None:
    held = [
        f"CLUSTER:L:kafka-cluster {who} {what}"
        for who, what in (
            ("User:a@*", "ALLOW ALTER"),
            ("User:a@*", "ALLOW ALTER_CONFIGS"),
            ("User:a@10.0.0.1", "ALLOW ALTER_CONFIGS"),
            ("User:b@*", "ALLOW ALL"),
            ("User:c@*", "ALLOW ALTER_CONFIGS"),
            ("User:d@*", "ALLOW CREATE"),
            ("User:e@*", "DENY ALTER"),
        )
    ]
    alter = "who may ALTER the cluster may change ACLs, and so grant itself anything"
    configs = "who may ALTER_CONFIGS on the cluster may add a listener on which it logs in as anybody"
    advice = "keep this to those who administer the cluster"
    expected = [(held[0], alter), (held[2], configs), (held[3], alter), (held[4], configs)]
    found = told(*held, "TOPIC:L:a User:f@* ALLOW ALTER", rule="cluster-alter")
    assert sorted(found) == sorted((str(binding(text)), message, advice) for text, message in expected)


def test_changing_every_resource_and_everybody() -> None:
    for operation in AclOperation:
        if operation < _O.ALL:
            continue
        changing = operation in (_O.WRITE, _O.DELETE, _O.ALTER, _O.ALTER_CONFIGS)
        found = told(f"TOPIC:L:* User:a@* ALLOW {operation.name}", rule="wildcard-write")
        message = f"{operation.name} on every TOPIC, also on those not yet created"
        assert [one[1:] for one in found] == ([(message, "name the resources, or a prefix")] if changing else [])
        for other in ("TOPIC:P:* User:a@* ALLOW", "TOPIC:L:a User:a@* ALLOW", "TOPIC:L:* User:a@* DENY"):
            assert not told(f"{other} {operation.name}", rule="wildcard-write")
    everybody = told(
        "TOPIC:L:a User:*@* ALLOW READ",
        "TOPIC:L:b User:*@* DENY READ",
        "TOPIC:L:a User:a@* ALLOW READ",
        rule="everybody",
    )
    text = "everybody who can connect gets READ, principals of every type and ANONYMOUS included"
    assert [one[1:] for one in everybody] == [(text, "name the principals who need it")]


def test_reading_every_topic_and_joining_every_group() -> None:
    for operation in (one for one in AclOperation if one >= _O.ALL):
        reading = operation is _O.READ
        for kind, noun in (("TOPIC", "topics"), ("GROUP", "groups")):
            found = told(f"{kind}:L:* User:a@* ALLOW {operation.name}", rule="wildcard-read")
            assert len(found) == reading
            assert all(f"{operation.name} on every {kind}: " in one[1] and noun in one[2] for one in found)
            for other in ("P:* User:a@* ALLOW", "L:a User:a@* ALLOW", "L:* User:a@* DENY"):
                assert not told(f"{kind}:{other} {operation.name}", rule="wildcard-read")
        assert not told(f"CLUSTER:L:* User:a@* ALLOW {operation.name}", rule="wildcard-read")
    whole = bindings("TOPIC:L:* User:root@* ALLOW READ", "TOPIC:L:* User:a@* ALLOW READ")
    found_by = [one for one in lint(Authorizer(whole, ["User:root"])) if one.rule.name == "wildcard-read"]
    assert [one.binding.entry.principal for one in found_by if one.binding is not None] == ["User:a"]


def test_prefixes_that_end_inside_a_word() -> None:
    topics = frozenset(
        {"pay", "pay.x", "payroll", "pay2", "pay-x", "pax", "paz", "payé"} | {f"payx{n}" for n in range(12)}
    )
    (found,) = told("TOPIC:P:pay User:a@* ALLOW READ", rule="open-prefix", topics=topics)
    message = "the prefix 'pay' ends inside a word: it matches payx as well as pay.x"
    assert found[1:3] == (message, "end it with a delimiter: pay.")
    assert found[3:] == tuple(sorted(name for name in topics if name.startswith("pay") and name[3:4].isalnum())[:10])
    assert len(told("TOPIC:P:pay User:a@* ALLOW READ", rule="open-prefix")) == 1
    assert [one[3:] for one in told("GROUP:P:pay User:a@* ALLOW READ", rule="open-prefix", topics=topics)] == [()]
    for text in (
        *(f"TOPIC:P:pay{mark} User:a@* ALLOW READ" for mark in "._-:/"),
        "CLUSTER:P:k User:a@* ALLOW READ",
        "TOPIC:L:pay User:a@* ALLOW READ",
        "TOPIC:P:pay User:a@* DENY READ",
    ):
        assert not told(text, rule="open-prefix")


def test_what_no_request_asks_for() -> None:
    for kind in (_T.TOPIC, _T.GROUP, _T.CLUSTER, _T.DELEGATION_TOKEN):
        known = sorted({one.name for one in operations(Cluster((), (), False, (4, 3)), kind)} | {"ALL"})
        for operation in (one for one in AclOperation if one >= _O.ALL):
            for permission in ("ALLOW", "DENY"):
                text = f"{kind.name}:L:kafka-cluster User:a@* {permission} {operation.name}"
                alive = effect(binding(text))
                message = f"{kind.name} has no operation {operation.name}: no request asks for it"
                expected = [] if alive else [(message, f"it has {', '.join(known)}")]
                assert [one[1:] for one in told(text, rule="KA008")] == expected


def test_hosts_brokers_and_what_evades() -> None:
    hosts = {"*": 0, "10.0.0.1": 0, "localhost": 1, "10.0.0.0/8": 1, "10.0.0.0/33": 1, "::1": 1, "010.0.0.1": 1}
    for host, dead in hosts.items():
        rule = rule_of("dead-host")
        assert rule is not None
        one = bindings(f"TOPIC:L:a User:a@{host} ALLOW READ")
        hits = findings(LintState(Authorizer(one, kafka_version=VERSION)), [rule])
        assert len(hits) == (0 if host == "10.0.0.0/8" else dead)
        hits = findings(LintState(Authorizer(one, kafka_version=(4, 3))), [rule])
        message = f"no connection ever comes from {host!r}: Kafka compares addresses as Java prints them"
        advice = "write the address itself, IPv6 in full and lower case, or leave the host out"
        assert [(hit.message, hit.advice) for hit in hits] == [(message, advice)] * dead
    broken = told(
        "TOPIC:L:a nobody@* ALLOW READ", "GROUP:L:#a b@* ALLOW READ", "TOPIC:L:a User:a@* ALLOW READ", rule="KA006"
    )
    text = ("requests that meet this make brokers fail or hang", "remove it first, as a super user")
    assert [one[1:] for one in broken] == [text, text]
    evaded = told(
        *(
            f"{kind.name}:{how}:* User:a@* {what} READ"
            for kind in _T
            if kind >= _T.TOPIC
            for how in "LP"
            for what in ("ALLOW", "DENY")
        ),
        "GROUP:L:a User:a@* DENY READ",
        rule="KA019",
    )
    kinds = [kind for kind in _T if kind > _T.TOPIC and kind is not _T.CLUSTER]
    assert [one[1:] for one in evaded] == [
        (
            f"brokers do not apply this to a {kind.name} whose name begins with '*' and goes on, such as '*x'",
            "deny PREFIXED * too",
            "*x",
        )
        for kind in kinds
    ]


def test_half_a_grant() -> None:
    halves = {
        "TOPIC:L:t User:a@* ALLOW READ": ("READ", "READ on any GROUP", "GROUP"),
        "TRANSACTIONAL_ID:L:t User:a@* ALLOW WRITE": ("WRITE", "WRITE on any TOPIC", "TOPIC"),
    }
    for half, (operation, needed, kind) in halves.items():
        advice = f"grant {needed.replace('any', 'its')}, or remove this"
        if kind == "GROUP":
            advice += "; a consumer that assigns partitions itself and commits nothing needs no group"
        message = f"User:a has {operation} here, and no {needed}"
        missing = [(str(binding(half)), message, advice)]
        for other, lacks in (
            (f"{kind}:L:g User:a@* ALLOW {operation}", False),
            (f"{kind}:P:g User:*@* ALLOW ALL", False),
            (f"{kind}:L:g User:b@* ALLOW {operation}", True),
            (f"{kind}:L:g User:a@* ALLOW DELETE", True),
            (f"{kind}:L:g User:a@10.0.0.1 ALLOW {operation}", True),
            (f"{kind}:L:g User:a@* DENY {operation}", True),
        ):
            found = [one for one in told(half, other, rule="half-a-grant") if one[0] == missing[0][0]]
            assert found == (missing if lacks else []), other
        hosted = half.replace("@*", "@10.0.0.1")
        near = [f"{kind}:L:g User:a@{host} ALLOW {operation}" for host in ("10.0.0.1", "10.0.0.2")]
        assert [
            len([one for one in told(hosted, text, rule="KA013") if one[0] == str(binding(hosted))]) for text in near
        ] == [0, 1]
        rule = rule_of("KA013")
        assert rule is not None
        for setting, count in ((False, 1), (True, 0), (None, 0)):
            assert len(findings(LintState(Authorizer(bindings(half), (), setting)), [rule])) == count
        assert not told(half.replace("User:a", "User:*"), rule="KA013")
        twice = [half, half.replace(":t ", ":u ")]
        assert len(told(*twice, rule="KA013")) == 2
    for text in ("TOPIC:L:t User:a@* ALLOW WRITE", "GROUP:L:t User:a@* ALLOW READ", "TOPIC:L:t User:a@* DENY READ"):
        assert not told(text, rule="KA013")


def test_what_is_not_known_to_exist() -> None:
    held = (
        "TOPIC:L:gone User:a@* ALLOW READ",
        "TOPIC:L:gone User:a@* DENY READ",
        "TOPIC:L:there User:a@* ALLOW READ",
        "TOPIC:P:gone User:a@* ALLOW READ",
        "TOPIC:L:* User:a@* ALLOW READ",
        "GROUP:L:gone User:*@* ALLOW READ",
        "GROUP:L:there User:z@* ALLOW READ",
    )
    message = ("there is no topic 'gone'", "remove it, or create the topic")
    assert sorted(told(*held, rule="KA014", topics=frozenset({"there"}))) == sorted(
        (str(binding(text)), *message) for text in held[:2]
    )
    assert len(told(*held, rule="KA014", topics=frozenset())) == 3
    assert not told(*held, rule="KA014")
    unknown = ("User:z is not among the known principals", "remove it, or add the principal to the known ones")
    assert told(*held, rule="KA015", principals=frozenset({"User:a"})) == [(str(binding(held[6])), *unknown)]
    assert len(told(*held, rule="KA015", principals=frozenset())) == 6
    assert not told(*held, rule="KA015")


def test_dates_that_are_past_and_that_are_near() -> None:
    held = [binding(f"TOPIC:L:t{day + 3} User:a@* ALLOW READ") for day in range(-3, 34)]
    ends = {one: Expiry(TODAY + datetime.timedelta(day)) for day, one in enumerate(held, -3)}
    notes = {one: Declaration(Origin("a.yaml", 1, 1), expires=end) for one, end in ends.items()}
    plain = binding("TOPIC:L:never User:a@* ALLOW READ")
    authorizer = Authorizer(
        {
            **notes,
            plain: Declaration(Origin("a.yaml", 2, 1)),
            binding("TOPIC:L:u User:a@* ALLOW READ"): Origin("b", 1, 1),
        }
    )
    for soon in (0, 5, 30):
        found = lint(authorizer, as_of=TODAY, soon=datetime.timedelta(soon))
        over = {one for one, end in ends.items() if end.over(TODAY)}
        assert of("KA016", found).keys() == over
        assert {str(hit.message) for hit in of("KA016", found).values()} == {
            f"it ended {ends[one].past}" for one in over
        }
        near = {
            one
            for day, one in enumerate(held, -3)
            if one not in over and ends[one].over(TODAY + datetime.timedelta(soon))
        }
        assert of("KA017", found).keys() == near
        assert all(hit.message == f"it is declared until {ends[one]}" for one, hit in of("KA017", found).items())
        assert all(hit.origin == Origin("a.yaml", 1, 1) for hit in of("KA016", found).values())
    assert not of("KA016", lint(authorizer))
    assert not of("KA017", lint(authorizer))


def test_spellings_that_differ_by_case() -> None:
    held = (
        "TOPIC:L:Pay User:a@* ALLOW READ",
        "TOPIC:L:pay User:A@* ALLOW READ",
        "TOPIC:P:PAY User:a@* ALLOW READ",
        "GROUP:L:pAY User:b@* ALLOW READ",
        "TRANSACTIONAL_ID:L:x User:b@* ALLOW WRITE",
        "TRANSACTIONAL_ID:L:X User:b@* ALLOW WRITE",
    )
    found = told(*held, rule="case")
    pairs = {(first, other) for *_, first, other in found}
    assert pairs == {("PAY", "Pay"), ("PAY", "pay"), ("User:A", "User:a"), ("X", "x")}
    words = {other: message for _, message, _, _, other in found}
    assert words["Pay"] == "the TOPIC name 'Pay' differs from 'PAY' only by case: for Kafka they are two"
    assert words["User:a"] == "the principal 'User:a' differs from 'User:A' only by case: for Kafka they are two"
    assert words["x"] == "the TRANSACTIONAL_ID name 'x' differs from 'X' only by case: for Kafka they are two"
    assert {one[2] for one in found} == {"write both alike if one is meant"}
    authorizer = Authorizer(bindings(*held))
    for one in of("KA018", [hit for hit in lint(authorizer) if "name 'x'" in hit.message]).values():
        assert one.related == (binding(held[5]),)


def test_names_that_look_alike_are_told_where_they_are_used() -> None:
    rule = rule_of("confusable")
    assert rule is not None
    lower, digit = "TOPIC:L:paylng User:a@* ALLOW READ", "TOPIC:L:pay1ng User:a@* ALLOW READ"
    (found,) = findings(LintState(Authorizer(bindings(lower, digit))), [rule])
    first, second = found.evidence
    assert found.binding is not None
    assert found.binding.pattern.name == second
    assert [one.pattern.name for one in found.related] == [first]
    assert found.message == f"the topic {second} looks like {first}, and is another topic"
    assert found.advice == "write the name that is meant"
    # The first spelling is the reference where it is used; where it only exists, the other one is told of alone.
    for text, other in ((lower, "pay1ng"), (digit, "paylng")):
        hits = findings(LintState(Authorizer(bindings(text)), topics=frozenset({other})), [rule])
        assert [(hit.binding, hit.related, hit.evidence) for hit in hits] == (
            [(binding(text), (), (first, second))] if other == first else []
        )
    assert not findings(
        LintState(Authorizer(bindings("GROUP:L:paylng User:a@* ALLOW READ")), topics=frozenset({"pay1ng"})), [rule]
    )
    principal = LintState(
        Authorizer(bindings("GROUP:L:g User:paylng@* ALLOW READ")), principals=frozenset({"User:pay1ng"})
    )
    (known,) = findings(principal, [rule])
    assert known.message == "the principal User:paylng looks like User:pay1ng, and is another principal"


def test_scripts_that_nobody_writes_together() -> None:
    found = told("GROUP:L:p\u0430y User:p\u0430y@* ALLOW READ", "GROUP:L:pay User:a@* ALLOW READ", rule="KA021")
    assert len(found) == 2
    assert {one[2] for one in found} == {"type the name again in one script"}
    group, principal = sorted(message for _, message, _ in found)
    assert group.startswith("the group ")
    assert principal.startswith("the principal ")
    assert group.endswith((" mixes letters of Cyrillic and Latin", " mixes letters of Latin and Cyrillic"))


def test_messages_count_what_covers_together() -> None:
    held = ["TOPIC:L:a User:a@* ALLOW DESCRIBE", "TOPIC:L:a User:a@* ALLOW WRITE"]
    (one,) = told(*held, rule="redundant")
    assert one[1:] == (f"{binding(held[1])} already says this", "remove it: access stays the same")
    both = ["TOPIC:L:a User:a@* ALLOW WRITE", "TOPIC:L:a User:*@* DENY WRITE", "TOPIC:P:a User:*@* DENY DESCRIBE"]
    (two,) = told(*both, rule="shadowed")
    assert two[1].endswith(" and 1 more together denies everything that this allows")
    assert two[2] == "remove it, or narrow the DENY"
    (idle,) = told("TOPIC:L:a User:a@* DENY READ", rule="idle-deny")
    assert idle[1:] == ("nothing allows what this denies", "remove it, unless it protects against later ALLOWs")
