"""Every answer to a cancellation against every reading after it, and every throttle against all that it may meet."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from reconciler.apply.moves import Ending, TopicMove, brokers_of, cancel, unmarked, unthrottle
from reconciler.apply.run import VISIBLE_SECONDS
from reconciler.model.frozen import FrozenMap
from reconciler.model.listing import Change, Update
from reconciler.model.state import BrokerConfig, BrokerSettings, ClusterState
from reconciler.model.topic import Layout, PartitionLayout, Topic, TopicConfigs
from reconciler.model.topic_configs import FOLLOWERS, LEADERS
from reconciler.ports import REPLICATION_RATES, Answer, AnswerStatus, ClusterError, ReadRequest
from tests.property.clock import StillClock

MOVING: Final = PartitionLayout((2, 3, 1), frozenset({1}), {}, (2, 3), (1,))
DONE, ALREADY, FAILED, UNKNOWN = AnswerStatus.DONE, AnswerStatus.ALREADY, AnswerStatus.FAILED, AnswerStatus.UNKNOWN
NOTHING_MOVES: Final = "NO_REASSIGNMENT_IN_PROGRESS"
ANSWERS: Final = tuple(
    Answer(status, code, message)
    for status, code in ((DONE, ""), (ALREADY, ""), (FAILED, NOTHING_MOVES), (FAILED, "NO"), (UNKNOWN, "LATE"))
    for message in ("", "words")
)


def at(*replicas: int) -> PartitionLayout:
    """At rest."""
    return PartitionLayout(replicas, frozenset(replicas))


#: What is read after it, by name; ``None``: the topic is gone.
READINGS: Final[Mapping[str, PartitionLayout | None]] = {
    "gone": None,
    "moving": MOVING,
    "back": at(1),
    "through": at(2, 3),
    "elsewhere": at(4),
}


class Asked:
    """Answers a cancellation as told, and shows the readings one after another, the last one from then on."""

    def __init__(self, answer: Answer, *readings: PartitionLayout | ClusterError | None) -> None:
        self.answer, self.readings = answer, list(readings)
        self.asked: list[tuple[str, int]] = []

    def cancel_reassignments(self, partitions: Sequence[tuple[str, int]]) -> list[Answer]:
        self.asked += partitions
        return [self.answer] * len(partitions)

    def read(self, request: ReadRequest) -> ClusterState:
        assert request == ReadRequest(acls=False, all_topics=False, layout=["t"])
        found = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        if isinstance(found, ClusterError):
            raise found
        topics = {} if found is None else {"t": (at(9), found)}
        return ClusterState("c", layout=Layout({}, FrozenMap(topics)))


MOVE: Final = TopicMove("t", (at(9), MOVING))


def expected(answer: Answer, reading: str) -> tuple[Ending, str]:
    """What became of it, and the words that say so, if they are ours."""
    refused = answer.status is FAILED
    if reading == "gone":
        return Ending.OVER, "the topic is gone"
    if reading == "moving":
        if refused and answer.code != NOTHING_MOVES:
            return Ending.REFUSED, answer.message
        return Ending.UNKNOWN, answer.message or "accepted, and brokers still show it as moving"
    if reading == "back" and not refused:
        return Ending.CANCELLED, ""
    if answer.status in (DONE, ALREADY):
        return Ending.UNKNOWN, "accepted, and brokers do not show the replicas before"
    words = {"back": "somebody else had cancelled it", "through": "it had finished"}
    return Ending.OVER, words.get(reading, "somebody else moved it")


def test_what_became_of_a_cancellation_is_told_by_its_answer_and_a_reading_together() -> None:
    for answer, (name, reading) in product(ANSWERS, READINGS.items()):
        cluster, clock = Asked(answer, reading), StillClock()
        (end,) = cancel(cluster, [MOVE], clock)  # type: ignore[arg-type]
        assert cluster.asked == [("t", 1)], "only what moves"
        ending, words = expected(answer, name)
        assert (end.topic, end.partition, end.ending, end.message) == ("t", 1, ending, words), (answer, name)
        assert end.replicas == (None if reading is None else reading.replicas)
        ours = ending in (Ending.CANCELLED, Ending.OVER)
        assert end.code == ("" if ours else answer.code)
        # A later reading may say more only of what is unknown.
        assert (clock.seconds >= VISIBLE_SECONDS) is (ending is Ending.UNKNOWN)


def test_a_later_reading_settles_what_an_earlier_one_left_open() -> None:
    for early in (MOVING, ClusterError("TIMED_OUT", "no answer")):
        cluster, clock = Asked(Answer(DONE), early, early, at(1)), StillClock()
        (end,) = cancel(cluster, [MOVE], clock)  # type: ignore[arg-type]
        assert (end.ending, clock.seconds < VISIBLE_SECONDS) == (Ending.CANCELLED, True)


def test_what_cannot_be_read_again_is_refused_where_the_answer_says_so_and_unknown_otherwise() -> None:
    for answer in ANSWERS:
        (end,) = cancel(Asked(answer, ClusterError("TIMED_OUT", "late")), [MOVE], StillClock())  # type: ignore[arg-type]
        assert end.ending is (Ending.REFUSED if answer.status is FAILED else Ending.UNKNOWN)
        assert (end.code, end.replicas) == (answer.code, None)
        assert end.message == (answer.message or "it could not be read again: TIMED_OUT: late")


def test_where_nothing_moves_nobody_is_asked() -> None:
    cluster = Asked(Answer(DONE), None)
    assert cancel(cluster, [TopicMove("t", (at(9), at(1)))], StillClock()) == ()  # type: ignore[arg-type]
    assert cluster.asked == []


LISTS: Final = {FOLLOWERS: "0:2", LEADERS: "0:1"}
RATE: Final = dict.fromkeys(REPLICATION_RATES, BrokerConfig("7"))
GONE: Final = ClusterError("TIMED_OUT", "late")


class Brokers:
    """Brokers 1 and 2 with rates; writes are kept, and ``broken`` names what fails."""

    def __init__(self, told: BrokerSettings | ClusterError, refusing: Mapping[int, str], answer: Answer | ClusterError):
        self.told, self.refusing, self.answer = told, refusing, answer
        self.sent: list[Change] = []
        self.removed: list[set[int]] = []

    def broker_settings(self, configs: Collection[str], *, features: bool) -> BrokerSettings:
        assert (tuple(configs), features) == (REPLICATION_RATES, False)
        if isinstance(self.told, ClusterError):
            raise self.told
        return self.told

    def set_replication_rates(self, brokers: Collection[int], rate: int | None) -> Mapping[int, str]:
        assert rate is None
        self.removed.append(set(brokers))
        return self.refusing

    def send(self, changes: Sequence[Change]) -> list[Answer]:
        self.sent += changes
        if isinstance(self.answer, ClusterError):
            raise self.answer
        return [self.answer]


TOLD: Final[Mapping[str, tuple[BrokerSettings | ClusterError, str]]] = {
    "same": (BrokerSettings({1: RATE, 2: RATE}), ""),
    "one": (BrokerSettings({1: RATE, 2: {}}), ""),
    "none": (BrokerSettings({1: {}, 2: {}}), ""),
    "other": (
        BrokerSettings({1: RATE, 2: dict.fromkeys(REPLICATION_RATES, BrokerConfig("8"))}),
        "brokers 1, 2 have different rates: somebody else has set some of them",
    ),
    "silent": (BrokerSettings({1: RATE}, {2: "off"}), "nobody knows which rates broker 2 has: off"),
    "unnamed": (BrokerSettings({1: RATE}), "nobody knows which rates broker 2 has: the cluster does not name it"),
    "gap": (BrokerSettings({}, {}, gap="no right"), "nobody knows which rates broker 1 has: no right"),
    "error": (GONE, "nobody knows which rates brokers have: TIMED_OUT: late"),
}


def test_a_throttle_goes_rates_first_and_stays_named_where_anything_is_in_its_way() -> None:
    live = Topic("t", 1, 1, {**LISTS, "flush.ms": "5"}, "id")
    move = TopicMove("t", (PartitionLayout((2, 1), frozenset({1}), {}, (2,), (1,)),), live)
    answers: tuple[tuple[Answer | ClusterError, str], ...] = (
        (Answer(DONE), ""),
        (Answer(ALREADY), ""),
        (Answer(FAILED, "NO", "words"), "NO: words"),
        (GONE, "TIMED_OUT: late"),
    )
    for (name, (told, why)), refusing, (answer, wrong), other in product(
        TOLD.items(), ({}, {2: "no", 1: "never"}), answers, (None, live, replace(live, configs={}))
    ):
        cluster = Brokers(told, refusing, answer)
        others = [] if other is None else [TopicMove("u", (), other)]
        found = list(unthrottle(cluster, [move], others))  # type: ignore[arg-type]
        kept, asked = other is live, name in ("same", "one")
        said, stays = [], ""
        if kept:
            said = ["the rates of brokers 1, 2 stay: another topic that moves is throttled"]
        elif why or (asked and refusing):
            stays = f"topic t stays throttled: {why or 'broker 1: never; broker 2: no'}"
        assert cluster.removed == ([{1, 2}] if asked and not kept else []), name
        assert bool(cluster.sent) is not bool(stays)
        if not stays and wrong:
            stays = f"topic t stays throttled: {wrong}"
        assert found == said + [stays] * bool(stays), (name, refusing, answer, other)
        before, after = TopicConfigs("t", LISTS, "id"), TopicConfigs("t", dict.fromkeys(LISTS), "id")
        assert cluster.sent in ([], [Update(before, after)])


def test_a_throttle_that_is_not_of_the_move_or_not_known_is_left_and_one_that_is_not_there_is_nothing() -> None:
    parts = (PartitionLayout((2, 1), frozenset({1}), {}, (2,), (1,)),)
    for configs, said in (
        ({}, []),
        ({FOLLOWERS: "", LEADERS: ""}, []),
        ({FOLLOWERS: "0:3", LEADERS: "0:1"}, ["that is not the throttle of this move"]),
        ({FOLLOWERS: "*"}, ["that is not the throttle of this move"]),
        ({LEADERS: "*"}, ["that is not the throttle of this move"]),
    ):
        move = TopicMove("t", parts, Topic("t", 1, 1, configs))
        assert (bool(move.throttle), move.is_marked) == (False, bool(said))
        cluster = Brokers(GONE, {}, GONE)
        found = list(unthrottle(cluster, [move], ()))  # type: ignore[arg-type]
        assert [words in one for words, one in zip(said, found, strict=True)] == [True] * len(said)
        assert (cluster.sent, cluster.removed) == ([], [])
    unread = TopicMove("t", parts)
    assert (unread.throttle, unread.is_marked) == (frozenset(), False)
    (words,) = unthrottle(Brokers(GONE, {}, GONE), [unread], ())  # type: ignore[arg-type]
    assert words == "whether topic t is throttled is not known: its configs could not be read"


def test_whose_throttle_it_is_follows_from_the_replicas_of_each_partition() -> None:
    """Every list of two brokers for one partition, against it moving, through, and not begun."""
    sets = [frozenset(), frozenset({1}), frozenset({2}), frozenset({3}), frozenset({1, 2}), frozenset({2, 3})]
    moves = (((2,), (1,)), ((2,), ()), ((), (1,)))
    layouts = [at(1), at(2), at(1, 2), at(3)]
    layouts += [PartitionLayout((2, 1), frozenset({1}), {}, adding, removing) for adding, removing in moves]
    for added, old, one in product(sets, sets, layouts):
        both = ((FOLLOWERS, added), (LEADERS, old))
        lists = {key: ",".join(f"0:{broker}" for broker in sorted(found)) for key, found in both}
        replicas = set(one.replicas)
        if one.is_moving:
            ours = added == set(one.adding) and old == replicas - set(one.adding)
        else:
            # Nothing is copied to where it is; through: the new ones are there, or not begun: the old ones alone are.
            ours = not added & old and (added <= replicas or old == replicas)
        ours = ours and bool(added) and bool(old)
        assert brokers_of(lists, [one]) == (added | old if ours else frozenset()), (added, old, one)
        assert brokers_of(lists, []) == frozenset()
        assert (unmarked(Topic("t", 1, 1, lists)) is None) is not bool(added or old)


def test_what_is_left_of_a_move_is_what_its_partitions_lack() -> None:
    """Of a partition as many bytes as its largest replica has, for each new one; brokers may not have told."""
    adding = PartitionLayout((1, 2, 3), frozenset({1}), {1: 10, 2: 4}, (2, 3), ())
    told = PartitionLayout((2, 1), frozenset({1}), {1: 7, 2: 9}, (2,), ())
    removing = PartitionLayout((1, 2), frozenset({1, 2}), {1: 5, 2: 5}, (), (1,))
    for parts, left in (((), 0), ((at(1),), 0), ((adding,), 6 + 10), ((adding, at(1), told, removing), 6 + 10 + 0)):
        move = TopicMove("t", parts)
        assert move.bytes_left == left
        assert move.moving == {number: one for number, one in enumerate(parts) if one.adding or one.removing}
