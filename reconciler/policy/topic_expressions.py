"""Rule expressions in CEL (cel-cpp): compiled once, typed, free of side effects, with a limit on iterations.

The engine is the extra ``policy``; it is imported only if there is an expression to compile. The manifest reader limits
what an expression may build.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from reconciler.model import TOPIC_CONFIGS, ConfigType, ExpressionRule, Origin, TopicCheck
from reconciler.policy.topic_checks import Check, Shortfall
from reconciler.policy.topic_facts import TopicFacts

#: The longest text that an expression is given; a topic's name has at most 249 characters.
_LONGEST: Final = 300
_NUMBERS: Final = frozenset({ConfigType.INTEGER, ConfigType.MILLIS, ConfigType.BYTES})
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
    found = _FAULT.findall(text)
    for line, column, message in found[:1]:
        said = message.removeprefix("Syntax error: ").removesuffix(_CONTAINER)
        yield ExpressionProblem(part, int(line), int(column), f"not CEL: {said}")
    if not found:
        yield ExpressionProblem(part, 1, 1, f"not CEL: {_STATUS.sub('', text)}")


def _check(part: ExpressionRule, program: Any) -> Check:
    wanted = " ".join(part.text.split())
    words = frozenset(_WORD.findall(part.text))

    def check(topic: TopicFacts) -> Iterator[Shortfall]:
        maps = _maps(words, topic)
        # CEL matches regular expressions in a time that grows with the text, and the text is the proposer's.
        if any(len(text) > _LONGEST for values in maps.values() for pair in values.items() for text in pair):
            found = f"a label or setting has more than {_LONGEST} characters"
            yield Shortfall(TopicCheck.EXPRESSION, "expression", found, wanted, decided=False)
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
    config_type = TOPIC_CONFIGS.get(name)
    try:
        if config_type in _NUMBERS:
            return int(text)
        if config_type is ConfigType.DOUBLE:
            return float(text)
    except ValueError:
        return text
    if config_type is ConfigType.BOOLEAN:
        return text == "true"
    return [item for item in text.split(",") if item] if config_type is ConfigType.LIST else text


def _values(text: str, topic: TopicFacts, maps: Mapping[str, Mapping[str, str]]) -> str:
    """The values that the expression uses."""
    counts = {name: topic.count(name) for name in ("partitions", "replicationFactor", "brokers")}
    known = {"name": topic.name, **counts, "cluster": topic.cluster}
    words = frozenset(_WORD.findall(text))
    found = [f"{name} is {value}" for name, value in known.items() if name in words]
    for values in maps.values():
        found += [f"{name} is {value}" for name, value in values.items() if name in text]
    return ", ".join(found) or "false"


def _reason(answer: str) -> str:
    unknown, unset = _UNKNOWN.search(answer), _UNSET.search(answer)
    if unknown is not None:
        name = unknown[1]
        return "how many brokers there are is not known" if name == "brokers" else f"{name} left to the broker"
    if unset is not None:
        return f"{unset[1]} is not set"
    return _STATUS.sub("", answer)
