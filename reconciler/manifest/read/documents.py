"""YAML text to nodes, and what is wrong with text that is not YAML.

YAML text to nodes with places, on libyaml's event stream. Takes a small, unambiguous part of YAML.

Anchors, aliases, tags, merge keys, duplicate keys, keys that are no texts and missing values are problems. After a
syntax error the rest of the file is unknown; the documents before it are kept.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, NoReturn

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

from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    quoted,
    report_forbidden,
    text_trouble,
)
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import Origin

# What is wrong with a text that is not YAML, in words for who wrote it.
#
# libyaml names the rule of its grammar that failed, and the place where it noticed. What somebody did wrong is mostly
# another thing: an indentation, a tab, a quotation mark, a space after a colon that is missing in the line before.

_CHECK: Final = "check the indentation, the quotation marks and the brackets of this line and of the one before it"
_TEMPLATE: Final = re.compile(r"\{\{|\{%")
#: Of Helm, Jinja and the like, which mark with ``{{`` and ``{%`` what they fill in.
TEMPLATE: Final = Trouble(
    Code.YAML_SYNTAX, "this is a template, not YAML yet", "render it first, as with `helm template`"
)
_KEY_LINE: Final = re.compile(r"[^\s:#]+:(?=\S)")
_MISSING: Final = "write one, or remove a comma"
_CLOSING: Final = {"[": "]", "{": "}"}
#: So many lines before the place are looked at for what it could belong to.
_LINES_BACK: Final = 1_000


class _Line(NamedTuple):
    """A line that is neither blank nor a comment, by its number from 1."""

    number: int
    indent: int
    text: str


def report_syntax(findings: Findings, error: yaml.MarkedYAMLError) -> None:
    """One problem where libyaml stumbled, or where the construct began if that is the end of the file."""
    path = findings.source.path
    places = [
        Origin(path, mark.line + 1, mark.column + 1) for mark in (error.problem_mark, error.context_mark) if mark
    ] or [Origin(path, 1, 1)]
    stumbled = places[0]
    if not findings.line(stumbled.line).strip():
        places.reverse()
    words = ": ".join(part for part in (error.context, error.problem) if part)
    stumble = _Stumble(findings, words, places[0], stumbled)
    trouble, place = stumble.trouble()
    # Where an indentation is wrong, the beginning of the construct around it explains nothing.
    shown = () if stumble.is_indentation else (other for other in places if other != place)
    last = len(findings.source.text.splitlines())
    related = [other for other in shown if other.line <= last and findings.line(other.line).strip()]
    findings.add_at(trouble, place, 1, related=related)


class _Stumble:
    """One syntax error: libyaml's words, and the lines around its place."""

    def __init__(self, findings: Findings, words: str, place: Origin, stumbled: Origin) -> None:
        self._findings, self.words, self.place, self._stumbled = findings, words, place, stumbled
        self.is_indentation = False
        # Columns are counted in the text as it is: what may be shown of a line has its secrets masked.
        text = findings.source.text.splitlines()[: place.line]
        self._line = text[place.line - 1] if len(text) == place.line else ""
        start = max(0, place.line - 1 - _LINES_BACK)
        self._before = [line for number in range(start, place.line - 1) if (line := _content(number + 1, text[number]))]

    def trouble(self) -> tuple[Trouble, Origin]:
        """What is wrong, and where."""
        blank = self._line[: len(self._line) - len(self._line.lstrip())]
        if "\t" in blank and ("tab" in self.words or "cannot start any token" in self.words):
            place = self.place._replace(column=blank.index("\t") + 1)
            self.is_indentation = True
            return _trouble("a tab indents this line", "indent it with spaces: YAML does not allow tabs there"), place
        if _TEMPLATE.search(self._line):
            return TEMPLATE, self.place
        if "parsing a flow" in self.words:
            return self._open_bracket()
        return self._by_words(), self.place

    def _by_words(self) -> Trouble:
        words = self.words
        if "expected '-' indicator" in words or "expected key" in words or "<document start>" in words:
            return self._misplaced()
        if "mapping values are not allowed" in words:
            return self._second_colon()
        if "expected ':'" in words:
            return self._no_colon(self._before[-1] if self._before and not self._line.strip() else None)
        if "quoted scalar" in words and "end of stream" in words:
            return _trouble("the quotation mark that opens here is never closed", "close it where the text ends")
        if "escape" in words:
            return _trouble(
                "a backslash in double quotes begins an escape, and there is none like this",
                "write the text in single quotes",
            )
        if "block sequence entries are not allowed" in words:
            return _trouble("a list cannot begin here", "begin it on a line of its own, or write [a, b]")
        if "scanning an alias" in words:
            return _trouble("a star begins an alias in YAML", "put '*' in quotes, or write {any: true} for every name")
        if "cannot start any token" in words:
            at = slice(self.place.column - 1, self.place.column)
            shown = self._findings.line(self.place.line)[at] == self._line[at]  # a secret is masked
            character = repr(self._line[at]) if shown else "this character"
            return _trouble(f"no value can begin with {character} in YAML", "put the text in quotes")
        return _trouble(f"this is not YAML: {words}", _CHECK)

    def _misplaced(self) -> Trouble:
        """A line, or the rest of one, that continues nothing before it."""
        indent = len(self._line) - len(self._line.lstrip())
        if self._line[: self.place.column - 1].strip():
            message = "this follows a value that has ended already"
            return _trouble(message, "put the whole value in quotes, or remove what follows it")
        self.is_indentation = True
        fitting = list(self._fitting(indent))
        if not fitting or any(line.indent == indent for line in fitting):
            return _trouble("this line does not continue those before it", _CHECK)
        places = ", or ".join(f"by {line.indent} as line {line.number}" for line in fitting)
        message = f"this line is indented by {_spaces(indent)}, unlike every line that it could belong with"
        return _trouble(message, f"indent it {places}")

    def _fitting(self, indent: int) -> Iterator[_Line]:
        """The nearest line before with more or the same indentation in this block, then the nearest with less."""
        nearest: _Line | None = None
        for line in reversed(self._before):
            if line.indent < indent:
                if nearest is not None:
                    yield nearest
                yield line
                return
            if nearest is None or line.indent < nearest.indent:
                nearest = line
        if nearest is not None:
            yield nearest

    def _second_colon(self) -> Trouble:
        """A colon where a value is being read: of this line, or one that goes on from the line before."""
        own = self._line[: self.place.column - 1]
        before = self._before[-1] if self._before else None
        if ": " in own or before is None:
            return _trouble("this value has a ': ' in it", "put the value in quotes")
        indent = len(own) - len(own.lstrip())
        if indent > before.indent and ": " in before.text:
            self.is_indentation = True
            message = f"this line is indented more than line {before.number}, which has its value already"
            return _trouble(message, f"indent it by {before.indent} as line {before.number}, or remove that value")
        return self._no_colon(before)

    def _no_colon(self, line: _Line | None) -> Trouble:
        """A line without ``': '`` where keys are: ``line``, or that of the place itself."""
        text = self._findings.line(self.place.line if line is None else line.number)
        where = "this line" if line is None else f"line {line.number}, before this one,"
        glued = _KEY_LINE.match(text.strip().removeprefix("- "))
        advice = f"write a space after its colon: {glued[0]} …" if glued else "write it as key: value"
        return _trouble(f"{where} has no ': ' between a key and a value", advice)

    def _open_bracket(self) -> tuple[Trouble, Origin]:
        if "${" in self._line:
            return _trouble("a variable without quotes stands in brackets", "put ${…} in quotes there"), self.place
        opened = self._opened()
        if opened is None:
            return _trouble(f"this is not YAML: {self.words}", _CHECK), self.place
        opening, place = opened
        advice = f"close it with {_CLOSING[opening]}, and separate its items with commas"
        if not any(map(str.strip, self._rest())):
            return _trouble(f"the {opening} that opens here is never closed", advice), place
        if "flow node" in self.words:
            return _trouble(f"a value is missing here, inside the {opening} of line {place.line}", _MISSING), self.place
        return _trouble(f"the {opening} of line {place.line} is not closed before this", advice), self.place

    def _rest(self) -> Iterator[str]:
        """The text from the place on, without comments."""
        lines = self._findings.source.text.splitlines()[self._stumbled.line - 1 :]
        for number, line in enumerate(lines):
            yield "" if line.lstrip().startswith("#") else line[self._stumbled.column - 1 :] if number == 0 else line

    def _opened(self) -> tuple[str, Origin] | None:
        """The innermost open bracket and where it is: libyaml names it only where an item ends."""
        opened: list[tuple[str, Origin]] = []
        try:
            for token in yaml.scan(self._findings.source.text, Loader=yaml.CSafeLoader):
                start = self.place._replace(line=token.start_mark.line + 1, column=token.start_mark.column + 1)
                if (start.line, start.column) >= (self._stumbled.line, self._stumbled.column):
                    break
                if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
                    opened.append(("[" if isinstance(token, yaml.FlowSequenceStartToken) else "{", start))
                elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken) and opened:
                    opened.pop()
        except yaml.YAMLError:
            pass  # the scanner stumbles there too
        return opened[-1] if opened else None


def _trouble(message: str, advice: str) -> Trouble:
    return Trouble(Code.YAML_SYNTAX, message, advice)


def _content(number: int, text: str) -> _Line | None:
    bare = text.strip()
    return _Line(number, len(text) - len(text.lstrip()), bare) if bare and not bare.startswith(("#", "---")) else None


def _spaces(number: int) -> str:
    return f"{number} space" if number == 1 else f"{number} spaces"


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
_NEXT_DOCUMENT = Trouble(
    Code.DUPLICATE_KEY, "the key 'apiVersion' appears twice here: another document begins", "write a line --- before it"
)
#: The depth of a document's own fields.
_TOP: Final = 1
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

    def _second_value(self, node: MappingNode, key: Node, value: Node) -> Trouble | None:
        """``allow: READ, WRITE`` in a flow mapping: a key without a colon after a value; ``None``: something else.

        Values are repeated only as their lines are shown: after a comma a secret may go on.
        """
        field, before = next(reversed(node.values.items()), ("", None))
        bare = (value.line, value.column) == (key.line, key.column + len(key.plain))
        if not (bare and isinstance(before, ScalarNode) and isinstance(key, ScalarNode) and before.plain):
            return None
        if not all(self._findings.line(item.line + 1).startswith(item.plain, item.column) for item in (before, key)):
            return None
        advice = f"write several values in brackets: {field}: [{before.plain}, {key.plain}]"
        return Trouble(Code.NO_VALUE, "there is no value", advice)

    def _fill_mapping(self, node: MappingNode, depth: int) -> None:
        keys, values, plain, following = node.keys, node.values, node.plain, self._next
        again = False
        while type(event := following()) is not MappingEndEvent:
            key = self._scalar(event) if type(event) is ScalarEvent else self._other_key(event, depth)
            event = following()
            value = self._scalar(event) if type(event) is ScalarEvent else self._node(event, depth)
            if not value.plain and type(event) is ScalarEvent and not event.style:
                self._findings.add(self._second_value(node, key, value) or _NO_VALUE, key)
                self._findings.silence(value)
            text = key.plain
            if text in keys and depth == _TOP and next(iter(keys)) == "apiVersion" and (text == "apiVersion" or again):
                if not again:
                    self._findings.add(_NEXT_DOCUMENT, key, related=[self._findings.origin(keys[text])])
                again = True
            elif text in keys:
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
