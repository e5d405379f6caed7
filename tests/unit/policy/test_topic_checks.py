"""Each check of a topic against its definition, for all that may be declared, be a default, or not be known."""

from collections.abc import Iterable
from itertools import product
from typing import Final

import pytest

from reconciler.model.desired import Origin
from reconciler.model.topic_rule import Bound, CountRule, Relation, RelationRule, SettingRule, TopicCheck, TopicNumber
from reconciler.policy.topic_checks import (
    Shortfall,
    TopicFacts,
    count_check,
    relation_check,
    setting_check,
)

_HERE: Final = Origin("a.yaml", 1, 1)
_MAYBE: Final = (None, True, False)
_KEPT, _BROKEN, _UNDECIDED = "kept", "broken", "undecided"


def _facts(
    number: int | None = None,
    *,
    chosen: Iterable[str] = (),
    brokers: int | None = None,
    configs: dict[str, str] | None = None,
    defaults: dict[str, str] | None = None,
) -> TopicFacts:
    return TopicFacts("t", _HERE, "c", number, number, brokers, configs or {}, {}, frozenset(chosen), defaults or {})


def _verdict(found: Iterable[Shortfall]) -> str:
    kinds = {_BROKEN if one.decided else _UNDECIDED for one in found}
    assert len(kinds) <= 1
    return kinds.pop() if kinds else _KEPT


@pytest.mark.parametrize("subject", ["partitions", "replicationFactor"])
def test_a_count_is_within_every_bound_that_is_known(subject: TopicNumber) -> None:
    for low, high, low_each, high_each, required in product((None, 3), (None, 5), (None, 2), (None, 3), _MAYBE):
        check = count_check(CountRule(_HERE, subject, low, high, low_each, high_each, required))
        for number, chosen, brokers in product((None, *range(1, 10)), (False, True), (None, 1, 2)):
            if number is None and not chosen:
                continue  # what is declared is known
            each = [limit for limit in (low_each, high_each) if limit is not None]
            # What the manifest leaves out is as `required` says; without it, as the broker's default is.
            if chosen and required is False:
                expected = _KEPT
            elif chosen and required:
                expected = _BROKEN
            elif number is None:
                expected = _UNDECIDED
            elif (
                (low is not None and number < low)
                or (high is not None and number > high)
                or (brokers is not None and low_each is not None and number < low_each * brokers)
                or (brokers is not None and high_each is not None and number > high_each * brokers)
            ):
                expected = _BROKEN
            else:
                expected = _UNDECIDED if each and brokers is None else _KEPT
            found = list(check(_facts(number, chosen=[subject] if chosen else [], brokers=brokers)))
            assert _verdict(found) == expected, (low, high, low_each, high_each, required, number, chosen, brokers)
            code = TopicCheck.PARTITIONS if subject == "partitions" else TopicCheck.REPLICATION_FACTOR
            assert all((one.code, one.about) == (code, subject) for one in found)
            assert all((", which the broker chooses" in one.actual) <= chosen for one in found)


def test_a_setting_is_one_of_those_that_are_allowed_and_within_its_range() -> None:
    least, most = Bound(5, "5 ms"), Bound(9, "9 ms")
    for low, high, allowed, required in product((None, least), (None, most), (None, ("4", "7")), _MAYBE):
        check = setting_check(SettingRule(_HERE, "retention.ms", required, allowed=allowed, minimum=low, maximum=high))
        for value, default in product((None, "4", "5", "7", "9", "10", "-1"), (None, "7", "10")):
            counts = value if value is not None else default if required is None else None
            if counts is None:
                expected = _BROKEN if required else _KEPT if required is False else _UNDECIDED
            else:
                number = float("inf") if counts == "-1" else int(counts)
                wrong = (
                    (allowed is not None and counts not in allowed)
                    or (low is not None and number < 5)
                    or (high is not None and number > 9)
                )
                expected = _BROKEN if wrong else _KEPT
            configs = {} if value is None else {"retention.ms": value}
            defaults = {} if default is None else {"retention.ms": default}
            found = list(check(_facts(1, configs=configs, defaults=defaults)))
            assert _verdict(found) == expected, (low, high, allowed, required, value, default)
            if counts is None and found:
                unset = TopicCheck.SETTING_VALUE if allowed else TopicCheck.SETTING_RANGE
                assert [one.code for one in found] == [TopicCheck.MISSING_SETTING if required else unset]


@pytest.mark.parametrize("value", [None, "7"])
def test_a_setting_that_is_forbidden_is_not_set(value: str | None) -> None:
    check = setting_check(SettingRule(_HERE, "retention.ms", forbidden=True))
    configs = {} if value is None else {"retention.ms": value}
    found = list(check(_facts(1, configs=configs, defaults={"retention.ms": "9"})))
    assert [one.code for one in found] == ([] if value is None else [TopicCheck.FORBIDDEN_SETTING])


_HOLDS: Final = {
    Relation.BELOW: {-1},
    Relation.AT_MOST: {-1, 0},
    Relation.ABOVE: {1},
    Relation.AT_LEAST: {0, 1},
}


@pytest.mark.parametrize("relation", Relation)
def test_two_numbers_of_a_topic_compare_as_the_rule_says(relation: Relation) -> None:
    """A setting with the number of partitions: each declared, a default, or not known."""
    for required, value, default, chosen in product(_MAYBE, (None, "2", "3", "4"), (None, "3", "4"), (False, True)):
        for count in (3, None) if chosen else (3,):
            facts = _facts(
                count,
                chosen=["partitions"] if chosen else [],
                configs={} if value is None else {"segment.ms": value},
                defaults={} if default is None else {"segment.ms": default},
            )
            number = value or default
            if required is not None and (chosen or value is None):
                expected = _BROKEN if required else _KEPT
            elif count is None or number is None:
                expected = _UNDECIDED
            else:
                sign = (int(number) > count) - (int(number) < count)
                expected = _KEPT if sign in _HOLDS[relation] else _BROKEN
            found = list(relation_check(RelationRule(_HERE, "segment.ms", relation, "partitions", required))(facts))
            assert _verdict(found) == expected, (required, value, default, chosen, count)
            if count is not None and number is not None and required is None:
                assert all(("partitions 3, which the broker chooses" in one.actual) is chosen for one in found)


@pytest.mark.parametrize(
    ("name", "value", "number"),
    [
        ("retention.ms", "7", 7),
        ("retention.ms", "-1", float("inf")),
        ("retention.ms", "-7", float("inf")),
        ("local.retention.ms", "-1", float("inf")),
        # As the whole topic, of which another config says how long.
        ("local.retention.ms", "-2", 9),
        ("min.cleanable.dirty.ratio", "0.5", 0.5),
        # Of other settings a negative number is one.
        ("new.setting", "-1", -1),
        ("new.setting", "x", None),
        ("segment.bytes", None, None),
    ],
)
def test_a_setting_as_a_number(name: str, value: str | None, number: float | None) -> None:
    configs = {"retention.ms": "9"} | ({} if value is None else {name: value})
    assert _facts(1, configs=configs).setting_number(name) == number
