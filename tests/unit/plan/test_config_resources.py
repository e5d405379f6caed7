"""Group configs and client metrics in plans: pruned inside the scope only, impossible on an older release."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import run
from reconciler.model.acl import ResourceType
from reconciler.model.desired import Declaration, DesiredItem, DesiredState, DesiredTopic, Origin
from reconciler.model.kinds.client_metrics import ClientMetrics
from reconciler.model.kinds.group_config import DLQ_COPIES, DLQ_TOPIC, DeadLetterQueue, GroupConfig
from reconciler.model.listing import Listing
from reconciler.model.scope import NameSelector, Scope, Selector
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.difference import SkipReason
from reconciler.plan.proposal import Options, Plan, Selection, Terms
from reconciler.plan.propose import Request, propose
from reconciler.show.kinds import kind_of
from reconciler.snapshot.document import snapshot_text
from tests.worlds import bindings

DAY = datetime.date(2026, 1, 1)
KIND = GroupConfig.KIND
PAY, OTHER = (GroupConfig(name, {"share.isolation.level": "read_committed"}) for name in ("pay.in", "other"))
OF_PAY = Selector(None, ResourceType.GROUP, NameSelector(prefixes=("pay.",)))


def live(*items: GroupConfig, release: tuple[int, int] | None = None) -> ClusterState:
    return ClusterState("c", listings={KIND: Listing(frozenset(items))}, kafka_version=release)


def planned(state: ClusterState, *wanted: GroupConfig, terms: Terms, only: tuple[str, ...] = ()) -> Plan:
    items = {one.group: DesiredItem(one, Declaration(Origin("g.yaml", 1, 1))) for one in wanted}
    options = Options(allow_deletes=True, selection=Selection(only=only))
    return propose(DesiredState(listed={KIND: items} if items else {}), state, terms, Request(DAY, options))


def test_undeclared_ones_go_only_where_the_scope_names_their_groups() -> None:
    terms = Terms("c", default_allow=False, scope=Scope(include=(OF_PAY,)), prune=frozenset({KIND}))
    found = planned(live(PAY, OTHER), terms=terms)
    assert [(step.action, step.change.before) for step in found.steps] == [("DeleteGroupConfigs", PAY)]
    everybody = Scope(include=(Selector(NameSelector(any_name=True)),))
    assert (
        planned(live(PAY), terms=Terms("c", default_allow=False, scope=everybody, prune=frozenset({KIND}))).steps == ()
    )


def test_a_listing_that_could_not_be_read_is_not_empty() -> None:
    state = ClusterState("c", listings={KIND: Listing(gap="refused")})
    found = planned(state, PAY, terms=Terms("c", default_allow=False, prune=frozenset({KIND})))
    assert found.steps == ()
    assert [(one.reason, one.subject, one.detail) for one in found.skipped] == [
        (SkipReason.UNREADABLE, "config of group pay.in", "refused"),
        (SkipReason.UNREADABLE, "group configs that no manifest declares", "refused"),
    ]


def test_a_config_that_the_release_does_not_have_is_impossible() -> None:
    new = GroupConfig("pay.in", {"share.delivery.count.limit": "3"})
    terms = Terms("c", default_allow=False)
    assert len(planned(live(release=(4, 2)), new, terms=terms).steps) == 1
    assert len(planned(live(), new, terms=terms).steps) == 1, "a release that is not known refuses nothing"
    found = planned(live(release=(4, 1)), new, terms=terms)
    assert found.steps == ()
    assert [(one.reason, one.detail) for one in found.skipped] == [
        (SkipReason.IMPOSSIBLE, "share.delivery.count.limit needs Kafka 4.2, and this is 4.1")
    ]
    assert planned(live(new, release=(4, 1)), new, terms=terms).skipped == (), "it is there, so it is not refused"


def test_a_key_of_a_newer_kafka_stays_unless_it_is_declared() -> None:
    there = PAY.with_values({**PAY.values, "a.new.key": "1"})
    terms = Terms("c", default_allow=False)
    found = planned(live(there), PAY, terms=terms)
    assert found.steps == ()
    assert [(one.reason, one.subject) for one in found.skipped] == [
        (SkipReason.UNSUPPORTED, "config of group pay.in: a.new.key")
    ]
    (step,) = planned(live(there), there.with_values({"a.new.key": "2"}), terms=terms).steps
    assert step.change.after == there.with_values({"a.new.key": "2"})


def test_steps_are_selected_by_the_group_and_shown_with_units() -> None:
    slow = GroupConfig("other", {"consumer.session.timeout.ms": "50000"})
    (step,) = planned(live(), PAY, slow, terms=Terms("c", default_allow=False), only=("groups=pay.*",)).steps
    assert step.change.after == PAY
    (step,) = planned(live(), slow, terms=Terms("c", default_allow=False)).steps
    found = kind_of(step.change).words([step.change], None)  # type: ignore[arg-type]  # it is about topics
    assert (found.text, [line.text for line in found.details]) == (
        "config of group other",
        ["consumer.session.timeout.ms = 50000 (50s)"],
    )


def test_records_are_copied_where_a_topic_is_named_and_copies_are_on() -> None:
    queue = {DLQ_TOPIC: "dlq.pay"}
    configs = [
        GroupConfig("whole", {**queue, DLQ_COPIES: "true"}),
        GroupConfig("places", queue),
        GroupConfig("off", {**queue, DLQ_COPIES: "false"}),
        GroupConfig("none", {DLQ_TOPIC: "", DLQ_COPIES: "true"}),
        PAY,
    ]
    assert GroupConfig.copies(configs) == {"whole": "dlq.pay"}
    assert [one.dead_letter_queue for one in configs] == [
        DeadLetterQueue("dlq.pay", copies=True),
        *[DeadLetterQueue("dlq.pay", copies=False)] * 2,
        None,
        None,
    ]
    refused = GroupConfig("x", {DLQ_TOPIC: "__dlq"}).refusal()
    assert refused is not None
    assert "internal topics" in refused.message


def metrics_plan(*wanted: ClientMetrics, there: tuple[ClientMetrics, ...] = (), **terms: Any) -> Plan:
    state = ClusterState("c", listings={ClientMetrics.KIND: Listing(frozenset(there))})
    items = {one.name: DesiredItem(one, Declaration(Origin("m.yaml", 1, 1))) for one in wanted}
    desired = DesiredState(listed={ClientMetrics.KIND: items} if items else {})
    return propose(desired, state, Terms("c", default_allow=False, **terms), Request(DAY, Options(allow_deletes=True)))


def test_a_subscription_that_every_client_matches_is_warned_of_when_it_becomes_one() -> None:
    every = ClientMetrics("all", {"metrics": "*", "interval.ms": "1000"})
    text = (
        "client metrics subscription all has no match: every client that can push metrics pushes all metrics every 1s"
    )
    assert metrics_plan(every).warnings == (text,)
    assert metrics_plan(every, there=(every,)).warnings == ()
    some = every.with_values({**every.values, "match": "client_id=a"})
    assert metrics_plan(some).warnings == ()
    assert metrics_plan(every, there=(some,)).warnings == (text,)
    few = ClientMetrics("few", {"metrics": "a.,b."})
    assert metrics_plan(few).warnings[0].endswith("pushes metrics under a., b. every 5m")
    assert metrics_plan(ClientMetrics("none", {"interval.ms": "1000"})).warnings == (), "it asks for no metrics"


def test_undeclared_subscriptions_go_only_where_the_scope_has_what_is_about_nobody() -> None:
    there = (ClientMetrics("old", {"metrics": "*"}),)
    everybody = Scope(include=(Selector(NameSelector(any_name=True)),))
    one = Scope(include=(Selector(NameSelector(literal=("User:a",))),))
    for scope, gone in ((everybody, 1), (one, 0), (Scope(include=(OF_PAY,)), 0)):
        assert len(metrics_plan(there=there, scope=scope, prune=frozenset({ClientMetrics.KIND})).steps) == gone


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("interval.ms", "99", "99 is not between 100 and 3600000"),
        ("match", "client_id=a,client_id=b", "client_id stands twice"),
        ("match", "client-id=a", "clients are not matched by 'client-id'"),
        ("match", "client_id=*", "'*' is no regular expression of Java"),
        ("match", "client_id=(a", "is no regular expression of Java"),
        ("match", "client_id=a{1,2}", "'2}' is not one key"),
        ("metrics", "a,,b", "the list holds an empty value"),
        ("match", "client_id=[)(],client_source_address=10[.]0[.].*", None),
        ("match", "client_id=\\Q(\\E", None),
    ],
)
def test_values_of_a_subscription(name: str, value: str, problem: str | None) -> None:
    found = ClientMetrics.value_problem(name, value) or ClientMetrics.trap(name, value)
    assert (found is None) if problem is None else (found is not None and problem in found)


QUEUE = GroupConfig("pay.in", {DLQ_TOPIC: "dlq.pay", DLQ_COPIES: "true"})
READY = Topic("dlq.pay", 1, 1, {"errors.deadletterqueue.group.enable": "true"}, "id")
PREFIX = {
    "errors.deadletterqueue.topic.name.prefix": "dlq.",
    "errors.deadletterqueue.auto.create.topics.enable": "false",
}
COPIED = (
    "config of group pay.in copies records that the group gives up to topic dlq.pay: who may READ dlq.pay reads them, "
    "of whatever topic the group reads"
)


def queue_warnings(
    *topics: Topic,
    there: tuple[GroupConfig, ...] = (),
    level: int | None = 2,
    defaults: dict[str, str] = PREFIX,
    queue: GroupConfig = QUEUE,
    wanted: tuple[DesiredTopic, ...] = (),
) -> list[str]:
    state = ClusterState(
        "c",
        topics={one.name: one for one in topics},
        listings={KIND: Listing(frozenset(there))},
        broker_defaults=defaults,
        share_version=level,
    )
    items = {queue.group: DesiredItem(queue, Declaration(Origin("g.yaml", 1, 1)))}
    desired = DesiredState(listed={KIND: items}, topics={one.topic.name: one for one in wanted})
    plan = propose(desired, state, Terms("c", default_allow=False), Request(DAY, Options(allow_deletes=True)))
    return [text.removeprefix(LACKS) for text in plan.warnings if "topic dlq" in text or "topic other" in text]


LACKS = "brokers write nothing to topic dlq.pay, the dead letter queue of group pay.in: "


def test_a_dead_letter_queue_says_who_reads_it_and_what_it_lacks() -> None:
    """Each rule of ``ShareGroupDLQStateManager.validateDlqTopic`` by itself, and the level."""
    assert queue_warnings(READY) == [COPIED]
    assert queue_warnings(READY, level=None) == [COPIED], "a level that is not known refuses nothing"
    assert queue_warnings(READY, level=1) == [COPIED, "share.version is 1, and it takes 2"]
    assert queue_warnings(READY, there=(QUEUE,)) == [], "it is there already"
    absent = "there is no such topic, and errors.deadletterqueue.auto.create.topics.enable is not on"
    assert queue_warnings() == [COPIED, absent]
    assert queue_warnings(defaults={**PREFIX, "errors.deadletterqueue.auto.create.topics.enable": "true"}) == [COPIED]
    plain = Topic("dlq.pay", 1, 1, {}, "id")
    assert queue_warnings(plain) == [COPIED, "the topic does not have errors.deadletterqueue.group.enable=true"]
    other = {"errors.deadletterqueue.topic.name.prefix": "dead."}
    assert queue_warnings(READY, defaults=other) == [
        COPIED,
        "its name does not begin with dead., the brokers' errors.deadletterqueue.topic.name.prefix",
    ]
    places = QUEUE.with_values({DLQ_TOPIC: "dlq.pay"})
    assert queue_warnings(READY, queue=places) == [], "it gets no copies"


def test_a_dead_letter_queue_that_the_same_plan_creates_or_deletes() -> None:
    origin = Origin("t.yaml", 1, 1)
    made = DesiredTopic(Topic("dlq.pay", 1, 1, {"errors.deadletterqueue.group.enable": "true"}), origin)
    assert queue_warnings(wanted=(made,)) == [COPIED]
    gone = DesiredTopic(Topic("dlq.pay"), origin, absent=True)
    unguarded = queue_warnings(READY, there=(QUEUE,), wanted=(gone,))
    assert all("there is no such topic" not in text for text in unguarded), "a guard keeps the topic"
    off = DesiredTopic(Topic("dlq.pay", 1, 1, {"errors.deadletterqueue.group.enable": "false"}), origin)
    assert queue_warnings(READY, there=(QUEUE,), wanted=(off,)) == [
        "the topic does not have errors.deadletterqueue.group.enable=true"
    ]


FLOW = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, kafkaVersion: "4.4"}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: reads}
spec: {principal: "User:reads", rules: [{allow: READ, topics: [dlq.pay]}]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: joins}
spec: {principal: "User:joins", rules: [{allow: READ, groups: {prefix: pay.}}]}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: writes}
spec: {principal: "User:writes", rules: [{allow: WRITE, topics: [dlq.pay]}]}
---
apiVersion: reconciler/v1
kind: GroupConfigs
metadata: {name: g}
spec: {groups: [{name: pay.in, configs: {errors.deadletterqueue.topic.name: dlq.pay, COPIES: true}}]}
"""


def test_answers_about_access_show_the_flow_to_a_dead_letter_queue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of who reads the queue and of who may be a member of the group: declared, live, and with a plan."""
    text = FLOW.replace("COPIES", DLQ_COPIES)
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    file, plan = tmp_path / "live.json", tmp_path / "plan.json"

    def said(*words: str, live: ClusterState | None = None) -> list[str]:
        where = ["--path", str(tmp_path)]
        if live is not None:
            file.write_text(snapshot_text(live), encoding="utf-8")
            where += ["--cluster", f"c=snapshot:{file}"]
        assert run([*words, *where]) == 0
        return capsys.readouterr().out.splitlines()

    def shown(*words: str, live: ClusterState | None = None) -> list[str]:
        return [line for line in said(*words, live=live) if COPIED in line]

    acls = bindings(
        "TOPIC:L:dlq.pay User:reads@* ALLOW READ",
        "GROUP:P:pay. User:joins@* ALLOW READ",
        "TOPIC:L:dlq.pay User:writes@* ALLOW WRITE",
    )
    there = ClusterState("c", frozenset(acls), listings={KIND: Listing(frozenset({QUEUE}))})
    for live in (None, there):
        for who in ("reads", "joins"):
            assert shown("access", f"User:{who}", live=live) == [f"    {COPIED}"], (who, live)
        assert shown("access", "User:writes", live=live) == []
        assert shown("access", "User:reads", "--type", "group", live=live) == []
        for on in ("topic/dlq.pay", "topic/dlq.*", "group/pay.in"):
            assert shown("who-can", "READ", on, live=live) == [f"    {COPIED}"], on
        assert shown("who-can", "READ", "topic/orders", live=live) == []
        assert shown("who-can", "WRITE", "topic/dlq.pay", live=live) == []
        (state,) = json.loads("\n".join(said("access", "User:reads", "-o", "json", live=live)))["states"]
        assert state["deadLetters"] == {"pay.in": "dlq.pay"}
    empty = replace(there, listings={KIND: Listing(frozenset())})
    said("plan", "--out", str(plan), live=empty)
    assert shown("access", "User:reads", live=empty) == []
    assert shown("access", "User:reads", "--plan", str(plan), live=empty) == [f"  + {COPIED}"]
    assert shown("who-can", "READ", "topic/dlq.pay", "--plan", str(plan), live=empty) == [f"  + {COPIED}"]
    unread = replace(there, listings={KIND: Listing(gap="CLUSTER_AUTHORIZATION_FAILED")})
    for words in (["access", "User:reads"], ["who-can", "READ", "topic/dlq.pay"]):
        assert "Not seen: dead letter queues of share groups" in said(*words, live=unread)[-1]
