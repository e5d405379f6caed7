"""YAML text to nodes with places, on libyaml's event stream. Takes a small, unambiguous part of YAML.

Anchors, aliases, tags, merge keys, duplicate keys, keys that are no texts and missing values are problems. After a
syntax error the rest of the file is unknown; the documents before it are kept.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import yaml
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reconciler.manifest.reader.characters import report_forbidden, text_trouble
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.syntax import TEMPLATE, report_syntax
from reconciler.model import Origin

#: The deepest manifest there is has eight levels.
MAX_DEPTH: Final = 32
#: What one file may hold, so that no file takes longer than some seconds: a rule with one topic has six values, so
#: this is more than a cluster's controller bears.
MAX_LINES: Final = 1_000_000
MAX_VALUES: Final = 1_000_000
MAX_DOCUMENTS: Final = 100_000

_ANCHOR = Trouble(Code.ANCHOR_OR_ALIAS, "anchors and aliases are not allowed", "write the value out where it is used")
_TAG = Trouble(Code.TAG, "tags are not allowed", "remove it: the field decides how its value is read")
_MERGE = Trouble(Code.MERGE_KEY, "merge keys are not allowed", "write the fields out, or use a Role")
_KEY = Trouble(Code.KEY_IS_NO_TEXT, "a key must be a text", "quote it if it looks like a list or a mapping")
_NO_VALUE = Trouble(Code.NO_VALUE, "there is no value", 'give one, remove the field, or write "" for an empty text')
_DEEP = Trouble(Code.TOO_DEEP, f"more than {MAX_DEPTH} levels of nesting", "no manifest needs them")


class _UnreadableError(Exception):
    """Ends the reading of a file, after a problem has been reported."""


def read_documents(findings: Findings) -> Iterator[Node]:
    """The documents of a file that are not empty, one by one; ``findings.cut_short`` tells that some were lost.

    After so many errors that further ones are only counted, the rest of the file is not read.
    """
    if _has_too_many_lines(findings) or report_forbidden(findings):
        findings.cut_short = True
        return
    try:
        for root in _Composer(findings).documents():
            if findings.is_full:
                findings.cut_short = True
                return
            yield root
    except _UnreadableError:
        findings.cut_short = True
    except yaml.MarkedYAMLError as error:
        findings.cut_short = True
        report_syntax(findings, error)
    except yaml.YAMLError as error:
        findings.cut_short = True
        place = Origin(findings.source.path, 1, 1)
        findings.add_at(Trouble(Code.YAML_SYNTAX, f"this is not YAML: {_first_line(error)}"), place, 1)


def _has_too_many_lines(findings: Findings) -> bool:
    """Reports a file of more than :data:`MAX_LINES`; a carriage return alone ends a line for YAML, too."""
    text = findings.source.text
    number = text.count("\n") + text.count("\r") - text.count("\r\n") + 1
    if number > MAX_LINES:
        trouble = _too_large(f"the file has {number:,} lines, more than {MAX_LINES:,}")
        findings.add_at(trouble, Origin(findings.source.path, 1, 1), 1)
    return number > MAX_LINES


def _too_large(message: str) -> Trouble:
    return Trouble(Code.FILE_TOO_LARGE, message, "split it")


class _Pieces:
    """A text as a file for libyaml, which makes an encoded copy of what it is given as a whole."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def read(self, size: int = -1, /) -> str:
        """The next characters, at most ``size``, all without it; none at the end."""
        piece = self._text[self._at : self._at + size if size >= 0 else None]
        self._at += len(piece)
        return piece


class _Composer:
    """Builds nodes; one pass, no lookahead."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._left, self._documents = MAX_VALUES + 1, 0
        self._next: Callable[[], Any] = CParser(_Pieces(findings.source.text)).get_event

    def documents(self) -> Iterator[Node]:
        """Each document that is not empty."""
        while not isinstance(event := self._next(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                self._documents += 1
                if self._documents > MAX_DOCUMENTS:
                    mark: Any = event.start_mark
                    self._end(
                        f"the file has more than {MAX_DOCUMENTS:,} documents", MappingNode(mark.line, mark.column)
                    )
                root = self._next()
                if type(root) is not ScalarEvent or root.value or root.style or root.anchor or root.tag:
                    yield self._node(root, 0)

    def _node(self, event: Any, depth: int) -> Node:
        kind = type(event)
        if kind is ScalarEvent:
            return self._scalar(event)
        node: Node
        mark = event.start_mark
        if kind is AliasEvent:
            node = ScalarNode("", mark.line, mark.column, event.end_mark.column - mark.column)
            self._findings.add(_ANCHOR, node)
            self._count(node)
            return node
        if kind is SequenceStartEvent:
            node = SequenceNode(mark.line, mark.column)
        else:
            node = MappingNode(mark.line, mark.column)
        self._count(node)
        # With an anchor one place means many, and nested aliases grow without bound: nobody can review that.
        if event.anchor is not None or event.tag is not None:
            self._findings.add(_ANCHOR if event.anchor is not None else _TAG, node)
        if depth == MAX_DEPTH:
            self._findings.add(_DEEP, node)
            raise _UnreadableError
        if isinstance(node, SequenceNode):
            self._fill_sequence(node, depth + 1)
        else:
            self._fill_mapping(node, depth + 1)
        return node

    def _scalar(self, event: Any) -> ScalarNode:
        mark, end, value = event.start_mark, event.end_mark, event.value
        line, column = mark.line, mark.column
        node = ScalarNode(value, line, column, end.column - column if end.line == line else 0)
        self._count(node)
        if event.style == '"' or not value.isascii():
            trouble = text_trouble(value, escapes=event.style == '"')
            if trouble is not None:
                self._findings.add(trouble, node)
        if event.anchor is not None or event.tag is not None:
            self._findings.add(_ANCHOR if event.anchor is not None else _TAG, node)
        return node

    def _count(self, node: Node) -> None:
        self._left -= 1
        if not self._left:
            self._end(f"the file has more than {MAX_VALUES:,} values", node)

    def _end(self, message: str, node: Node) -> NoReturn:
        self._findings.add(_too_large(message), node)
        raise _UnreadableError

    def _fill_sequence(self, node: SequenceNode, depth: int) -> None:
        items, plain, following = node.items, node.plain, self._next
        while type(event := following()) is not SequenceEndEvent:
            item = self._scalar(event) if type(event) is ScalarEvent else self._node(event, depth)
            if not item.plain and type(event) is ScalarEvent and not event.style:
                self._findings.add(_NO_VALUE, item)
            items.append(item)
            plain.append(item.plain)

    def _fill_mapping(self, node: MappingNode, depth: int) -> None:
        keys, values, plain, following = node.keys, node.values, node.plain, self._next
        while type(event := following()) is not MappingEndEvent:
            key = self._scalar(event) if type(event) is ScalarEvent else self._other_key(event, depth)
            event = following()
            value = self._scalar(event) if type(event) is ScalarEvent else self._node(event, depth)
            if not value.plain and type(event) is ScalarEvent and not event.style:
                self._findings.add(_NO_VALUE, key)
                self._findings.silence(value)
            text = key.plain
            if text in keys:
                trouble = Trouble(Code.DUPLICATE_KEY, f"the key {quoted(text)} appears twice here", "keep one of them")
                self._findings.add(trouble, key, related=[self._findings.origin(keys[text])])
            elif text == "<<":
                self._findings.add(_MERGE, key)
            keys.setdefault(text, key)
            values.setdefault(text, value)
            plain.setdefault(text, value.plain)

    def _other_key(self, event: Any, depth: int) -> ScalarNode:
        mark = event.start_mark
        if self._findings.line(mark.line + 1)[max(0, mark.column - 1) : mark.column + 1] == "{{":
            # As YAML this is a mapping for a key; nobody means that, and everything in it would be a problem.
            self._findings.add(TEMPLATE, MappingNode(mark.line, mark.column - 1))
            raise _UnreadableError
        node = self._node(event, depth)
        self._findings.add(_KEY, node)
        return ScalarNode("", node.line, node.column, node.length)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
