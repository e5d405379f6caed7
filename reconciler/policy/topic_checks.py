"""Check one part of a rule on one topic: it passes, fails, or is undecided.

A part that depends on a broker default is undecided and never passes: rules exist because a default may be wrong.
"""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, NamedTuple, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.model import topic_configs
from reconciler.model.desired import DesiredTopic, Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.topic import Topic
from reconciler.model.topic_rule import (
    CountRule,
    ExpressionRule,
    NameRule,
    Relation,
    RelationRule,
    SettingRule,
    TopicCheck,
)

# A declared topic as rules see it: known values, values left to the broker, unknown values.

_NO_LIMIT: Final = -1
#: A local limit with this value equals the limit without ``local.`` (KIP-405).
_AS_THE_OTHER: Final = -2
#: The broker configs that apply to a new topic without a declared value.
_DEFAULTS: Final = {"partitions": "num.partitions", "replicationFactor": "default.replication.factor"}


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """What is known about the cluster: name, number of brokers, existing topics, broker defaults.

    ``brokers`` is ``None`` if unknown. What a declaration leaves to the broker, an existing topic keeps and a new topic
    takes from ``defaults`` (configs, ``num.partitions``, ``default.replication.factor``). Whether the ``unreadable``
    topics exist is unknown. ``ignored`` are configs that an existing topic keeps.
    """

    cluster: str = ""
    brokers: int | None = None
    live: Mapping[str, Topic] = field(default_factory=FrozenMap)
    defaults: Mapping[str, str] = field(default_factory=FrozenMap)
    unreadable: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic with its numbers, if known, and its declared configs.

    ``chosen`` are the numbers that the declaration leaves to the broker, ``defaults`` the broker's defaults.
    """

    name: str
    origin: Origin
    cluster: str
    partitions: int | None
    replication_factor: int | None
    brokers: int | None
    configs: Mapping[str, str]
    labels: Mapping[str, str]
    chosen: frozenset[str] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=FrozenMap)

    def count(self, name: str) -> int | None:
        """``partitions``, ``replicationFactor`` or ``brokers``, named as in manifests."""
        counts = {
            "partitions": self.partitions,
            "replicationFactor": self.replication_factor,
            "brokers": self.brokers,
        }
        return counts[name]

    def setting(self, name: str) -> str | None:
        """The declared value of a config, else the broker's default; ``None`` if unknown."""
        return self.configs.get(name, self.defaults.get(name))

    def setting_number(self, name: str) -> float | None:
        """A config as a number, infinite for no limit; ``None`` if it is unknown or not a number."""
        text = self.setting(name)
        if text is None:
            return None
        try:
            number = (
                float(text) if topic_configs.TOPIC_CONFIGS.get(name) is topic_configs.ConfigType.DOUBLE else int(text)
            )
        except ValueError:
            return None
        if name in topic_configs.UNLIMITED_CONFIGS and number == _AS_THE_OTHER and name.startswith(topic_configs.LOCAL):
            return self.setting_number(name.removeprefix(topic_configs.LOCAL))
        return math.inf if name in topic_configs.UNLIMITED_CONFIGS and number <= _NO_LIMIT else number


def facts_of(wanted: DesiredTopic, around: ClusterContext) -> TopicFacts:
    """The facts of a declared topic on a cluster; one with explicit replica assignments has its numbers from them."""
    topic, live = wanted.topic, around.live.get(wanted.topic.name)
    declared = {"partitions": topic.num_partitions, "replicationFactor": topic.replication_factor}
    defaults = {} if topic.name in around.unreadable else around.defaults
    kept = {name: _default(defaults, default) for name, default in _DEFAULTS.items()}
    if live is not None:
        defaults = {**defaults, **{name: text for name, text in live.configs.items() if name in around.ignored}}
        kept = {"partitions": live.num_partitions, "replicationFactor": live.replication_factor}
    numbers = {name: kept[name] if number is None else number for name, number in declared.items()}
    return TopicFacts(
        topic.name,
        wanted.origin,
        around.cluster,
        numbers["partitions"],
        numbers["replicationFactor"],
        around.brokers,
        topic.configs,
        wanted.all_labels,
        frozenset(name for name, number in declared.items() if number is None),
        defaults,
    )


def _default(defaults: Mapping[str, str], name: str) -> int | None:
    text = defaults.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


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
    """How a topic fails a rule: ``about`` is a field or config, ``actual`` its value, ``wanted`` what the rule demands.

    If it is not ``decided``, ``actual`` says what is unknown.
    """

    code: TopicCheck
    about: str
    actual: str
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
    phrases = {None: "for each broker", 1: "for the only broker"}
    each = phrases.get(brokers, f"for each of {brokers} brokers")
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
            yield from _of_value(part, topic, value, topic_configs.readable(part.name, value) + _BY_DEFAULT)
        elif part.required is not False:
            yield _unset(part)

    return check


def _unset(part: SettingRule) -> Shortfall:
    if part.required:
        return Shortfall(TopicCheck.MISSING_SETTING, part.name, NOT_SET, _value_words(part) or "set")
    code = TopicCheck.SETTING_VALUE if part.allowed is not None else TopicCheck.SETTING_RANGE
    return Shortfall(code, part.name, _DEFAULT, _value_words(part), decided=False)


def _of_value(part: SettingRule, topic: TopicFacts, value: str, shown: str) -> Iterator[Shortfall]:
    if part.allowed is not None and topic_configs.normal_form(part.name, value) not in part.allowed:
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
            actual = ", ".join(f"{name} {_shown(name, topic)}" for name in (part.value, part.other))
            yield Shortfall(TopicCheck.RELATION, part.value, actual, wanted)

    return check


def _is_unset(name: str, topic: TopicFacts) -> bool:
    return name in topic.chosen if name in _COUNTS else name not in topic.configs


def _incomplete(part: RelationRule, missing: str, wanted: str) -> Shortfall:
    actual = _UNKNOWN_BROKERS if missing == "brokers" else f"{missing} {_DEFAULT}"
    return Shortfall(TopicCheck.RELATION, part.value, actual, wanted, decided=False)


def _operand(name: str, topic: TopicFacts) -> float | None:
    return topic.count(name) if name in _COUNTS else topic.setting_number(name)


def _shown(name: str, topic: TopicFacts) -> str:
    text = str(topic.count(name)) if name in _COUNTS else topic_configs.readable(name, topic.setting(name) or NOT_SET)
    return text + (_BY_DEFAULT if _is_unset(name, topic) else "")


# Rule expressions in CEL (cel-cpp): compiled once, typed, free of side effects, with a limit on iterations.
#
# The engine is the extra ``policy``; it is imported only if there is an expression to compile. The manifest reader
# limits what an expression may build.

#: The longest text that an expression is given; a topic's name has at most 249 characters.
_LONGEST: Final = 300
_FAULT = re.compile(r"ERROR: <input>:([0-9]+):([0-9]+): (.*)")
_CONTAINER: Final = " (in container '')"
_STATUS = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_UNKNOWN = re.compile(r'No value with name "(\w+)" found in Activation')
_UNSET = re.compile(r'Key not found in map : "(.*)"')
_WORD = re.compile(r"[A-Za-z]+")


class MissingEngineError(Exception):
    """The CEL engine is not installed; ``origin`` is the place of the first expression."""

    def __init__(self, origin: Origin) -> None:
        """Says what is missing."""
        super().__init__(f"the expression at {origin} needs the package cel-expr-python")
        self.origin = origin


class ExpressionProblem(NamedTuple):
    """An error in an expression, at a line and column of its text, both counted from 1."""

    part: ExpressionRule
    line: int
    column: int
    message: str


def expression_checks(parts: Sequence[ExpressionRule]) -> tuple[dict[ExpressionRule, Check], list[ExpressionProblem]]:
    """The compiled expressions, and the errors of the others; raises :class:`MissingEngineError`."""
    checks: dict[ExpressionRule, Check] = {}
    faults: list[ExpressionProblem] = []
    if parts:
        engine = _engine(parts[0].origin)
        environment = engine.NewEnv(variables=_variables(engine.Type))
        for part in parts:
            try:
                program = environment.compile(part.text)
            # The library's class for every error of an expression: a missing key, a wrong type, a division by zero.
            except RuntimeError as error:
                faults += _faults(part, str(error))
                continue
            if program.return_type() == engine.Type.BOOL:
                checks[part] = _check(part, program)
            else:
                kind = program.return_type().name()
                faults.append(
                    ExpressionProblem(part, 1, 1, f"the expression gives {kind}, where true or false is expected")
                )
    return checks, faults


def _engine(origin: Origin) -> Any:
    try:
        from cel_expr_python import cel  # noqa: PLC0415 - an extra, for policies with expressions only
    except ModuleNotFoundError as error:
        raise MissingEngineError(origin) from error
    return cel


def _variables(types: Any) -> dict[str, Any]:
    text, number = types.STRING, types.INT
    return {
        "name": text,
        "cluster": text,
        "partitions": number,
        "replicationFactor": number,
        "brokers": number,
        "labels": types.Map(text, text),
        "configs": types.Map(text, types.DYN),
    }


def _faults(part: ExpressionRule, text: str) -> Iterator[ExpressionProblem]:
    faults = _FAULT.findall(text)
    for line, column, message in faults[:1]:
        problem = message.removeprefix("Syntax error: ").removesuffix(_CONTAINER)
        yield ExpressionProblem(part, int(line), int(column), f"not CEL: {problem}")
    if not faults:
        yield ExpressionProblem(part, 1, 1, f"not CEL: {_STATUS.sub('', text)}")


def _check(part: ExpressionRule, program: Any) -> Check:
    wanted = " ".join(part.text.split())
    words = frozenset(_WORD.findall(part.text))

    def check(topic: TopicFacts) -> Iterator[Shortfall]:
        maps = _maps(words, topic)
        # CEL matches regular expressions in a time that grows with the text, and the text is the proposer's.
        if any(len(text) > _LONGEST for values in maps.values() for pair in values.items() for text in pair):
            actual = f"a label or setting has more than {_LONGEST} characters"
            yield Shortfall(TopicCheck.EXPRESSION, "expression", actual, wanted, decided=False)
            return
        try:
            answer = program.eval(data=_data(topic, maps)).value()
        except RuntimeError as error:
            answer = str(error)
        if answer is False:
            yield Shortfall(TopicCheck.EXPRESSION, "expression", _values(part.text, topic, maps), wanted)
        # An expression that gives neither true nor false has not agreed: never take it for a yes.
        elif answer is not True:
            yield Shortfall(TopicCheck.EXPRESSION, "expression", _reason(str(answer)), wanted, decided=False)

    return check


def _maps(words: frozenset[str], topic: TopicFacts) -> dict[str, Mapping[str, str]]:
    """Labels and configs, if the expression uses them: most do not, and to convert them takes most of the time."""
    return {name: values for name, values in (("labels", topic.labels), ("configs", topic.configs)) if name in words}


def _data(topic: TopicFacts, maps: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The known variables; CEL still decides if the result does not depend on the others."""
    counts = {name: topic.count(name) for name in ("partitions", "replicationFactor", "brokers")}
    return {
        "name": topic.name,
        "cluster": topic.cluster,
        "labels": dict(maps.get("labels", {})),
        "configs": {name: _typed(name, text) for name, text in maps.get("configs", {}).items()},
        **{name: number for name, number in counts.items() if number is not None},
    }


def _typed(name: str, text: str) -> Any:
    config_type = topic_configs.TOPIC_CONFIGS.get(name)
    try:
        if config_type in topic_configs.WHOLE_NUMBERS:
            return int(text)
        if config_type is topic_configs.ConfigType.DOUBLE:
            return float(text)
    except ValueError:
        return text
    if config_type is topic_configs.ConfigType.BOOLEAN:
        return text == "true"
    return [item for item in text.split(",") if item] if config_type is topic_configs.ConfigType.LIST else text


def _values(text: str, topic: TopicFacts, maps: Mapping[str, Mapping[str, str]]) -> str:
    """The values that the expression uses."""
    counts = {name: topic.count(name) for name in ("partitions", "replicationFactor", "brokers")}
    fields = {"name": topic.name, **counts, "cluster": topic.cluster}
    words = frozenset(_WORD.findall(text))
    used = [f"{name} is {value}" for name, value in fields.items() if name in words]
    for values in maps.values():
        used += [f"{name} is {value}" for name, value in values.items() if name in text]
    return ", ".join(used) or "false"


def _reason(answer: str) -> str:
    unknown, unset = _UNKNOWN.search(answer), _UNSET.search(answer)
    if unknown is not None:
        name = unknown[1]
        return "how many brokers there are is not known" if name == "brokers" else f"{name} left to the broker"
    if unset is not None:
        return f"{unset[1]} is not set"
    return _STATUS.sub("", answer)
