"""Separation of duty: who could hold duties together, by which ways, and the least to take away."""

from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise, permutations, product
from math import comb
from random import Random
from typing import Any

import pytest

from reconciler.access import separation
from reconciler.access.assertion import AssertionOutcome, PrincipalSelection
from reconciler.access.authorizer import Authorizer
from reconciler.access.names import matches
from reconciler.access.reach import ACTS_AS, HopKind, Known, Reach
from reconciler.access.separation import Combinations, Separation, Separations, ways_of
from reconciler.model.acl import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AclBinding,
    AclOperation,
    OpaqueBinding,
    ResourceType,
)
from reconciler.model.desired import Control, Duty, Links, Origin, Through
from tests.property.reach_naive import POWERS, Edge, World, breaking
from tests.worlds import binding, bindings, pattern

_O = AclOperation
_HERE = Origin("duties.yaml", 5, 7)
KNOWN = Links((), {})
EVERYBODY = PrincipalSelection(None, frozenset())
PAY, APPROVE = (Duty((_O.WRITE,), (pattern(f"TOPIC:{name}"),)) for name in ("L:orders", "P:approvals."))
SEPARATE = {through: Separation((PAY, APPROVE), through) for through in Through}
CI = ["TOPIC:L:orders User:ci@* ALLOW WRITE", "TOPIC:P:approvals.eu User:appr@* ALLOW WRITE"]
PASS, FAIL, UNDECIDED = AssertionOutcome.PASS, AssertionOutcome.FAIL, AssertionOutcome.UNDECIDED


def controls(topic: str, acts: str) -> tuple[Control, ...]:
    return (Control((pattern(f"TOPIC:L:{topic}"),), acts, _HERE),)


def decided(
    held: Iterable[AclBinding],
    through: Through = Through.IDENTITY,
    links: Links = KNOWN,
    excluded: Iterable[str] = (),
    supers: Iterable[str] = (),
) -> Combinations:
    authorizer = Authorizer(held, supers)
    selection = PrincipalSelection(None, frozenset(excluded) | frozenset(supers))
    return Separations(authorizer, links).decide(SEPARATE[through], selection)


def who(found: Combinations) -> list[str]:
    return [one.principal for one in found.breaking]


@pytest.mark.parametrize(
    ("more", "kinds"),
    [
        ("USER:L:User:appr User:ci@* ALLOW CREATE_TOKENS", [HopKind.CREATE_TOKENS]),
        ("USER:P:User:ap User:ci@* ALLOW ALL", [HopKind.CREATE_TOKENS]),
        ("USER:L:User:appr User:ci@* ALLOW DESCRIBE_TOKENS", [HopKind.DESCRIBE_TOKENS]),
        ("DELEGATION_TOKEN:L:* User:ci@* ALLOW DESCRIBE", [HopKind.DESCRIBE_TOKENS]),
        ("CLUSTER:L:kafka-cluster User:ci@* ALLOW ALTER", [HopKind.ALTER]),
        ("CLUSTER:L:kafka-cluster User:ci@* ALLOW ALTER_CONFIGS", [HopKind.ALTER_CONFIGS]),
        ("CLUSTER:L:kafka-cluster User:ci@* ALLOW CLUSTER_ACTION", [HopKind.CLUSTER_ACTION]),
        ("TOPIC:L:connect-configs User:ci@* ALLOW WRITE", [HopKind.CONTROL]),
    ],
)
def test_each_way_to_act_as_somebody_else(more: str, kinds: list[HopKind]) -> None:
    links = Links(controls("connect-configs", "User:appr"), {})
    assert decided(bindings(*CI), links=links).outcome is PASS
    found = decided(bindings(*CI, more), links=links)
    assert (found.outcome, who(found)) == (FAIL, ["User:ci"])
    assert [hop.kind for hop in found.breaking[0].ways[1].hops] == kinds
    # Of these, only the right to change ACLs is a matter of a principal's own ACLs.
    own = decided(bindings(*CI, more), Through.ACL, links).outcome
    assert own is (FAIL if kinds == [HopKind.ALTER] else PASS)
    deny = binding(more.replace("ALLOW", "DENY").replace("User:ci@", "User:*@"))
    assert decided([*bindings(*CI, more), deny], links=links).outcome is PASS


def test_a_session_by_a_token_makes_no_other_token_and_obeyed_records_are_a_login() -> None:
    chain = bindings(
        *CI, "USER:L:User:b User:ci@* ALLOW CREATE_TOKENS", "USER:L:User:appr User:b@* ALLOW CREATE_TOKENS"
    )
    assert decided(chain).outcome is PASS
    through_topic = [*chain, binding("TOPIC:L:c User:b@* ALLOW WRITE")]
    assert who(decided(through_topic, links=Links(controls("c", "User:b"), {}))) == ["User:ci"]


def test_a_token_that_is_there_is_a_way_to_act_as_its_owner() -> None:
    """Who asked for it or renews it reads its secret without an ACL; a session by it reads no other token."""
    tokens = (("User:b", frozenset({"User:ci"})), ("User:root", frozenset({"User:b"})))
    authorizer = Authorizer([], ["User:root"])
    reach = Reach(authorizer.interpretations.both[0], Known.of(authorizer, Links(tokens=tokens)), Links(tokens=tokens))
    assert [row.principals for row in reach.reached("User:ci")] == [frozenset({"User:ci"}), frozenset({"User:b"})]
    assert reach.reached("User:b")[-1].principals is None
    assert [row.principals for row in reach.reached("User:other")] == [frozenset({"User:other"})]


def test_names_that_do_not_exist_and_denies_count() -> None:
    both = bindings("TOPIC:P:ord User:a@* ALLOW WRITE", "TOPIC:P:app User:a@* ALLOW WRITE")
    assert who(decided(both, Through.ACL)) == ["User:a"]
    assert decided([*both, binding("TOPIC:P:approvals. User:*@* DENY ALL")], Through.ACL).outcome is PASS
    half = decided([*both, binding("TOPIC:P:approvals.a User:*@* DENY ALL")], Through.ACL)
    assert half.breaking[0].ways[1].right.request.resource_name == "approvals."
    elsewhere = bindings("TOPIC:L:orders User:a@10.0.0.1 ALLOW WRITE", "TOPIC:P:approvals. User:a@10.0.0.2 ALLOW WRITE")
    assert who(decided(elsewhere, Through.ACL)) == ["User:a"]


def test_all_who_break_it_are_listed_and_one_stands_for_everybody_else() -> None:
    held = bindings(
        "TOPIC:L:orders User:*@* ALLOW WRITE", *(f"TOPIC:P:approvals. User:{n}@* ALLOW WRITE" for n in "abc")
    )
    assert who(decided(held, Through.ACL)) == ["User:a", "User:b", "User:c"]
    found = decided([*held, binding("TOPIC:L:approvals.x User:*@* ALLOW WRITE")], Through.ACL)
    assert next((one.principal, one.everybody) for one in found.breaking) == ("User:anyone-else", True)
    assert who(found)[1:] == ["User:a", "User:b", "User:c"]
    assert who(decided(held, Through.ACL, excluded=["User:a", "User:c"])) == ["User:b"]


def test_super_users_are_exempt_and_whoever_acts_as_one_is_not() -> None:
    held = bindings("USER:L:User:root User:ci@* ALLOW CREATE_TOKENS")
    assert who(decided(held, supers=["User:root"])) == ["User:ci"]
    assert decided([], supers=["User:root"]).outcome is PASS
    also = Separation((PAY, APPROVE), include_super_users=True)
    found = Separations(Authorizer([], ["User:root"]), Links()).decide(also, EVERYBODY)
    assert who(found) == ["User:root"]


def test_records_could_be_moved_by_others_and_the_trusted_move_none() -> None:
    held = bindings(
        "TOPIC:L:orders User:a@* ALLOW WRITE",
        "TOPIC:P:in User:a@* ALLOW WRITE",
        "TOPIC:L:in.x User:m@* ALLOW READ",
        "TOPIC:P:approvals. User:m@* ALLOW WRITE",
    )
    assert decided(held).outcome is PASS
    found = decided(held, Through.FLOW)
    assert who(found) == ["User:a"]
    (move,) = found.breaking[0].ways[1].right.moves
    assert (move.principal, move.request and move.request.resource_name) == ("User:m", "in.x")
    assert decided(held, Through.FLOW, excluded=["User:m"]).outcome is PASS


def test_readers_of_a_dead_letter_queue_read_what_the_share_group_reads() -> None:
    secret = Separation(
        (Duty((_O.READ,), (pattern("TOPIC:L:pii"),)), Duty((_O.WRITE,), (pattern("TOPIC:L:public"),))), Through.FLOW
    )
    held = bindings(
        "TOPIC:L:pii User:s@* ALLOW READ",
        "GROUP:L:share User:s@* ALLOW READ",
        "TOPIC:L:dlq.share User:a@* ALLOW READ",
        "TOPIC:L:public User:a@* ALLOW WRITE",
    )

    def found(letters: Mapping[str, str] | None, excluded: Iterable[str] = ()) -> Combinations:
        selection = PrincipalSelection(None, frozenset(excluded))
        return Separations(Authorizer(held), Links((), letters)).decide(secret, selection)

    assert found({}).outcome is PASS
    assert who(found({"share": "dlq.share"})) == ["User:a"]
    # The broker copies, whoever is trusted to read.
    assert who(found({"share": "dlq.share"}, ["User:s"])) == ["User:a"]
    assert found({"other": "dlq.share"}).outcome is PASS
    unknown = found(None)
    assert (unknown.outcome, unknown.breaking) == (UNDECIDED, ())
    assert "groups" in (unknown.reason or "")


def test_what_is_not_known_leaves_it_undecided() -> None:
    held = bindings("TOPIC:L:orders User:a@* ALLOW WRITE")
    doubtful = Separations(Authorizer(held, (), None), KNOWN).decide(SEPARATE[Through.ACL], EVERYBODY)
    assert (doubtful.outcome, {one.certain for one in doubtful.breaking}) == (UNDECIDED, {False})
    assert "allow.everyone.if.no.acl.found" in (doubtful.reason or "")
    both = [*held, *bindings("TOPIC:P:orders User:b@* ALLOW WRITE", "TOPIC:P:approvals. User:b@* ALLOW WRITE")]
    sure = Separations(Authorizer(both, (), None), KNOWN).decide(SEPARATE[Through.ACL], EVERYBODY)
    assert (sure.outcome, sure.breaking[0].principal, sure.breaking[-1].certain) == (FAIL, "User:b", False)
    assert "allow.everyone.if.no.acl.found" in (sure.reason or "")
    opaque = [OpaqueBinding("approvals.", "User:a", "*", 2, 4, None, 3)]
    unreadable = Separations(Authorizer(held, opaque=opaque), KNOWN).decide(SEPARATE[Through.ACL], EVERYBODY)
    assert (unreadable.outcome, who(unreadable)) == (UNDECIDED, ["User:a"])
    group = Authorizer([*held, binding("TOPIC:P:approvals. Group:g@* ALLOW WRITE")])
    links = Links((), {}, frozenset({"Group"}))
    member = Separations(group, links).decide(SEPARATE[Through.ACL], EVERYBODY)
    assert (member.outcome, who(member)) == (UNDECIDED, ["User:a"])
    assert "member" in (member.reason or "")


def test_the_least_to_take_away_is_the_least() -> None:
    """Two ways to approvals and one to orders: one binding is enough, and less does not do."""
    held = bindings(*CI, "TOPIC:L:approvals.eu User:ci@* ALLOW WRITE", "USER:L:User:appr User:ci@* ALLOW CREATE_TOKENS")
    authorizer = Authorizer(held)
    separations = Separations(authorizer, KNOWN)
    (one,) = separations.decide(SEPARATE[Through.IDENTITY], EVERYBODY).breaking
    fixed = separations.fixed(one, SEPARATE[Through.IDENTITY], EVERYBODY)
    assert fixed.fix == (held[0],)


def test_nobody_logs_in_by_a_name_that_no_broker_reads() -> None:
    held = bindings("TOPIC:L:orders nobody@* ALLOW WRITE", "TOPIC:L:orders User:a@* ALLOW WRITE")
    assert Known.of(Authorizer(held), KNOWN).principals == ("User:a",)


def test_what_takes_more_than_so_many_tries_has_no_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two bindings give the one right: each repair is judged, the first of them takes away both."""
    held = bindings(*CI, "TOPIC:P:approvals. User:ci@* ALLOW WRITE", "TOPIC:L:* User:ci@* ALLOW WRITE")
    separations = Separations(Authorizer(held), KNOWN)
    separate = SEPARATE[Through.ACL]
    (one,) = separations.decide(separate, EVERYBODY).breaking
    for most, fixed in ((64, True), (1, True), (0, False)):
        monkeypatch.setattr(separation, "_TRIED", dict.fromkeys(Through, most))
        assert (separations.fixed(one, separate, EVERYBODY).fix is not None) is fixed, most


def test_on_many_bindings_all_but_the_flow_of_records_still_has_its_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where records go is asked of everybody, for each binding anew."""
    held = bindings(*CI, "TOPIC:L:approvals.eu User:ci@* ALLOW WRITE")
    for most in (len(held), len(held) - 1):
        monkeypatch.setattr(separation, "_MANY", most)
        separations = Separations(Authorizer(held), KNOWN)
        for through, separate in SEPARATE.items():
            (one,) = separations.decide(separate, EVERYBODY).breaking
            fix = separations.fixed(one, separate, EVERYBODY).fix
            assert (fix is None) is (through is Through.FLOW and most < len(held)), through


_ON_TOPICS = ("READ", "WRITE")
POOL = [Edge(f"User:p{n}", what, topic) for n in range(5) for what in _ON_TOPICS for topic in "abc"]
POOL += [Edge(f"User:p{n}", "CREATE_TOKENS", f"User:p{m}") for n in range(5) for m in range(5) if n != m]
ADMINS = [Edge(f"User:p{n}", power) for n in range(5) for power in POWERS]
EVERY_EDGE = [*POOL, *ADMINS]
PRINCIPALS = tuple(f"User:p{n}" for n in range(5))


def acl_of(edge: Edge) -> AclBinding:
    if edge.what in POWERS:
        return binding(f"CLUSTER:L:kafka-cluster {edge.who}@* ALLOW {edge.what}")
    kind = "USER" if edge.what == "CREATE_TOKENS" else "TOPIC"
    return binding(f"{kind}:L:{edge.where} {edge.who}@* ALLOW {edge.what}")


def differences(world: World, duties: list[tuple[str, str]]) -> list[str]:
    """Where the closure and the simulation of one world differ, for every reach of a test."""
    authorizer = Authorizer([acl_of(edge) for edge in world.edges])
    declared = tuple(Control((pattern(f"TOPIC:L:{topic}"),), acts, _HERE) for topic, acts in world.controls.items())
    separations = Separations(authorizer, Links(declared, {}))
    wanted = tuple(Duty((AclOperation[what],), (pattern(f"TOPIC:L:{topic}"),)) for what, topic in duties)
    found = []
    for through in Through:
        selection = PrincipalSelection(None, world.trusted)
        together = separations.decide(Separation(wanted, through), selection)
        if set(who(together)) != (expected := breaking(world, duties, through.value)):
            found.append(f"{through}: {who(together)}, not {sorted(expected)}: {sorted(world.edges)} {world.controls}")
    return found


def test_the_closure_agrees_with_a_simulation_of_small_worlds() -> None:
    """Sampled, with a fixed seed; the long tests below try every world of a few edges."""
    rng, found = Random(4_711), []
    for _ in range(150):
        edges = rng.sample([*POOL, *(ADMINS if rng.random() < 0.5 else [])], rng.choice([4, 6, 8, 10]))
        control: dict[str, str] = rng.choice([{}, {"c": PRINCIPALS[4]}, {"a": PRINCIPALS[1]}])
        trusted = frozenset(rng.sample(PRINCIPALS, rng.choice([0, 0, 1])))
        world = World(PRINCIPALS, "abc", frozenset(edges), control, trusted)
        found += differences(world, [(rng.choice(["READ", "WRITE"]), rng.choice("abc")) for _ in range(2)])
    assert found == []


#: Patterns that are around, beside and equal to one another, and a name for each set of them that a name can match.
_TOPICS = ("L:a", "L:ab", "P:a", "P:ab", "L:b", "P:b", "L:*")
_NAMES = ("a", "a0", "ab", "ab0", "b", "b0", "z")
_USERS = ("L:User:a", "L:User:b", "P:User:", "P:User:a", "L:*")
#: Those whom ACLs name, and two that none does: they could act as one another.
_WHO = ("User:a", "User:b", "User:c", "User:x", "User:y")
_FROM = ("192.0.2.9", "10.0.0.1", "10.0.0.2")


#: Where the default is to allow, identities would be open to everybody.
_CLOSED = bindings(
    "CLUSTER:L:kafka-cluster User:a@* DENY DESCRIBE",
    *(
        f"{kind}:{text} User:a@* DENY {what}"
        for kind, what in (("USER", "DESCRIBE_TOKENS"), ("DELEGATION_TOKEN", "DESCRIBE"))
        for text in ("L:*", "P:*")
    ),
)


def _random_bindings(rng: Random) -> list[AclBinding]:
    texts = []
    for _ in range(rng.choice([3, 5, 7, 9])):
        by = rng.choice(["User:a", "User:b", "User:c", "User:*"])
        host = rng.choice(["*", "*", "*", "10.0.0.1"])
        rule = rng.choice(["ALLOW", "ALLOW", "ALLOW", "DENY"])
        what = rng.choice(["READ", "WRITE", "WRITE", "ALL"])
        if rng.random() < 0.2:
            texts.append(f"USER:{rng.choice(_USERS)} {by}@{host} {rule} CREATE_TOKENS")
        elif rng.random() < 0.03:
            texts.append(f"CLUSTER:L:kafka-cluster {by}@{host} {rule} ALTER")
        else:
            texts.append(f"TOPIC:{rng.choice(_TOPICS)} {by}@{host} {rule} {what}")
    return bindings(*texts)


def _asked_one_by_one(authorizer: Authorizer, controls: Mapping[str, str], trusted: frozenset[str]) -> World:
    """Every edge by a question to the authorizer, about names that patterns can tell apart."""

    def may(who: str, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        return any(authorizer.authorize(who, host, operation, kind, name).allowed for host in _FROM)

    kinds = ResourceType
    edges = {
        Edge(who, what, topic)
        for who in _WHO
        for what in _ON_TOPICS
        for topic in _NAMES
        if may(who, AclOperation[what], kinds.TOPIC, topic)
    }
    edges |= {
        Edge(who, "CREATE_TOKENS", other)
        for who in _WHO
        for other in _WHO
        if who != other and may(who, _O.CREATE_TOKENS, kinds.USER, other)
    }
    edges |= {Edge(who, "ALTER") for who in _WHO if may(who, _O.ALTER, kinds.CLUSTER, "kafka-cluster")}
    return World(_WHO, _NAMES, frozenset(edges), controls, trusted)


@pytest.mark.parametrize("default_allow", [False, True])
def test_prefixes_denies_hosts_and_names_that_no_acl_has_agree_with_single_questions(default_allow: bool) -> None:
    rng, seen = Random(90_210), dict.fromkeys(AssertionOutcome, 0)
    for number in range(150):
        authorizer = Authorizer([*_random_bindings(rng), *(_CLOSED if default_allow else [])], (), default_allow)
        control: dict[str, str] = rng.choice([{}, {"b": "User:c"}])
        trusted = frozenset(rng.sample(_WHO[:3], rng.choice([0, 0, 1])))
        links = Links(controls("b", "User:c") if control else (), {})
        chosen = [(rng.choice(_ON_TOPICS), rng.choice(_TOPICS)) for _ in range(2)]
        duties = tuple(Duty((AclOperation[what],), (pattern(f"TOPIC:{text}"),)) for what, text in chosen)
        names = [[name for name in _NAMES if matches(pattern(f"TOPIC:{text}"), name)] for _, text in chosen]
        world = _asked_one_by_one(authorizer, control, trusted)
        selection, separations = PrincipalSelection(None, trusted), Separations(authorizer, links)
        for through in Through:
            found = separations.decide(Separation(duties, through), selection)
            listed = {"User:x" if one.everybody else one.principal for one in found.breaking}
            wanted = breaking(
                world, [(what, some) for (what, _), some in zip(chosen, names, strict=True)], through.value
            )
            seen[found.outcome] += 1
            # Of those who are like everybody else, one stands for all.
            assert listed <= wanted, (number, through, found)
            assert ("User:x" in listed) is ("User:x" in wanted), (number, through)
            assert "User:x" in listed or listed == wanted, (number, through, wanted, found)
            if any(edge.what == "ALTER" for edge in world.edges):
                continue  # with it, a right need not be there yet
            for request in (request for one in found.breaking for way in one.ways for request in way.requests):
                assert authorizer.authorize(*request).allowed, (number, request)
    assert min(seen[PASS], seen[FAIL]) > 30


def test_an_unknown_default_is_decided_where_both_defaults_agree() -> None:
    rng, seen = Random(60_119), dict.fromkeys(AssertionOutcome, 0)
    for number in range(100):
        held = [*_random_bindings(rng), *(_CLOSED if rng.random() < 0.7 else [])]
        chosen = [(rng.choice(_ON_TOPICS), rng.choice(_TOPICS)) for _ in range(2)]
        duties = tuple(Duty((AclOperation[what],), (pattern(f"TOPIC:{text}"),)) for what, text in chosen)
        readings = [Separations(Authorizer(held, (), flag), KNOWN) for flag in (False, True, None)]
        for through in Through:
            closed, opened, unknown = (one.decide(Separation(duties, through), EVERYBODY) for one in readings)
            seen[unknown.outcome] += 1
            agreed = closed.outcome is opened.outcome
            assert unknown.outcome is (closed.outcome if agreed else UNDECIDED), (number, through)
            assert [one.principal for one in unknown.breaking if one.certain] == who(closed), (number, through)
            assert {*who(unknown)} == {*who(closed), *who(opened)}, (number, through)
    assert min(seen.values()) > 30


def test_what_makes_somebody_act_as_others_is_said_once_for_all_who_name_it() -> None:
    """Of each right by itself on every name, to somebody who is not the victim."""
    for kind, operations in SUPPORTED_OPERATIONS.items():
        for operation in operations:
            name = CLUSTER_NAME if kind is ResourceType.CLUSTER else "*"
            authorizer = Authorizer(bindings(f"{kind.name}:L:{name} User:ci@* ALLOW {operation.name}"), (), False)
            world = Reach(authorizer.interpretations.least, Known.of(authorizer, KNOWN), KNOWN)
            acts = any(world.hops("User:ci"))
            assert acts is (operation in ACTS_AS.get(kind, ())), (kind, operation)


def test_whoever_may_act_as_anybody_acts_as_somebody_whom_no_acl_names() -> None:
    """Its own DENY does not bind the other one."""
    held = bindings(
        "TOPIC:L:orders User:*@* ALLOW WRITE",
        "TOPIC:P:approvals. User:*@* ALLOW WRITE",
        "TOPIC:P:approvals. User:a@* DENY WRITE",
        "USER:L:* User:*@* ALLOW CREATE_TOKENS",
    )
    assert "User:a" in who(decided(held))
    assert "User:a" not in who(decided(held, Through.ACL))


def test_the_simulation_can_disagree() -> None:
    world = World(PRINCIPALS, "abc", frozenset({POOL[3], Edge("User:p0", "CREATE_TOKENS", "User:p1")}))
    without = world._replace(edges=frozenset({POOL[3]}))
    full = frozenset({*world.edges, Edge("User:p1", "WRITE", "b")})
    duties = [("WRITE", "a"), ("WRITE", "b")]
    assert breaking(world._replace(edges=full), duties, "identity") == {"User:p0"}
    assert breaking(without, duties, "identity") == set()


#: The third topic controls the fifth principal. The topics do not tell the others apart.
CONTROLLED = {"c": PRINCIPALS[4]}
_ALIKE = PRINCIPALS[:4]


def permuted(names: tuple[str, ...], pool: list[Edge]) -> list[int]:
    """The place in the pool to which each edge moves where the principals that are alike change their names."""
    new = dict(zip(_ALIKE, names, strict=True))
    places = {edge: at for at, edge in enumerate(pool)}
    return [places[Edge(new.get(edge.who, edge.who), edge.what, new.get(edge.where, edge.where))] for edge in pool]


def worlds_of(many: int, pool: list[Edge]) -> Iterable[frozenset[Edge]]:
    """One of each class of sets of so many edges that are alike but for the names of principals that are alike."""
    own = [[at for at, edge in enumerate(pool) if edge.who == who] for who in PRINCIPALS]
    for counts in product(range(many + 1), repeat=len(PRINCIPALS)):
        if sum(counts) != many or any(one < other for one, other in pairwise(counts[: len(_ALIKE)])):
            continue
        of = dict(zip(PRINCIPALS, counts, strict=True))
        names = [
            some for some in permutations(_ALIKE) if all(of[a] == of[b] for a, b in zip(_ALIKE, some, strict=True))
        ]
        moves = [permuted(some, pool) for some in names]
        for parts in product(*(combinations(places, count) for places, count in zip(own, counts, strict=True))):
            places = sorted(at for part in parts for at in part)
            if all(sorted([move[at] for at in places]) >= places for move in moves):
                yield frozenset(pool[at] for at in places)


@pytest.mark.parametrize("pool", [POOL, EVERY_EDGE], ids=["ordinary", "every"])
@pytest.mark.parametrize("many", [1, 2])
def test_every_world_is_like_exactly_one_that_is_tried(many: int, pool: list[Edge]) -> None:
    moves = [permuted(some, pool) for some in permutations(_ALIKE)]
    tried = [[pool.index(edge) for edge in edges] for edges in worlds_of(many, pool)]
    classes = [{frozenset(move[at] for at in places) for move in moves} for places in tried]
    assert sum(map(len, classes)) == len(set().union(*classes)) == comb(len(pool), many)


@pytest.mark.parametrize(
    ("many", "pool", "tried"),
    [
        pytest.param(1, EVERY_EDGE, 21, id="one edge"),
        pytest.param(2, EVERY_EDGE, 303, id="two edges"),
        pytest.param(4, EVERY_EDGE, 42_521, id="four edges", marks=pytest.mark.long),
        pytest.param(5, EVERY_EDGE, 433_226, id="five edges", marks=pytest.mark.long),
        pytest.param(6, POOL, 738_937, id="six edges without the rights on the cluster", marks=pytest.mark.long),
    ],
)
def test_the_closure_agrees_with_a_simulation_of_every_world(many: int, pool: list[Edge], tried: int) -> None:
    """Five principals and three topics, the third of which controls the fifth principal."""
    found, worlds = [], 0
    for edges in worlds_of(many, pool):
        worlds += 1
        world = World(PRINCIPALS, "abc", edges, CONTROLLED)
        found += differences(world, [("READ", "a"), ("WRITE", "b")])
    assert found == []
    assert worlds == tried


def test_those_are_asked_who_may_hold_something_and_not_each_that_acls_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(reach: Reach, holders: Any, principal: str, through: Through) -> Any:
        asked.append(principal)
        return ways_of(reach, holders, principal, through)

    monkeypatch.setattr(separation, "ways_of", counted)
    many = [f"TOPIC:L:other{number} User:s{number}@* ALLOW WRITE" for number in range(100)]
    both = ["TOPIC:L:orders User:a@* ALLOW WRITE", "TOPIC:P:approvals. User:a@* ALLOW WRITE"]
    denied = ["TOPIC:L:orders User:*@* ALLOW WRITE", "TOPIC:L:orders User:b@* DENY WRITE"]
    for through in (Through.ACL, Through.IDENTITY):
        asked.clear()
        assert who(decided(bindings(*many, *both, *denied), through)) == ["User:a"]
        assert asked[1:] == ["User:a", "User:b"]
