"""YAML text to nodes with places, on libyaml's event stream. Takes a small, unambiguous part of YAML.

Anchors, aliases, tags, merge keys, duplicate keys, keys that are no texts and missing values are problems. After a
syntax error the rest of the file is unknown; the documents before it are kept.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

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

from reconciler.manifest.reader.characters import describe, forbidden_in, report_forbidden
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode
from reconciler.manifest.reader.source import quoted
from reconciler.model import Origin

#: The deepest manifest there is has eight levels.
MAX_DEPTH: Final = 32

_ANCHOR = Trouble(Code.ANCHOR_OR_ALIAS, "anchors and aliases are not allowed", "write the value out where it is used")
_TAG = Trouble(Code.TAG, "tags are not allowed", "remove it: the field decides how its value is read")
_MERGE = Trouble(Code.MERGE_KEY, "merge keys are not allowed", "write the fields out, or use a Role")
_KEY = Trouble(Code.KEY_IS_NO_TEXT, "a key must be a text", "quote it if it looks like a list or a mapping")
_NO_VALUE = Trouble(Code.NO_VALUE, "there is no value", 'give one, remove the field, or write "" for an empty text')
_DEEP = Trouble(Code.TOO_DEEP, f"more than {MAX_DEPTH} levels of nesting", "no manifest needs them")


class _TooDeepError(Exception):
    """Ends the reading of a file."""


def read_documents(findings: Findings) -> Iterator[Node]:
    """The documents of a file that are not empty, one by one; ``findings.cut_short`` tells that some were lost."""
    if report_forbidden(findings):
        findings.cut_short = True
        return
    try:
        yield from _Composer(findings).documents()
    except _TooDeepError:
        findings.cut_short = True
    except yaml.MarkedYAMLError as error:
        findings.cut_short = True
        _report_syntax(findings, error)
    except yaml.YAMLError as error:
        findings.cut_short = True
        place = Origin(findings.source.path, 1, 1)
        findings.add_at(Trouble(Code.YAML_SYNTAX, f"this is not YAML: {_first_line(error)}"), place, 1)


class _Composer:
    """Builds nodes; one pass, no lookahead."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._next: Callable[[], Any] = CParser(findings.source.text).get_event

    def documents(self) -> Iterator[Node]:
        """Each document that is not empty."""
        while not isinstance(event := self._next(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
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
            return node
        if kind is SequenceStartEvent:
            node = SequenceNode(mark.line, mark.column)
        else:
            node = MappingNode(mark.line, mark.column)
        if event.anchor is not None or event.tag is not None:
            self._findings.add(_ANCHOR if event.anchor is not None else _TAG, node)
        if depth == MAX_DEPTH:
            self._findings.add(_DEEP, node)
            raise _TooDeepError
        if isinstance(node, SequenceNode):
            self._fill_sequence(node, depth + 1)
        else:
            self._fill_mapping(node, depth + 1)
        return node

    def _scalar(self, event: Any) -> ScalarNode:
        mark, end, value = event.start_mark, event.end_mark, event.value
        line, column = mark.line, mark.column
        node = ScalarNode(value, line, column, end.column - column if end.line == line else 0)
        if event.style == '"':
            self._check_escapes(node)
        if event.anchor is not None or event.tag is not None:
            self._findings.add(_ANCHOR if event.anchor is not None else _TAG, node)
        return node

    def _check_escapes(self, node: ScalarNode) -> None:
        for _, character in forbidden_in(node.plain):
            message = f"{describe(character)}, is not allowed in a manifest, nor as an escape"
            self._findings.add(Trouble(Code.FORBIDDEN_CHARACTER, message, "remove it"), node)

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
        node = self._node(event, depth)
        self._findings.add(_KEY, node)
        return ScalarNode("", node.line, node.column, node.length)


def _report_syntax(findings: Findings, error: yaml.MarkedYAMLError) -> None:
    """One problem where libyaml stumbled, or where the construct began if that is the end of the file."""
    path = findings.source.path
    places = [
        Origin(path, mark.line + 1, mark.column + 1) for mark in (error.problem_mark, error.context_mark) if mark
    ] or [Origin(path, 1, 1)]
    if len(places) > 1 and not findings.line(places[0].line).strip():
        places.reverse()
    words = ": ".join(part for part in (error.context, error.problem) if part)
    trouble = Trouble(Code.YAML_SYNTAX, f"this is not YAML: {words}", _syntax_advice(words, places[0], findings))
    findings.add_at(trouble, places[0], 1, related=[place for place in places[1:] if place != places[0]])


def _syntax_advice(words: str, place: Origin, findings: Findings) -> str:
    if "cannot start any token" in words and "\t" in findings.line(place.line)[: place.column]:
        return "indent with spaces: YAML does not allow tabs there"
    if "cannot start any token" in words:
        return "put the text in quotes"
    if "scanning an alias" in words:
        return "put '*' in quotes, or write {any: true} for every name"
    if "parsing a flow" in words and "${" in findings.line(place.line):
        return "inside braces and brackets, put ${…} in quotes"
    if "mapping values are not allowed" in words:
        return "put the text in quotes if ': ' belongs to it, or check the indentation"
    return ""


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
