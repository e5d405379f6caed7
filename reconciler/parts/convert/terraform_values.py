"""The values of Terraform's expressions, as far as its files alone decide them.

Literals, references, operators on equality and truth, ``for``, and functions without effects. Whatever else there is
raises :class:`NotPlainError`: a value that is guessed may grant what nobody declared.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Final

from reconciler.dataclass import dataclass

# Terraform's functions without effects, and how its values turn into texts, booleans, lists and sets.

_SHOWN: Final = 80


class NotPlainError(Exception):
    """An expression that is not evaluated; the message quotes it."""

    def __init__(self, text: object) -> None:
        """Keep the beginning of the expression."""
        super().__init__(str(text)[:_SHOWN])


class Set(tuple[Any, ...]):
    """Terraform's set of texts: sorted, each one once. Any other tuple or list keeps its order."""

    __slots__ = ()


def text_of(value: Any) -> str:
    """A text, number or truth as Terraform puts it into a text; raises :class:`NotPlainError` for anything else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else str(value)
    if isinstance(value, str):
        return value
    raise NotPlainError(value)


def unescaped(text: str) -> str:
    """What a quoted text says, with its escapes resolved; raises :class:`NotPlainError`."""
    # "$${" is a literal "${" in HCL and no escape in JSON: it would become a reference further on.
    if "$${" in text or "%%{" in text:
        raise NotPlainError(text)
    try:
        plain: str = json.loads(f'"{text}"')
    except ValueError as error:
        raise NotPlainError(text) from error
    return plain


def truth_of(value: Any) -> bool:
    """A boolean, or a text that Terraform takes for one; raises :class:`NotPlainError`."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise NotPlainError(value)


def as_set(values: Any) -> Set:
    """Terraform's set of texts."""
    if isinstance(values, str | Mapping):
        raise NotPlainError(values)
    return Set(sorted({text_of(value) for value in values}))


def _merge(*maps: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for mapping in maps:
        merged.update(mapping)
    return merged


def _flatten(values: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        flat += _flatten(value) if isinstance(value, list | tuple) else [value]
    return flat


def _lookup(of: Mapping[str, Any], key: str, *default: Any) -> Any:
    if key in of:
        return of[key]
    [other] = default
    return other


#: Those that configurations of Kafka use. What is missing is never guessed: its resource is named as not converted.
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "toset": as_set,
    "tolist": list,
    "tomap": dict,
    "tostring": text_of,
    "concat": lambda *lists: [item for part in lists for item in items_of(part)],
    "merge": _merge,
    "keys": sorted,
    "values": lambda of: [of[key] for key in sorted(of)],
    "length": len,
    "distinct": lambda values: list(dict.fromkeys(items_of(values))),
    "flatten": _flatten,
    "setunion": lambda *sets: as_set([item for part in sets for item in items_of(part)]),
    "contains": lambda values, value: value in items_of(values),
    "lookup": _lookup,
    "join": lambda separator, values: text_of(separator).join(text_of(item) for item in items_of(values)),
    "lower": lambda text: text_of(text).lower(),
    "upper": lambda text: text_of(text).upper(),
}


def items_of(values: Any) -> Sequence[Any]:
    """The items of a list, tuple or set; raises :class:`NotPlainError` for a mapping, whose items are pairs."""
    if not isinstance(values, list | tuple):
        raise NotPlainError(values)
    return values


#: Expressions of all files together: ten times what 570 modules of one company take, and soon reached by values that
#: refer to each other many times over.
_MOST_STEPS: Final = 500_000
#: Longer than any name.
_LONGEST: Final = 8_192
_CONSTANTS: Final[Mapping[str, Any]] = {"true": True, "false": False, "null": None}


class EvaluationScope(ABC):
    """What an expression can refer to."""

    @abstractmethod
    def value_of(self, steps: Sequence[Any]) -> tuple[Any, int]:
        """The value that the first steps of ``var.x["key"].name`` name, and how many steps these are.

        Raises :class:`NotPlainError`.
        """


@dataclass(frozen=True, slots=True)
class Within(EvaluationScope):
    """A scope with names of its own: ``each``, ``count``, and what ``for`` counts with."""

    outer: EvaluationScope
    names: Mapping[str, Any]

    def value_of(self, steps: Sequence[Any]) -> tuple[Any, int]:
        """The value of one of the names, else of the outer scope's."""
        return (self.names[steps[0]], 1) if steps[0] in self.names else self.outer.value_of(steps)


@dataclass(slots=True)
class Evaluator:
    """Evaluates what the parser gives, up to a number of steps for all expressions together."""

    steps: int = field(default=0)

    def value(self, given: Any, scope: EvaluationScope) -> Any:
        """A value of the parser's: a mapping, a list, a number, or a text that holds an expression."""
        if isinstance(given, Mapping):
            named = {key: item for key, item in given.items() if not key.startswith("__")}
            return {self._key(key, scope): self.value(item, scope) for key, item in named.items()}
        if isinstance(given, list):
            return [self.value(item, scope) for item in given]
        return self._of(_parsed(given), scope) if isinstance(given, str) else given

    def value_or_text(self, given: Any, scope: EvaluationScope) -> Any:
        """As :meth:`value`, but where that needs more than the files, the text of the expression stands for it."""
        if isinstance(given, Mapping):
            named = {key: item for key, item in given.items() if not key.startswith("__")}
            return {key.strip('"'): self.value_or_text(item, scope) for key, item in named.items()}
        if isinstance(given, list):
            return [self.value_or_text(item, scope) for item in given]
        try:
            return self.value(given, scope)
        except NotPlainError:
            return given.strip('"').removeprefix("${").removesuffix("}")

    def _key(self, key: str, scope: EvaluationScope) -> str:
        return text_of(self._of(_parsed(key), scope)) if key.startswith(('"', "${")) else key

    def _of(self, node: Any, scope: EvaluationScope) -> Any:
        self.steps += 1
        kind = node.lark_name()
        if self.steps > _MOST_STEPS or kind not in _KINDS:
            raise NotPlainError(_text(node))
        try:
            return _KINDS[kind](self, node, scope)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
            # A missing key, a list where a text belongs: Terraform would refuse it, or convert it by rules of its own.
            raise NotPlainError(_text(node)) from error

    def _term(self, node: Any, scope: EvaluationScope) -> Any:
        return self._of(node.expression, scope)

    def _literal(self, node: Any, _scope: EvaluationScope) -> Any:
        return _CONSTANTS[str(node.token.value)]

    def _number(self, node: Any, _scope: EvaluationScope) -> Any:
        number = float(str(node.token.value))
        return int(number) if number == int(number) else number

    def _string(self, node: Any, scope: EvaluationScope) -> str:
        parts = []
        for part in node.string_parts:
            content = part.content
            if content.lark_name() == "interpolation":
                parts.append(text_of(self._of(content.expression, scope)))
            elif content.lark_name() == "STRING_CHARS":
                parts.append(unescaped(str(content.value)))
            else:
                raise NotPlainError(_text(node))
        text = "".join(parts)
        if len(text) > _LONGEST:
            raise NotPlainError(text)
        return text

    def _tuple(self, node: Any, scope: EvaluationScope) -> list[Any]:
        return [self._of(item, scope) for item in node.elements]

    def _object(self, node: Any, scope: EvaluationScope) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for item in node.elements:
            key = item.key.value if item.key.lark_name() == "object_elem_key" else item.key
            bare = key.lark_name() == "identifier"
            inside = key.expression if key.lark_name() == "object_elem_key_expr" else key
            name = str(key.token.value) if bare else text_of(self._of(inside, scope))
            values[name] = self._of(item.expression, scope)
        return values

    def _condition(self, node: Any, scope: EvaluationScope) -> Any:
        chosen = node.if_true if truth_of(self._of(node.condition, scope)) else node.if_false
        return self._of(chosen, scope)

    def _binary(self, node: Any, scope: EvaluationScope) -> Any:
        operator = str(node.binary_term.binary_operator.token.value)
        left, other = self._of(node.expr_term, scope), node.binary_term.expr_term
        match operator:
            case "==" | "!=":
                right = self._of(other, scope)
                # Terraform's rules for values of two types are its own.
                if left is not None and right is not None and type(left) is not type(right):
                    raise NotPlainError(_text(node))
                return (left == right) is (operator == "==")
            case "&&":
                return truth_of(left) and truth_of(self._of(other, scope))
            case "||":
                return truth_of(left) or truth_of(self._of(other, scope))
        raise NotPlainError(_text(node))

    def _unary(self, node: Any, scope: EvaluationScope) -> Any:
        value = self._of(node.expr_term, scope)
        return not truth_of(value) if node.operator == "!" else -value

    def _call(self, node: Any, scope: EvaluationScope) -> Any:
        name = "::".join(str(part.token.value) for part in node.identifiers)
        given = node.arguments
        if name not in FUNCTIONS or (given is not None and given.has_ellipsis):
            raise NotPlainError(_text(node))
        return FUNCTIONS[name](*(self._of(item, scope) for item in (given.arguments if given else ())))

    def _for_list(self, node: Any, scope: EvaluationScope) -> list[Any]:
        return [self._of(node.value_expr, inner) for inner in self._rounds(node, scope)]

    def _for_object(self, node: Any, scope: EvaluationScope) -> dict[str, Any]:
        if node.ellipsis is not None:
            raise NotPlainError(_text(node))
        values: dict[str, Any] = {}
        for inner in self._rounds(node, scope):
            key = text_of(self._of(node.key_expr, inner))
            if key in values:
                raise NotPlainError(_text(node))
            values[key] = self._of(node.value_expr, inner)
        return values

    def _rounds(self, node: Any, scope: EvaluationScope) -> Iterator[Within]:
        intro = node.for_intro
        over = self._of(intro.iterable, scope)
        if isinstance(over, Mapping):
            pairs = list(over.items())
        else:
            pairs = [(key, key) for key in over] if isinstance(over, Set) else list(enumerate(items_of(over)))
        first, second = str(intro.first_iterator.token.value), intro.second_iterator
        for key, value in pairs:
            names = {first: value} if second is None else {first: key, str(second.token.value): value}
            inner = Within(scope, names)
            if node.condition is None or truth_of(self._of(node.condition.condition_expr, inner)):
                yield inner

    def _reference(self, node: Any, scope: EvaluationScope) -> Any:
        base, steps = self._steps(node, scope)
        if base is None:
            value, taken = scope.value_of(steps)
        else:
            value, taken = self._of(base, scope), 0
        for step in steps[taken:]:
            value = value[step if isinstance(value, Mapping) else int(step)]
        return value

    def _steps(self, node: Any, scope: EvaluationScope) -> tuple[Any, list[Any]]:
        """What the steps begin at, ``None`` where that is a name, and the steps: names and evaluated indexes."""
        kind = node.lark_name()
        if kind == "expr_term" and not node.parentheses:
            return self._steps(node.expression, scope)
        if kind == "identifier":
            return None, [str(node.token.value)]
        if kind == "get_attr_expr_term":
            base, steps = self._steps(node.expr_term, scope)
            return base, [*steps, str(node.get_attr.identifier.token.value)]
        if kind == "index_expr_term":
            base, steps = self._steps(node.children[0], scope)
            index = node.children[1]
            short = index.lark_name() == "short_index"
            return base, [*steps, int(index.index.value) if short else self._of(index.index_expression, scope)]
        return node, []


_KINDS: Final[Mapping[str, Callable[[Evaluator, Any, EvaluationScope], Any]]] = {
    "expr_term": Evaluator._term,
    "literal_value": Evaluator._literal,
    "int_lit": Evaluator._number,
    "float_lit": Evaluator._number,
    "string": Evaluator._string,
    "tuple": Evaluator._tuple,
    "object": Evaluator._object,
    "conditional": Evaluator._condition,
    "binary_op": Evaluator._binary,
    "unary_op": Evaluator._unary,
    "function_call": Evaluator._call,
    "for_tuple_expr": Evaluator._for_list,
    "for_object_expr": Evaluator._for_object,
    "identifier": Evaluator._reference,
    "get_attr_expr_term": Evaluator._reference,
    "index_expr_term": Evaluator._reference,
}


@lru_cache(maxsize=10_000)
def _parsed(text: str) -> Any:
    """The expression that the parser has put into a text: ``"quoted"``, ``${an.expression}`` or a bare word."""
    import hcl2  # noqa: PLC0415 - an extra, for sources without a state only

    inside = text[2:-1] if text.startswith("${") and text.endswith("}") else text
    try:
        [attribute] = [rule for rule in hcl2.parses(f"x = {inside}\n").body.children if rule.lark_name() == "attribute"]
        return attribute.expression
    except Exception as error:  # the parser has no class of its own for what it refuses
        raise NotPlainError(inside) from error


def _text(node: Any) -> str:
    import hcl2  # noqa: PLC0415 - as above

    return str(node.serialize(hcl2.SerializationOptions(with_comments=False))).removeprefix("${").removesuffix("}")
