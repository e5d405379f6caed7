"""Check one part of a rule on one topic: it passes, fails, or is undecided.

A part that depends on a broker default is undecided and never passes: rules exist because a default may be wrong.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from reconciler.model import CountRule, NameRule, Relation, RelationRule, SettingRule, TopicCheck, normal_form, readable
from reconciler.policy.topic_facts import TopicFacts

_COMPARISONS: Final[dict[Relation, tuple[Callable[[float, float], bool], str]]] = {
    Relation.BELOW: (operator.lt, "below"),
    Relation.AT_MOST: (operator.le, "at most"),
    Relation.ABOVE: (operator.gt, "above"),
    Relation.AT_LEAST: (operator.ge, "at least"),
}
_COUNTS: Final = ("partitions", "replicationFactor", "brokers")
_DEFAULT: Final = "left to the broker"
_BY_DEFAULT: Final = ", which the broker chooses"
NOT_SET: Final = "not set"
_UNKNOWN_BROKERS: Final = "how many brokers there are is not known"


class Shortfall(NamedTuple):
    """How a topic fails a rule: ``about`` is a field or config, ``found`` its value, ``wanted`` what the rule demands.

    If it is not ``decided``, ``found`` says what is unknown.
    """

    code: TopicCheck
    about: str
    found: str
    wanted: str
    decided: bool = True


#: Checks one part of a rule on a topic.
Check: TypeAlias = Callable[[TopicFacts], Iterator[Shortfall]]


def name_check(part: NameRule, matches: Callable[[str], bool] | None) -> Check:
    """The check of a name; ``matches`` is the part's pattern, compiled."""

    def check(topic: TopicFacts) -> Iterator[Shortfall]:
        if matches is not None and not matches(topic.name):
            yield Shortfall(TopicCheck.NAME, "name", topic.name, f"a name that matches {part.pattern}")
        if part.max_length is not None and len(topic.name) > part.max_length:
            length = f"{len(topic.name)} characters"
            yield Shortfall(TopicCheck.NAME, "name", length, f"at most {part.max_length} characters")

    return check


def count_check(part: CountRule) -> Check:
    """The check of partitions or of the replication factor."""
    code = TopicCheck.PARTITIONS if part.subject == "partitions" else TopicCheck.REPLICATION_FACTOR
    per_broker = (part.min_per_broker, part.max_per_broker)

    def check(topic: TopicFacts) -> Iterator[Shortfall]:
        number, wanted = topic.count(part.subject), _count_words(part, topic.brokers)
        chosen = part.subject in topic.chosen
        if chosen and part.required is False:
            return
        # No number, nothing to compare. With `required`, the cluster's default is no answer: it may move.
        if number is None or (chosen and part.required):
            yield Shortfall(code, part.subject, _DEFAULT, wanted, part.required is True)
            return
        # The tighter bound counts: a policy may state a fixed one and one that grows with the brokers.
        low, high = part.minimum or 0, part.maximum
        if topic.brokers is not None:
            low = max(low, (part.min_per_broker or 0) * topic.brokers)
            most = None if part.max_per_broker is None else part.max_per_broker * topic.brokers
            high = min((limit for limit in (high, most) if limit is not None), default=None)
        if number < low or (high is not None and number > high):
            yield Shortfall(code, part.subject, f"{number}{_BY_DEFAULT if chosen else ''}", wanted)
        # Only after the fixed bounds: what breaks these breaks the policy however many brokers there are.
        elif topic.brokers is None and any(limit is not None for limit in per_broker):
            yield Shortfall(code, part.subject, f"{number}, but {_UNKNOWN_BROKERS}", wanted, decided=False)

    return check


def _count_words(part: CountRule, brokers: int | None) -> str:
    known = {None: "for each broker", 1: "for the only broker"}
    each = known.get(brokers, f"for each of {brokers} brokers")
    words = [
        f"at least {part.minimum}" if part.minimum is not None else "",
        f"at most {part.maximum}" if part.maximum is not None else "",
        f"at least {part.min_per_broker} {each}" if part.min_per_broker is not None else "",
        f"at most {part.max_per_broker} {each}" if part.max_per_broker is not None else "",
    ]
    return ", ".join(word for word in words if word) or "declared"


def setting_check(part: SettingRule) -> Check:
    """The check of one config."""

    def check(topic: TopicFacts) -> Iterator[Shortfall]:
        value = topic.configs.get(part.name)
        if part.forbidden:
            if value is not None:
                yield Shortfall(TopicCheck.FORBIDDEN_SETTING, part.name, value, NOT_SET)
        elif value is not None:
            yield from _of_value(part, topic, value, value)
        elif part.required is None and part.name in topic.defaults:
            value = topic.defaults[part.name]
            yield from _of_value(part, topic, value, readable(part.name, value) + _BY_DEFAULT)
        elif part.required is not False:
            yield _unset(part)

    return check


def _unset(part: SettingRule) -> Shortfall:
    if part.required:
        return Shortfall(TopicCheck.MISSING_SETTING, part.name, NOT_SET, _value_words(part) or "set")
    code = TopicCheck.SETTING_VALUE if part.allowed is not None else TopicCheck.SETTING_RANGE
    return Shortfall(code, part.name, _DEFAULT, _value_words(part), decided=False)


def _of_value(part: SettingRule, topic: TopicFacts, value: str, shown: str) -> Iterator[Shortfall]:
    if part.allowed is not None and normal_form(part.name, value) not in part.allowed:
        yield Shortfall(TopicCheck.SETTING_VALUE, part.name, shown, _allowed_words(part))
    if part.minimum is None and part.maximum is None:
        return
    number = topic.setting_number(part.name)
    if number is None:
        # A local limit that refers to a limit that is not set. A value that is not a number is refused on reading.
        yield Shortfall(TopicCheck.SETTING_RANGE, part.name, f"{shown}, {_DEFAULT}", _range_words(part), decided=False)
        return
    low = part.minimum is not None and number < part.minimum.number
    high = part.maximum is not None and number > part.maximum.number
    if low or high:
        yield Shortfall(TopicCheck.SETTING_RANGE, part.name, shown, _range_words(part))


def _value_words(part: SettingRule) -> str:
    return ", ".join(word for word in (_allowed_words(part), _range_words(part)) if word)


def _allowed_words(part: SettingRule) -> str:
    if part.allowed is None:
        return ""
    return part.allowed[0] if len(part.allowed) == 1 else f"one of {' · '.join(part.allowed)}"


def _range_words(part: SettingRule) -> str:
    low = f"at least {part.minimum.text}" if part.minimum is not None else ""
    high = f"at most {part.maximum.text}" if part.maximum is not None else ""
    return ", ".join(word for word in (low, high) if word)


def relation_check(part: RelationRule) -> Check:
    """The check of two numbers of a topic against each other."""
    holds, words = _COMPARISONS[part.relation]
    wanted = f"{part.value} {words} {part.other}"

    def check(topic: TopicFacts) -> Iterator[Shortfall]:
        numbers = [_operand(name, topic) for name in (part.value, part.other)]
        unset = [name for name in (part.value, part.other) if _is_unset(name, topic)]
        missing = [name for name, number in zip((part.value, part.other), numbers, strict=True) if number is None]
        # `required` speaks of values that the manifest leaves out, so it comes before what the cluster would fill in.
        if unset and part.required is not None:
            if part.required:
                yield Shortfall(TopicCheck.MISSING_SETTING, unset[0], NOT_SET, wanted)
        elif missing:
            yield _incomplete(part, missing[0], wanted)
        elif not holds(numbers[0] or 0, numbers[1] or 0):
            found = ", ".join(f"{name} {_shown(name, topic)}" for name in (part.value, part.other))
            yield Shortfall(TopicCheck.RELATION, part.value, found, wanted)

    return check


def _is_unset(name: str, topic: TopicFacts) -> bool:
    return name in topic.chosen if name in _COUNTS else name not in topic.configs


def _incomplete(part: RelationRule, missing: str, wanted: str) -> Shortfall:
    found = _UNKNOWN_BROKERS if missing == "brokers" else f"{missing} {_DEFAULT}"
    return Shortfall(TopicCheck.RELATION, part.value, found, wanted, decided=False)


def _operand(name: str, topic: TopicFacts) -> float | None:
    return topic.count(name) if name in _COUNTS else topic.setting_number(name)


def _shown(name: str, topic: TopicFacts) -> str:
    text = str(topic.count(name)) if name in _COUNTS else readable(name, topic.setting(name) or NOT_SET)
    return text + (_BY_DEFAULT if _is_unset(name, topic) else "")
