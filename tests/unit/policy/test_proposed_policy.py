"""A policy that is proposed for the topics of a cluster: a tenth of them may be an exception, and no more."""

import datetime
from collections.abc import Iterable, Sequence

import pytest

from reconciler.model.desired import Expiry
from reconciler.model.topic import Topic
from reconciler.model.topic_rule import CountRule, NameRule, RelationRule, RulePart, SettingRule
from reconciler.policy.topic_policy import NAME_PATTERNS, Occasion, ProposedRule, propose_policy

_OCCASION = Occasion("prod", "as it was", Expiry(datetime.date(2027, 1, 1)))
_DOTS, _UNDERSCORES, _CAPITALS = NAME_PATTERNS


def _proposed(topics: Iterable[Topic]) -> dict[str, ProposedRule]:
    found = {one.rule.name or "": one for one in propose_policy(topics, _OCCASION)}
    for one in found.values():
        (exception,) = one.rule.exceptions or (None,)
        out = exception.topics.literal if exception else ()
        assert (one.kept, one.topics, one.rule.document) == (20 - len(out), 20, "prod")
    return found


def _part(found: dict[str, ProposedRule], name: str) -> RulePart | None:
    return found[name].rule.parts[0] if name in found else None


def _out(found: dict[str, ProposedRule], name: str) -> list[str]:
    return [topic for one in found[name].rule.exceptions for topic in one.topics.literal]


def _twenty(values: Sequence[tuple[int, int]], *, replicas: bool = False) -> list[Topic]:
    """Each number so many times, as partitions or replicas."""
    numbers = [number for number, times in values for _ in range(times)]
    assert len(numbers) == 20
    return [Topic(f"t{at:02}", *((1, number) if replicas else (number, 1))) for at, number in enumerate(numbers)]


@pytest.mark.parametrize(
    ("odd", "times", "pattern"),
    [
        ("a_b", 2, _DOTS),
        ("a_b", 3, _UNDERSCORES),
        ("A.b", 2, _DOTS),
        ("A.b", 3, _CAPITALS),
        ("a..b", 2, _DOTS),
        ("a..b", 3, None),
    ],
)
def test_the_strictest_form_of_names_that_most_have(odd: str, times: int, pattern: str | None) -> None:
    names = [f"{odd}{at}" if at < times else f"t.{at}" for at in range(20)]
    found = _proposed(Topic(name, 1, 1) for name in names)
    part = _part(found, "names")
    assert (part.pattern if isinstance(part, NameRule) else None) == pattern
    if pattern == _DOTS:
        assert _out(found, "names") == sorted(names[:times])


@pytest.mark.parametrize(
    ("counts", "least", "most", "out"),
    [
        ([(1, 20)], None, 1, 0),
        ([(2, 20)], 2, 2, 0),
        ([(3, 18), (50, 2)], 3, 3, 2),
        # At most twice what is usual is no outlier, and three of twenty are none.
        ([(3, 18), (6, 2)], 3, 6, 0),
        ([(3, 18), (7, 2)], 3, 3, 2),
        ([(3, 17), (50, 3)], 3, 50, 0),
    ],
)
def test_partitions_are_as_many_as_now_but_for_outliers(
    counts: list[tuple[int, int]], least: int | None, most: int, out: int
) -> None:
    found = _proposed(_twenty(counts))
    part = _part(found, "partitions")
    assert isinstance(part, CountRule)
    assert (part.subject, part.minimum, part.maximum) == ("partitions", least, most)
    assert len(_out(found, "partitions")) == out


@pytest.mark.parametrize(
    ("factors", "least", "out"),
    [([(3, 20)], 3, 0), ([(3, 18), (1, 2)], 3, 2), ([(3, 17), (1, 3)], 1, 0), ([(3, 11), (4, 9)], 3, 0)],
)
def test_replicas_are_at_least_the_usual_ones(factors: list[tuple[int, int]], least: int, out: int) -> None:
    found = _proposed(_twenty(factors, replicas=True))
    part = _part(found, "replicas")
    assert isinstance(part, CountRule)
    assert (part.subject, part.minimum, part.maximum) == ("replicationFactor", least, None)
    assert len(_out(found, "replicas")) == out


@pytest.mark.parametrize(
    ("insync", "times", "proposed"),
    [("2", 1, True), ("2", 20, True), ("3", 2, True), ("3", 3, False), ("2", 0, False)],
)
def test_a_write_survives_a_broker_where_that_is_so_now(insync: str, times: int, proposed: bool) -> None:
    configs = [{"min.insync.replicas": insync} if at < times else {} for at in range(20)]
    found = _proposed(Topic(f"t{at}", 1, 3, configs[at]) for at in range(20))
    part = _part(found, "min.insync.replicas below replicationFactor")
    assert isinstance(part, RelationRule) is proposed
    if isinstance(part, RelationRule):
        assert (part.value, part.other, part.required) == ("min.insync.replicas", "replicationFactor", False)


_FIVE = ("5", "6", "7", "8", "9")


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        # Set by less than a tenth, by a tenth, by nine tenths.
        ("retention.ms", ["7"], None),
        ("retention.ms", ["7"] * 2, (False, ("7",), None, None)),
        ("retention.ms", ["7"] * 17, (False, ("7",), None, None)),
        ("retention.ms", ["7"] * 18, (True, ("7",), None, None)),
        ("retention.ms", [*_FIVE] * 4, (True, None, 5, 9)),
        ("retention.ms", ["0", *_FIVE], (False, None, 0, 9)),
        # Without a limit: no number, and no greatest one where more than a tenth have none.
        ("retention.ms", ["-1"] * 20, (True, ("-1",), None, None)),
        ("retention.ms", [*_FIVE, "-1", "-1"], (False, None, 5, 9)),
        ("retention.ms", [*_FIVE, "-1", "-1", "-1"], (False, None, 5, None)),
        ("min.cleanable.dirty.ratio", ["0.5", "0.25", "0.75"], (False, None, 0.25, 0.75)),
        # Words: those that are used, where they are few.
        ("cleanup.policy", ["delete", "compact"], (False, ("compact", "delete"), None, None)),
        (
            "of.a.plugin",
            [f"w{at:02}" for at in range(10)] * 2,
            (True, tuple(f"w{at:02}" for at in range(10)), None, None),
        ),
        ("of.a.plugin", [f"w{at:02}" for at in range(11)], None),
        ("of.a.plugin", [f"w{at:02}" for at in range(20)], (True, None, None, None)),
        # What a reassignment sets for a time is no habit.
        ("leader.replication.throttled.replicas", ["*"] * 20, None),
    ],
)
def test_a_setting_is_as_it_is_now(
    name: str, values: list[str], expected: tuple[bool, tuple[str, ...] | None, float | None, float | None] | None
) -> None:
    topics = [Topic(f"t{at}", 1, 1, {name: values[at]} if at < len(values) else {}) for at in range(20)]
    part = _part(_proposed(topics), name)
    if expected is None:
        assert part is None
    else:
        assert isinstance(part, SettingRule)
        bounds = (part.minimum and part.minimum.number, part.maximum and part.maximum.number)
        assert (part.name, part.required, part.allowed, *bounds) == (name, *expected)


def test_of_few_topics_one_is_more_than_a_tenth() -> None:
    """Then nothing is an outlier: what is proposed is what each of them has."""
    topics = [Topic(f"t{at}", 50 if at == 0 else 3, 1, {"retention.ms": "9" if at else "-1"}) for at in range(5)]
    found = {one.rule.name: one for one in propose_policy(topics, _OCCASION)}
    part = found["partitions"].rule.parts[0]
    assert isinstance(part, CountRule)
    assert (part.minimum, part.maximum) == (3, 50)
    assert all(one.kept == one.topics == 5 for one in found.values())


def test_of_a_setting_without_any_limit_there_is_no_range() -> None:
    """-1 is none, and -2 means that of the whole topic: neither is a number."""
    topics = [Topic(f"t{at}", 1, 1, {"local.retention.ms": "-1" if at % 2 else "-2"}) for at in range(20)]
    part = _part(_proposed(topics), "local.retention.ms")
    assert isinstance(part, SettingRule)
    assert (part.required, part.allowed, part.minimum, part.maximum) == (True, None, None, None)


def test_without_topics_nothing_is_proposed() -> None:
    assert propose_policy((), _OCCASION) == ()
