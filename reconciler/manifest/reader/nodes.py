"""What a YAML text holds, with the place of each value. All scalars are texts; the models give them types."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeVar

M = TypeVar("M")

#: A value without its places, as pydantic takes it.
Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"


class ScalarNode:
    """One text. Line and column count from 0; ``length`` 0 means up to the end of the line."""

    __slots__ = ("column", "length", "line", "plain")

    def __init__(self, plain: str, line: int, column: int, length: int) -> None:
        """Keeps its arguments."""
        self.plain, self.line, self.column, self.length = plain, line, column, length


class SequenceNode:
    """A list; ``plain`` holds the items' plain values."""

    __slots__ = ("column", "items", "length", "line", "plain")

    def __init__(self, line: int, column: int) -> None:
        """Starts empty."""
        self.items: list[Node] = []
        self.plain: list[Plain] = []
        self.line, self.column, self.length = line, column, 1


class MappingNode:
    """A mapping; ``keys`` and ``values`` by key text, in the order of the file."""

    __slots__ = ("column", "keys", "length", "line", "plain", "values")

    def __init__(self, line: int, column: int) -> None:
        """Starts empty."""
        self.keys: dict[str, ScalarNode] = {}
        self.values: dict[str, Node] = {}
        self.plain: dict[str, Plain] = {}
        self.line, self.column, self.length = line, column, 1

    def get(self, *path: str) -> "Node | None":
        """The value at the end of a path of keys, or ``None`` where there is none."""
        node: Node | None = self
        for key in path:
            node = node.values.get(key) if isinstance(node, MappingNode) else None
        return node

    def text(self, *path: str) -> str | None:
        """The text at the end of a path of keys, or ``None`` where there is no scalar."""
        node = self.get(*path)
        return node.plain if isinstance(node, ScalarNode) else None


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def scalars(node: Node | None) -> list[ScalarNode]:
    """A scalar, or the scalars of a list; anything else has been reported by the models."""
    if isinstance(node, ScalarNode):
        return [node]
    if isinstance(node, SequenceNode):
        return [item for item in node.items if isinstance(item, ScalarNode)]
    return []


def paired(node: Node | None, models: Sequence[M] | None) -> Iterator[tuple[MappingNode, M | None]]:
    """The mappings of a list, each with its model where the document has one."""
    for index, item in enumerate(node.items if isinstance(node, SequenceNode) else []):
        if isinstance(item, MappingNode):
            yield item, models[index] if models is not None else None
