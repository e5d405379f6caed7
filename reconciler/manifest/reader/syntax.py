"""What is wrong with a text that is not YAML, in words for who wrote it.

libyaml names the rule of its grammar that failed, and the place where it noticed. What somebody did wrong is mostly
another thing: an indentation, a tab, a quotation mark, a space after a colon that is missing in the line before.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import yaml

from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.model import Origin

_CHECK: Final = "check the indentation, the quotation marks and the brackets of this line and of the one before it"
_TEMPLATE: Final = re.compile(r"\{\{|\{%")
#: Of Helm, Jinja and the like, which mark with ``{{`` and ``{%`` what they fill in.
TEMPLATE: Final = Trouble(
    Code.YAML_SYNTAX, "this is a template, not YAML yet", "render it first, as with `helm template`"
)
_KEY: Final = re.compile(r"[^\s:#]+:(?=\S)")
_CLOSING: Final = {"sequence": ("[", "]"), "mapping": ("{", "}")}
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
    if len(places) > 1 and not findings.line(places[0].line).strip():
        places.reverse()
    words = ": ".join(part for part in (error.context, error.problem) if part)
    found = _Stumble(findings, words, places[0])
    trouble, place = found.trouble(places[-1])
    # Where an indentation is wrong, the beginning of the construct around it explains nothing.
    related = () if found.is_indentation else [other for other in places[1:] if other != place]
    findings.add_at(trouble, place, 1, related=related)


class _Stumble:
    """One syntax error: libyaml's words, and the lines around its place."""

    def __init__(self, findings: Findings, words: str, place: Origin) -> None:
        self._findings, self.words, self.place = findings, words, place
        self.is_indentation = False
        # Columns are counted in the text as it is: what may be shown of a line has its secrets masked.
        text = findings.source.text.splitlines()[: place.line]
        self._line = text[place.line - 1] if len(text) == place.line else ""
        start = max(0, place.line - 1 - _LINES_BACK)
        self._before = [line for number in range(start, place.line - 1) if (line := _content(number + 1, text[number]))]

    def trouble(self, began: Origin) -> tuple[Trouble, Origin]:
        """What is wrong, and where; ``began`` is where libyaml says that the construct around it begins."""
        blank = self._line[: len(self._line) - len(self._line.lstrip())]
        if "\t" in blank and ("tab" in self.words or "cannot start any token" in self.words):
            place = self.place._replace(column=blank.index("\t") + 1)
            self.is_indentation = True
            return _trouble("a tab indents this line", "indent it with spaces: YAML does not allow tabs there"), place
        if _TEMPLATE.search(self._line):
            return TEMPLATE, self.place
        return self._by_words(began), self.place

    def _by_words(self, began: Origin) -> Trouble:
        words = self.words
        if "expected '-' indicator" in words or "expected key" in words or "<document start>" in words:
            return self._misplaced()
        if "mapping values are not allowed" in words:
            return self._second_colon()
        if "expected ':'" in words:
            return self._no_colon(self._before[-1] if self._before and not self._line.strip() else None)
        if "parsing a flow" in words:
            return self._open_bracket(began)
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
        glued = _KEY.match(text.strip().removeprefix("- "))
        advice = f"write a space after its colon: {glued[0]} …" if glued else "write it as key: value"
        return _trouble(f"{where} has no ': ' between a key and a value", advice)

    def _open_bracket(self, began: Origin) -> Trouble:
        opening, closing = _CLOSING["sequence" if "sequence" in self.words else "mapping"]
        if "${" in self._line:
            return _trouble("a variable without quotes stands in brackets", "put ${…} in quotes there")
        message = f"the {opening} of line {began.line} is not closed before this"
        return _trouble(message, f"close it with {closing}, and separate its items with commas")


def _trouble(message: str, advice: str) -> Trouble:
    return Trouble(Code.YAML_SYNTAX, message, advice)


def _content(number: int, text: str) -> _Line | None:
    bare = text.strip()
    return _Line(number, len(text) - len(text.lstrip()), bare) if bare and not bare.startswith(("#", "---")) else None


def _spaces(number: int) -> str:
    return f"{number} space" if number == 1 else f"{number} spaces"
