"""Rights on the cluster that reach further than their names say are called out, each by its own rule."""

from dataclasses import replace
from itertools import product
from typing import Final

import pytest

from reconciler.access.authorizer import Authorizer
from reconciler.access.difference import Witness, compare_access
from reconciler.access.names import NameSet, ResourceSet, literal
from reconciler.cli.change_options import NEW_PATH
from reconciler.cli.console import Exit
from reconciler.cli.planned import gate
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.desired import Control, DesiredState, DesiredTopic, Origin
from reconciler.model.listing import Create, Delete
from reconciler.model.state import ClusterState, FactSource
from reconciler.model.topic import Topic
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Guard, Refusal
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.callouts import Callout, Charge, accountable, callouts, while_super_user
from reconciler.plan.step import Step
from reconciler.show.claims import Checks
from tests.unit.apply.test_perform import planned
from tests.worlds import binding, bindings, pattern


def _called(*operations: str) -> tuple[Callout, ...]:
    wanted = (binding(f"CLUSTER:L:kafka-cluster User:a@* ALLOW {operation}") for operation in operations)
    return planned(ClusterState("it"), *wanted).access.callouts


def test_alter_configs_on_the_cluster_is_the_right_to_reconfigure_brokers() -> None:
    (found,) = _called("ALTER_CONFIGS")
    assert found.rule == "cluster-configs"
    assert found.text.startswith("User:a gains ALTER_CONFIGS")
    assert "new listeners and who may log in there (as anybody)" in found.text


def test_alter_says_all_of_it_and_a_milder_right_is_only_one_on_the_cluster() -> None:
    assert [one.rule for one in _called("ALTER", "ALTER_CONFIGS")] == ["cluster-alter"]
    assert [one.rule for one in _called("DESCRIBE_CONFIGS")] == ["cluster"]


def test_a_super_user_that_only_manifests_state_is_told_as_their_word() -> None:
    words = "without effect only while the brokers' super.users holds it"
    assert [while_super_user(one) == words for one in FactSource] == [
        one is not FactSource.MANIFESTS for one in FactSource
    ]
    assert while_super_user(FactSource.MANIFESTS) == f"{words}, which only the manifests say"


#: The gravest first.
GRAVITY: Final = (
    "cluster-alter",
    "cluster-configs",
    "impersonation",
    "everyone",
    "wildcard",
    "internal-topic",
    "labelled",
    "super-user",
    "cluster",
)
Op: Final = AclOperation
GAINS: Final[tuple[tuple[AclOperation, ...], ...]] = (
    (Op.DESCRIBE,),
    (Op.DESCRIBE, Op.DESCRIBE_CONFIGS),
    (Op.READ, Op.DESCRIBE),
    (Op.WRITE,),
    (Op.CREATE_TOKENS,),
    (Op.CLUSTER_ACTION,),
    (Op.ALTER,),
    (Op.ALTER, Op.ALTER_CONFIGS),
    (Op.ALTER_CONFIGS,),
    (Op.IDEMPOTENT_WRITE,),
    (Op.IDEMPOTENT_WRITE, Op.DESCRIBE),
)
NAMES: Final = (NameSet(""), NameSet("t"), literal("t"), NameSet("__c"), literal("__consumer_offsets"))


def row(
    principal: str | None,
    kind: ResourceType,
    names: NameSet,
    gained: tuple[AclOperation, ...],
    reading: str | None = None,
    source: FactSource | None = None,
) -> AccessChange:
    """A gain."""
    witness = Witness("User:a", "10.0.0.1", "t")
    return AccessChange(principal, "any host", ResourceSet(kind, names), gained, (), witness, (), 0, reading, source)


def rules(one: AccessChange) -> set[str]:
    """By which rules a gain stands out."""
    kind, gained, names = one.resources.resource_type, set(one.gained), one.resources.names
    found = set()
    if one.principal in (None, "User:ANONYMOUS"):
        found.add("everyone")
    if (kind is ResourceType.USER and Op.CREATE_TOKENS in gained) or (
        kind is ResourceType.CLUSTER and Op.CLUSTER_ACTION in gained
    ):
        found.add("impersonation")
    if kind is ResourceType.CLUSTER and gained != {Op.IDEMPOTENT_WRITE}:
        worst = [
            rule
            for rule, power in (("cluster-alter", Op.ALTER), ("cluster-configs", Op.ALTER_CONFIGS))
            if power in gained
        ]
        found.add(worst[0] if worst else "cluster")
    if kind is not ResourceType.CLUSTER and names == NameSet(""):
        found.add("wildcard")
    if kind is ResourceType.TOPIC and gained & {Op.READ, Op.WRITE} and names.matches("__consumer_offsets"):
        found.add("internal-topic")
    if one.principal is not None and one.super_user is not None:
        found.add("super-user")
    return found


def test_each_gain_stands_out_by_exactly_the_rules_that_it_meets_the_gravest_first() -> None:
    kinds = [kind for kind in ResourceType if kind >= ResourceType.TOPIC]
    met = set()
    for principal, kind, names, gained, reading, source in product(
        (None, "User:ANONYMOUS", "User:a"), kinds, NAMES, GAINS, (None, "most"), (None, FactSource.MANIFESTS)
    ):
        one = row(principal, kind, names, gained, reading, source)
        found = callouts([one], DesiredState())
        assert [each.rule for each in found] == sorted(rules(one), key=GRAVITY.index), one
        met |= rules(one)
        for each in found:
            assert each.principal == (principal or "everybody else")
            who = "whoever has no ACL of its own" if principal is None and each.rule == "everyone" else each.principal
            assert each.text.startswith(f"{who} gains") or each.text.startswith(
                f"{who}, whoever connects without a login, gains"
            )
            doubtful = each.text.endswith(", depending on what is not known about the cluster")
            always = each.rule == "super-user" or "without a login" in each.text
            assert doubtful is (reading is not None and not always), each
        lost = replace(one, gained=(), lost=gained)
        assert callouts([lost], DesiredState()) == ()
    assert met == {*GRAVITY} - {"labelled"}


def test_harmless_gains_come_after_moments_and_those_of_everybody_are_never_harmless() -> None:
    moment = Callout("interrupted", "User:m", "for a moment")
    for gained, principal in product(GAINS, (None, "User:a")):
        mild = principal is not None and {*gained} <= {Op.DESCRIBE, Op.DESCRIBE_CONFIGS}
        one = row(principal, ResourceType.TOPIC, NameSet(""), gained)
        found = [each.rule for each in callouts([one], DesiredState(), [moment])]
        assert (found[0] == "interrupted") is mild, one
        assert (found[-1] == "interrupted") is not mild, one


@pytest.mark.parametrize("count", [1, 3, 4, 5, 40])
def test_what_is_said_of_many_alike_is_said_once_with_their_number(count: int) -> None:
    who = [f"User:p{number:02}" for number in range(count)]
    rows = [row(name, ResourceType.GROUP, NameSet(""), (Op.READ, Op.DESCRIBE)) for name in who]
    other = row("User:z", ResourceType.GROUP, NameSet(""), (Op.DELETE,))
    found = [each for each in callouts([*rows[::-1], other], DesiredState()) if "READ" in each.text]
    if count < 4:
        assert [each.principal for each in found] == who
        return
    (one,) = found
    assert one.principal == who[0]
    assert one.text == (
        f"{count} principals gain READ on all groups, including future ones: {', '.join(who[:3])} and {count - 3} more"
    )
    # Of whoever connects without a login it is said in other words: that is one more.
    both = callouts(
        [*rows, row("User:ANONYMOUS", ResourceType.GROUP, NameSet(""), (Op.READ, Op.DESCRIBE))], DesiredState()
    )
    assert sum(each.rule == "everyone" for each in both) == 1


def test_access_to_records_of_labelled_topics_is_counted_by_label() -> None:
    place = Origin("t.yaml", 1, 1)
    labels = {"a": {"data": "personal"}, "ab": {"data": "personal", "team": "x"}, "b": {"data": "personal"}, "c": {}}
    topics = {name: DesiredTopic(Topic(name), place, labels=found) for name, found in labels.items()}
    for names, gained, principal, kind in product(
        (NameSet(""), NameSet("a"), literal("a"), literal("c"), literal("zz")),
        GAINS,
        (None, "User:a"),
        (ResourceType.TOPIC, ResourceType.GROUP),
    ):
        found = callouts([row(principal, kind, names, gained)], DesiredState({}, topics))
        said = {each.text for each in found if each.rule == "labelled"}
        assert {each.principal for each in found if each.rule == "labelled"} <= {principal or "everybody else"}
        records = [operation.name for operation in gained if operation in (Op.READ, Op.WRITE)]
        wanted = set()
        for label in ("data=personal", "team=x"):
            key, _, value = label.partition("=")
            count = sum(names.matches(name) and own.get(key) == value for name, own in labels.items())
            if count and records and kind is ResourceType.TOPIC:
                noun = "1 topic" if count == 1 else f"{count} topics"
                wanted.add(f"{principal or 'everybody else'} gains {records[0]} on {noun} with {label}")
        assert said == wanted


TOKENS_OF_B = "USER:L:User:b User:a@* ALLOW CREATE_TOKENS"
BROKER = "CLUSTER:L:kafka-cluster User:b@* ALLOW CLUSTER_ACTION"
#: A writer of the config topic acts as Kafka Connect.
CONFIGS_OF_C = "TOPIC:L:connect-configs User:a@* ALLOW WRITE"
CONTROLLED = (Control((pattern("TOPIC:L:connect-configs"),), "User:c", Origin("roles.yaml", 1, 1)),)
EVERY_TOKEN = "DELEGATION_TOKEN:L:* User:a@* ALLOW DESCRIBE"


@pytest.mark.parametrize(
    ("there", "gained", "rule", "said"),
    [
        ([], TOKENS_OF_B, "impersonation", "User:a gains CREATE_TOKENS on user `User:b`"),
        ([], "USER:P:User: User:a@* ALLOW CREATE_TOKENS", "impersonation", "User:a gains CREATE_TOKENS on "),
        ([], BROKER, "impersonation", "User:b gains CLUSTER_ACTION on the cluster"),
        ([], "USER:L:User:b User:a@* ALLOW DESCRIBE_TOKENS", "new-path", "User:a could act as User:b: DESCRIBE_TOKENS"),
        ([], EVERY_TOKEN, "new-path", "User:a could act as anybody: DESCRIBE on "),
        ([TOKENS_OF_B], BROKER, "new-path", "User:a could act as anybody: CREATE_TOKENS on "),
        ([BROKER], TOKENS_OF_B, "new-path", "User:a could act as anybody: CREATE_TOKENS on "),
        ([TOKENS_OF_B], "TOPIC:L:t User:b@* ALLOW READ", "new-path", "User:a could act as User:b, and so gains what"),
        ([], CONFIGS_OF_C, "new-path", "User:a could act as User:c: WRITE on topic `connect-configs`"),
        ([], "TOPIC:P:connect User:a@* ALLOW ALL", "new-path", "User:a could act as User:c: WRITE on topic `connect-"),
        ([TOKENS_OF_B], CONFIGS_OF_C.replace("User:a", "User:b"), "new-path", "User:a could act as User:c: CREATE_TOK"),
        ([CONFIGS_OF_C], "TOPIC:L:t User:c@* ALLOW READ", "new-path", "User:a could act as User:c, and so gains what"),
    ],
)
def test_a_right_by_which_somebody_acts_as_another_one_fails_new_path(
    there: list[str], gained: str, rule: str, said: str
) -> None:
    """Each edge by itself, and behind another one."""
    before, new = bindings(*there), binding(gained)
    plan = planned(ClusterState("it", frozenset(before)), *before, new, controls=CONTROLLED)
    assert any(one.rule == rule and one.text.startswith(said) for one in plan.access.callouts), plan.access.callouts
    assert gate(plan, Checks(), (NEW_PATH,), whole=True) is Exit.FAILED_CHECK
    assert gate(plan, Checks(), (), whole=True) is Exit.OK


@pytest.mark.parametrize(
    ("there", "gained"),
    [
        ([], "TOPIC:L:t User:a@* ALLOW READ"),
        ([TOKENS_OF_B], "TOPIC:L:t User:c@* ALLOW READ"),
        ([TOKENS_OF_B], "USER:L:User:c User:b@* DENY CREATE_TOKENS"),
        ([BROKER], "TOPIC:L:t User:b@* ALLOW READ"),
        ([], CONFIGS_OF_C.replace("WRITE", "READ")),
        ([], CONFIGS_OF_C.replace("User:a", "User:c")),
        ([CONFIGS_OF_C], "TOPIC:P:connect User:a@* ALLOW WRITE"),
    ],
)
def test_what_opens_no_path_passes_new_path(there: list[str], gained: str) -> None:
    before = bindings(*there)
    plan = planned(ClusterState("it", frozenset(before)), *before, binding(gained), controls=CONTROLLED)
    assert plan.steps
    assert gate(plan, Checks(), (NEW_PATH,), whole=True) is Exit.OK


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("User:a@10.0.0.2 ALLOW",), ("User:a@10.0.0.1 ALLOW",)),
        (("User:a@* ALLOW", "User:a@10.0.0.1 DENY"), ("User:a@* ALLOW", "User:a@10.0.0.2 DENY")),
    ],
)
def test_a_refusal_is_accounted_for_by_what_moves_its_rows_that_way(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """One step gives READ to one host, the other takes it from another one, on the same name."""
    held, then = (bindings(*(f"TOPIC:L:x {text} READ" for text in side)) for side in (before, after))
    rows = compare_access(Authorizer(held), Authorizer(then)).rows
    steps = [Step(Phase.CREATE_ALLOW, Create(one)) for one in sorted({*then} - {*held})]
    steps += [Step(Phase.DELETE_ALLOW, Delete(one)) for one in sorted({*held} - {*then})]
    parts = {"gains": tuple(row for row in rows if row.gained), "loses": tuple(row for row in rows if row.lost)}
    charges = [Charge(Refusal(Guard.LOCKOUT, name, "", "", Guard.LOCKOUT.judges), part) for name, part in parts.items()]
    assert all(len(charge.rows) == 1 for charge in charges)
    made, gone = ([step.change] for step in steps)
    gains, loses = (made, gone) if len(before) == 1 else (gone, made)
    found = accountable(charges, steps)
    assert {refusal.object: changes for refusal, changes in found.items()} == {"gains": gains, "loses": loses}
