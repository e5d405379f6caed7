"""The files of another tool, all inside the given directory: every value with its place, every scalar as its text.

Scalars stay texts, because ``1234`` may be a group and ``7200000`` a config: the field decides. Anchors are supported,
as in those tools; duplicate keys are refused, because one of the values would be lost.

A tree remembers what has been asked of it. What nobody asked for may grant or deny something, so the conversion names
it (:meth:`Tree.leftovers`): a converter that forgets a field, or misspells one, is loud.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, takewhile
from pathlib import Path
from posixpath import normpath
from typing import Any, Final, TypeAlias

import javaproperties
import yaml

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap

#: More than ten times the depth of any tool's files.
MAX_DEPTH: Final = 200
_TOO_DEEP: Final = "the nesting is too deep"
_Value: TypeAlias = "str | Mapping[str, Tree] | Sequence[Tree] | None"
#: Marks in :attr:`Tree.read`, which no key can be: a list's items were asked for; all below needs no asking.
_ITEMS: Final = "\0items"
_ALL: Final = "\0all"
#: A Terraform state with 100,000 ACLs has about 60 MB.
MAX_FILE_BYTES: Final = 256 * 1024 * 1024
#: Stands for standard input.
STDIN: Final = "-"
JSON: Final = (".json", ".tfstate")
YAML: Final = (".yaml", ".yml")
_DOCUMENT: Final = re.compile(r"---(\s|$)")
_LINE: Final = re.compile(r"[0-9]+")
_COMMENT: Final = re.compile(r"\s*(?:#+|//)(?!!)(.*)")
_TEMPLATE: Final = re.compile(r"\{\{|\{%")
_HELM_WORDS: Final = re.compile(r"\{\{-?\s*(?:\.|\$|include|if|range|with|template|end|toYaml|printf)")
_HELM: Final = "this is a Helm template: convert what `helm template` prints"
_OTHER_TEMPLATE: Final = "this is a template: convert what it renders"


class SourceError(Exception):
    """Input that cannot be read; the message says where."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A text, ``None``, a mapping or a sequence, with its place: ``file:line``, or a path in a JSON file.

    ``read`` holds the keys that were asked for; it is shared by the aliases of one anchor. Texts have none.
    """

    where: str
    value: _Value
    read: set[str] | None = field(default=None, compare=False, repr=False)

    def get(self, *path: str) -> "Tree":
        """The value at the end of a path of keys; a tree with ``None`` if there is none. Raises :class:`SourceError`.

        A text or a list where a mapping is expected is an error: what it says would pass unread.
        """
        node = self
        for key in path:
            child = node._mapping().get(key)
            if child is not None and node.read is not None:
                node.read.add(key)
            node = child if child is not None else Tree(node.where, None)
        return node

    def _mapping(self) -> "Mapping[str, Tree]":
        if self.value in (None, ""):
            return {}
        if not isinstance(self.value, Mapping):
            raise SourceError(f"{self.where.rstrip(':')}: expected a mapping")
        return self.value

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
        if node.read is not None:
            node.read.add(_ITEMS)
        return node.value

    def texts(self, *path: str) -> list[str]:
        """The items of a list of texts."""
        return [text for item in self.items(*path) if (text := item.text()) is not None]

    def fields(self, *path: str) -> Mapping[str, "Tree"]:
        """The fields of a mapping, empty if it is absent; all count as read. Raises :class:`SourceError`."""
        node = self.get(*path)
        fields = node._mapping()
        if node.read is not None:
            node.read.update(fields)
        return fields

    def names(self, *path: str) -> Collection[str]:
        """The keys of a mapping, empty if it is absent; none counts as read."""
        return self.get(*path)._mapping().keys()

    def is_mapping(self) -> bool:
        """Whether there are fields to ask for."""
        return isinstance(self.value, Mapping)

    def settings(self, *path: str) -> dict[str, str]:
        """A mapping of texts, such as configs."""
        return {key: value.text() or "" for key, value in self.fields(*path).items()}

    def ignore(self, *keys: str) -> None:
        """These keys, or without any all below, decide nothing about ACLs and topics, or a remark says why they do."""
        if self.read is not None and not keys:
            self.read.add(_ALL)
        for key in keys:
            self.get(key).ignore()

    def has_read(self, key: str) -> bool:
        """Whether somebody asked for that key."""
        return self.read is not None and key in self.read

    def all_keys(self) -> Iterator[str]:
        """Every key below, at any depth; none counts as read."""
        for tree in self._below():
            if isinstance(tree.value, Mapping):
                yield from tree.value

    def all_texts(self) -> Iterator[str]:
        """Every text below, at any depth; none counts as read."""
        return (tree.value for tree in self._below() if isinstance(tree.value, str))

    def _below(self) -> "Iterator[Tree]":
        # Aliases share their value, and one can hold another many times over: each is visited once.
        seen: set[int] = set()
        open_trees = [self]
        while open_trees:
            tree = open_trees.pop()
            yield tree
            if not isinstance(tree.value, str | None) and id(tree.value) not in seen:
                seen.add(id(tree.value))
                open_trees += tree.value.values() if isinstance(tree.value, Mapping) else tree.value

    def leftovers(self) -> Iterator[tuple[str, str]]:
        """The place and the name of each field and list that nobody asked for, outermost first, in file order."""
        open_trees: list[tuple[str, Tree]] = [("", self)]
        # Aliases share their value, and one can hold another many times over: each is visited once.
        seen: set[int] = set()
        while open_trees:
            name, tree = open_trees.pop()
            read = tree.read
            if read is None or _ALL in read or id(read) in seen:
                continue
            seen.add(id(read))
            if isinstance(tree.value, Mapping):
                fields = tree._mapping()
                named = [(f"{name}.{key}" if name else key, key, child) for key, child in fields.items()]
                # A key without a value says nothing in any of these formats.
                yield from ((child.where, path) for path, key, child in named if key not in read and child.value)
                open_trees += [(path, child) for path, key, child in reversed(named) if key in read]
            elif _ITEMS in read:
                open_trees += [(name, child) for child in reversed(tree.items())]
            elif tree.value:
                yield tree.where, name or "a list"


def by_name(named: Iterable[tuple[str, Tree]]) -> dict[str, Tree]:
    """Trees by name; raises :class:`SourceError` for a duplicate name, because one tree would be lost."""
    trees: dict[str, Tree] = {}
    for name, tree in named:
        if trees.setdefault(name, tree) is not tree:
            raise SourceError(f"{tree.where}: duplicate name {name!r}, also at {trees[name].where}")
    return trees


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


def _from_node(name: str, node: Any, built: dict[int, Tree]) -> Tree:
    """A node as a tree; an anchor's node is built once, however often it is named."""
    if id(node) in built:
        return built[id(node)]
    where = f"{name}:{node.start_mark.line + 1}"
    if isinstance(node, yaml.ScalarNode):
        absent = not node.style and node.value in ("", "~", "null")
        tree = Tree(where, None if absent else node.value)
    elif isinstance(node, yaml.SequenceNode):
        tree = Tree(where, tuple(_from_node(name, item, built) for item in node.value), set())
    else:
        tree = Tree(where, _fields(name, node, built), set())
    built[id(node)] = tree
    return tree


def _fields(name: str, node: Any, built: dict[int, Tree]) -> dict[str, Tree]:
    fields: dict[str, Tree] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise SourceError(f"{name}:{line}: a key must be a text")
        if key.value in fields:
            raise SourceError(f"{name}:{line}: {key.value} appears twice there")
        # The place of a value is the line of its key, even if it begins on the next line.
        tree = _from_node(name, value, built)
        fields[key.value] = Tree(f"{name}:{line}", tree.value, tree.read)
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
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key appears twice in one object")
    return mapping


def _from_json(where: str, value: Any) -> Tree:
    if isinstance(value, dict):
        return Tree(where, {key: _from_json(_below(where, key), item) for key, item in value.items()}, set())
    if isinstance(value, list):
        return Tree(where, tuple(_from_json(f"{where}[{index}]", item) for index, item in enumerate(value)), set())
    if isinstance(value, bool):
        return Tree(where, str(value).lower())
    return Tree(where, value)


def _below(where: str, key: str) -> str:
    return f"{where}{key}" if where.endswith(":") else f"{where}.{key}"


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files, by paths relative to ``root``, and the options of the command line.

    ``settings`` are the tool's own; ``cluster`` selects one if the files are about several. With ``chosen``, somebody
    has looked into the files already: their endings and braces say nothing more.
    """

    root: Path
    names: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=FrozenMap)
    cluster: str | None = None
    stdin: str = ""
    chosen: bool = False
    _texts: dict[str, list[str]] = field(default_factory=dict, init=False, compare=False, repr=False)
    _tops: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict, init=False, compare=False, repr=False)
    _parsed: dict[str, list[Tree]] = field(default_factory=dict, init=False, compare=False, repr=False)
    _read: set[str] = field(default_factory=set, init=False, compare=False, repr=False)

    def ending(self, *suffixes: str) -> Sequence[str]:
        """The files with one of these endings; a single given file, with any ending. Raises :class:`SourceError`."""
        whole = self.chosen or len(self.names) == 1
        names = self.names if whole else [name for name in self.names if name.lower().endswith(suffixes)]
        if not names:
            raise SourceError(f"{self.root}: there is no file ending in {' or '.join(suffixes)}")
        return names

    def text(self, name: str) -> str:
        """The text of a file; raises :class:`SourceError` if it cannot be read or is outside the directory."""
        self._read.add(normpath(name))
        if name == STDIN:
            return self.stdin
        path = self.root / name
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise SourceError(f"{name}: the file is outside {self.root}")
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise SourceError(f"{name}: the file has more than {MAX_FILE_BYTES:,} bytes")
            return path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SourceError(f"{name}: the file cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise SourceError(f"{name}: the file is not UTF-8") from error

    def trees(self, name: str) -> list[Tree]:
        """A file's documents: JSON if its name ends so, else YAML. A file is read once, however often it is named."""
        name = normpath(name)
        if name not in self._parsed:
            text = self.text(name)
            self._parsed[name] = [json_tree(name, text)] if name.lower().endswith(JSON) else yaml_trees(name, text)
        return self._parsed[name]

    def refuse_template(self, name: str) -> None:
        """Raise :class:`SourceError` with the first place where a file is a template."""
        template = _TEMPLATE.search(text := self.text(name))
        if template is not None:
            line = text.count("\n", 0, template.start()) + 1
            raise SourceError(f"{name}:{line}: {_HELM if _HELM_WORDS.search(text) else _OTHER_TEMPLATE}")

    def part(self, documents: Mapping[str, Sequence[Tree] | None]) -> "SourceFiles":
        """Some of the files; of a file with documents these alone, whatever else it holds."""
        part = SourceFiles(self.root, tuple(documents), self.settings, self.cluster, self.stdin, chosen=True)
        part._parsed.update({name: list(trees) for name, trees in documents.items() if trees is not None})
        return part

    def read(self) -> frozenset[str]:
        """The names of the files whose text somebody asked for, or whose documents were given."""
        return frozenset(self._read | self._parsed.keys())

    def unread(self) -> list[str]:
        """The names of the files whose text nobody asked for."""
        return [name for name in self.names if normpath(name) not in self._read]

    def comments_above(self, place: str) -> tuple[str, ...]:
        """The comment right above a ``file:line``, without its marks; nothing where there is none, as in JSON."""
        file, _, line = place.partition(":")
        number = _LINE.match(line)
        if number is None or file.lower().endswith(JSON):
            return ()
        lines, above = self._lines(file), min(int(number[0]) - 1, len(self._lines(file)))
        texts = []
        while above and (text := _COMMENT.fullmatch(lines[above - 1])):
            texts.append(text[1].strip())
            above -= 1
        return tuple(text for text in reversed(texts) if text)

    def comments_on_top(self, place: str) -> tuple[str, ...]:
        """The comment with which the YAML document begins that holds a ``file:line``; nothing in other files."""
        file, _, line = place.partition(":")
        number = _LINE.match(line)
        if number is None or not file.lower().endswith(YAML):
            return ()
        if file not in self._tops:
            lines = self._lines(file)
            starts = [0, *(index + 1 for index, text in enumerate(lines) if _DOCUMENT.match(text))]
            self._tops[file] = {start: _first_comments(lines[start:]) for start in starts}
        return self._tops[file][max(start for start in self._tops[file] if start < int(number[0]))]

    def _lines(self, name: str) -> list[str]:
        if name not in self._texts:
            self._texts[name] = self.text(name).split("\n")
        return self._texts[name]

    def parsed(self) -> Iterator[Tree]:
        """Every document that was read."""
        return chain.from_iterable(self._parsed.values())

    def only_tree(self, name: str) -> Tree:
        """The only document of a file; raises :class:`SourceError` if there is none or more than one."""
        trees = self.trees(name)
        if len(trees) != 1:
            raise SourceError(f"{name}: one document is expected, there are {len(trees)}")
        return trees[0]


def _first_comments(lines: Sequence[str]) -> tuple[str, ...]:
    comments = takewhile(lambda text: not text.strip() or _COMMENT.fullmatch(text), lines)
    return tuple(match[1].strip() for text in comments if (match := _COMMENT.fullmatch(text)) and match[1].strip())


def source_files(path: str, *, config: str | None = None, cluster: str | None = None, stdin: str = "") -> SourceFiles:
    """A file, all files of a directory, or ``-`` for ``stdin``; ``config`` is a file of Java properties.

    Raises :class:`SourceError`.
    """
    settings = {}
    if config is not None:
        try:
            settings = javaproperties.loads(SourceFiles(Path(config).parent, ()).text(Path(config).name))
        except javaproperties.InvalidUEscapeError as error:
            raise SourceError(f"{config}: {error}") from error
    if path == STDIN:
        return SourceFiles(Path(), (STDIN,), settings, cluster, stdin)
    chosen = Path(path)
    if chosen.is_dir():
        names = (file.relative_to(chosen) for file in chosen.rglob("*") if file.is_file())
        shown = sorted(name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts))
        return SourceFiles(chosen, shown, settings, cluster)
    if not chosen.is_file():
        raise SourceError(f"{path}: there is no such file or directory")
    return SourceFiles(chosen.parent, (chosen.name,), settings, cluster)
