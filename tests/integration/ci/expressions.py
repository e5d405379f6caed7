"""The part of GitHub's expression language that the workflows use, so that tests can play them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_TOKEN: Final = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||==|!=|[!(),]|[A-Za-z_][\w.-]*)")
_PLACE: Final = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_CONSTANTS: Final[Mapping[str, object]] = {"true": True, "false": False, "null": None}


class Expression:
    """One expression over ``context``; ``functions`` such as ``cancelled`` by name."""

    def __init__(self, text: str, context: Mapping[str, Any], functions: Mapping[str, Callable[..., object]]) -> None:
        self._tokens = [found for found in _TOKEN.findall(text) if found]
        assert "".join(self._tokens) == re.sub(r"\s+", "", text), f"not understood: {text}"
        self._context, self._functions = context, functions

    def value(self) -> object:
        """What it comes to; everything has to be read."""
        found = self._either()
        assert not self._tokens
        return found

    def _next(self, *tokens: str) -> str | None:
        return self._tokens.pop(0) if self._tokens and self._tokens[0] in tokens else None

    def _either(self) -> object:
        found = self._both()
        while self._next("||"):
            other = self._both()
            found = found or other
        return found

    def _both(self) -> object:
        found = self._compared()
        while self._next("&&"):
            other = self._compared()
            found = found and other
        return found

    def _compared(self) -> object:
        found = self._single()
        sign = self._next("==", "!=")
        return found if sign is None else (found == self._single()) is (sign == "==")

    def _single(self) -> object:
        if self._next("!"):
            return not self._single()
        if self._next("("):
            found = self._either()
            assert self._next(")")
            return found
        token = self._tokens.pop(0)
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if self._next("("):
            arguments = []
            while not self._next(")"):
                arguments.append(self._either())
                self._next(",")
            return self._functions[token](*arguments)
        return _CONSTANTS[token] if token in _CONSTANTS else looked_up(token, self._context)


def looked_up(path: str, context: Mapping[str, Any]) -> object:
    """``a.b.c`` in nested mappings, the empty text where there is nothing."""
    found: Any = context
    for name in path.split("."):
        found = found.get(name, "") if isinstance(found, Mapping) else ""
    return found


def formatted(template: str, *values: object) -> str:
    """``format('{0}/x', a)``."""
    return re.sub(r"\{(\d+)\}", lambda match: str(values[int(match[1])]), template)


def filled(text: object, context: Mapping[str, Any], functions: Mapping[str, Callable[..., object]]) -> str:
    """A value of a workflow with its ``${{ … }}`` replaced."""

    def one(match: re.Match[str]) -> str:
        found = Expression(match[1], context, functions).value()
        return str(found).lower() if isinstance(found, bool) else "" if found is None else str(found)

    return _PLACE.sub(one, str(text))
