"""YAML and JSON of other tools: every value with its place, every scalar as its source text.

Scalars stay texts, because ``1234`` may be a group and ``7200000`` a config: the field decides. Anchors are supported,
as in those tools; duplicate keys are refused, because one of the values would be lost.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

#: More than ten times the depth of any tool's files.
MAX_DEPTH: Final = 200
_TOO_DEEP: Final = "the nesting is too deep"
_Value: TypeAlias = "str | Mapping[str, Tree] | Sequence[Tree] | None"


class SourceError(Exception):
    """Input that cannot be read; the message says where."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A text, ``None``, a mapping or a sequence, with its place: ``file:line``, or a path in a JSON file."""

    where: str
    value: _Value

    def get(self, *path: str) -> "Tree":
        """The value at the end of a path of keys; a tree with ``None`` if there is none."""
        node = self
        for key in path:
            value = node.value
            found = value.get(key) if isinstance(value, Mapping) else None
            node = found if found is not None else Tree(node.where, None)
        return node

    def text(self, *path: str) -> str | None:
        """The text at the end of a path, ``None`` if it is absent or empty. Raises :class:`SourceError`."""
        node = self.get(*path)
        if node.value is None or isinstance(node.value, str):
            return node.value or None
        raise SourceError(f"{node.where}: expected a text as {'.'.join(path)}")

    def text_or(self, default: str, field: str) -> str:
        """The text of a field, ``default`` only if it is absent: an empty text is a value."""
        return default if self.get(field).value is None else self.text(field) or ""

    def flag(self, *path: str) -> bool:
        """Whether the value is ``true``."""
        return (self.text(*path) or "").lower() == "true"

    def items(self, *path: str) -> Sequence["Tree"]:
        """The items of a list, empty if it is absent. Raises :class:`SourceError` for anything else."""
        node = self.get(*path)
        if node.value in (None, ""):
            return ()
        if isinstance(node.value, str | Mapping) or node.value is None:
            raise SourceError(f"{node.where}: expected a list{' as ' if path else ''}{'.'.join(path)}")
        return node.value

    def texts(self, *path: str) -> list[str]:
        """The items of a list of texts."""
        return [text for item in self.items(*path) if (text := item.text()) is not None]

    def fields(self, *path: str) -> Mapping[str, "Tree"]:
        """The fields of a mapping, empty if it is absent. Raises :class:`SourceError` for anything else."""
        node = self.get(*path)
        if node.value in (None, ""):
            return {}
        if not isinstance(node.value, Mapping):
            raise SourceError(f"{node.where}: expected a mapping{' as ' if path else ''}{'.'.join(path)}")
        return node.value

    def settings(self, *path: str) -> dict[str, str]:
        """A mapping of texts, such as configs."""
        return {key: value.text() or "" for key, value in self.fields(*path).items()}


def by_name(named: Iterable[tuple[str, Tree]]) -> dict[str, Tree]:
    """Trees by name; raises :class:`SourceError` for a duplicate name, because one tree would be lost."""
    found: dict[str, Tree] = {}
    for name, tree in named:
        if found.setdefault(name, tree) is not tree:
            raise SourceError(f"{tree.where}: duplicate name {name!r}, also at {found[name].where}")
    return found


def yaml_trees(name: str, text: str) -> list[Tree]:
    """The documents of a YAML text that are not empty."""
    try:
        _check_depth(name, text)
        nodes = list(yaml.compose_all(text, Loader=yaml.CBaseLoader))
        return [_from_node(name, node, {}) for node in nodes if node is not None]
    except RecursionError:
        raise SourceError(f"{name}: {_TOO_DEEP}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark is not None else name
        raise SourceError(f"{where}: this is not YAML: {getattr(error, 'problem', None) or error}") from error


def _check_depth(name: str, text: str) -> None:
    """Checks events, because the composer is recursive and overflows the stack on deep nesting."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CBaseLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise SourceError(f"{name}: {_TOO_DEEP}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _from_node(name: str, node: Any, known: dict[int, Tree]) -> Tree:
    """A node as a tree; an anchor's node is built once, however often it is named."""
    if id(node) in known:
        return known[id(node)]
    where = f"{name}:{node.start_mark.line + 1}"
    if isinstance(node, yaml.ScalarNode):
        absent = not node.style and node.value in ("", "~", "null")
        tree = Tree(where, None if absent else node.value)
    elif isinstance(node, yaml.SequenceNode):
        tree = Tree(where, tuple(_from_node(name, item, known) for item in node.value))
    else:
        tree = Tree(where, _fields(name, node, known))
    known[id(node)] = tree
    return tree


def _fields(name: str, node: Any, known: dict[int, Tree]) -> dict[str, Tree]:
    fields: dict[str, Tree] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise SourceError(f"{name}:{line}: a key must be a text")
        if key.value in fields:
            raise SourceError(f"{name}:{line}: {key.value} appears twice there")
        # The place of a value is the line of its key, even if it begins on the next line.
        fields[key.value] = Tree(f"{name}:{line}", _from_node(name, value, known).value)
    return fields


def json_tree(name: str, text: str) -> Tree:
    """A JSON text; places are paths such as ``state.json:resources[3].type``."""
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_int=str, parse_float=str, parse_constant=str)
        return _from_json(f"{name}:", document)
    except RecursionError:
        raise SourceError(f"{name}: {_TOO_DEEP}") from None
    except ValueError as error:
        raise SourceError(f"{name}: this is not JSON: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key appears twice in one object")
    return found


def _from_json(where: str, value: Any) -> Tree:
    if isinstance(value, dict):
        return Tree(where, {key: _from_json(_below(where, key), item) for key, item in value.items()})
    if isinstance(value, list):
        return Tree(where, tuple(_from_json(f"{where}[{index}]", item) for index, item in enumerate(value)))
    if isinstance(value, bool):
        return Tree(where, str(value).lower())
    return Tree(where, value)


def _below(where: str, key: str) -> str:
    return f"{where}{key}" if where.endswith(":") else f"{where}.{key}"
