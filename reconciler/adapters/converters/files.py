"""The files of another tool, all inside the given directory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, takewhile
from pathlib import Path
from posixpath import normpath
from typing import Final

import javaproperties

from reconciler.adapters.converters.conversion import Conversion
from reconciler.adapters.converters.tree import SourceError, Tree, json_tree, yaml_trees
from reconciler.dataclass import dataclass
from reconciler.model import FrozenMap

#: A Terraform state with 100,000 ACLs has about 60 MB.
MAX_FILE_BYTES: Final = 256 * 1024 * 1024
#: Stands for standard input.
STDIN: Final = "-"
_JSON: Final = (".json", ".tfstate")
_YAML: Final = (".yaml", ".yml")
_DOCUMENT: Final = re.compile(r"---(\s|$)")
_LINE: Final = re.compile(r"[0-9]+")
_COMMENT: Final = re.compile(r"\s*(?:#+|//)(?!!)(.*)")
_TEMPLATE: Final = re.compile(r"\{\{|\{%")
_HELM_WORDS: Final = re.compile(r"\{\{-?\s*(?:\.|\$|include|if|range|with|template|end|toYaml|printf)")
_HELM: Final = "this is a Helm template: convert what `helm template` prints"
_OTHER_TEMPLATE: Final = "this is a template: convert what it renders"


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
        found = self.names if whole else [name for name in self.names if name.lower().endswith(suffixes)]
        if not found:
            raise SourceError(f"{self.root}: there is no file ending in {' or '.join(suffixes)}")
        return found

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
            self._parsed[name] = [json_tree(name, text)] if name.lower().endswith(_JSON) else yaml_trees(name, text)
        return self._parsed[name]

    def rendered(self, name: str, conversion: Conversion) -> list[Tree]:
        """As :meth:`trees`. Of several files, one that cannot be read or is a template is skipped with a remark.

        A template is refused even if it happens to be YAML: a principal called ``{{ .Values.user }}`` is nobody.
        """
        if self.chosen:
            return self.trees(name)
        try:
            self.refuse_template(name)
            return self.trees(name)
        except SourceError as error:
            if len(self.names) == 1:
                raise
            where, _, reason = str(error).partition(": ")
            conversion.skip(where, "a file", reason)
            return []

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
        if number is None or file.lower().endswith(_JSON):
            return ()
        lines, above = self._lines(file), min(int(number[0]) - 1, len(self._lines(file)))
        found = []
        while above and (text := _COMMENT.fullmatch(lines[above - 1])):
            found.append(text[1].strip())
            above -= 1
        return tuple(text for text in reversed(found) if text)

    def comments_on_top(self, place: str) -> tuple[str, ...]:
        """The comment with which the YAML document begins that holds a ``file:line``; nothing in other files."""
        file, _, line = place.partition(":")
        number = _LINE.match(line)
        if number is None or not file.lower().endswith(_YAML):
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

    def one(self, name: str) -> Tree:
        """The only document of a file; raises :class:`SourceError` if there is none or more than one."""
        trees = self.trees(name)
        if len(trees) != 1:
            raise SourceError(f"{name}: one document is expected, there are {len(trees)}")
        return trees[0]


def _first_comments(lines: Sequence[str]) -> tuple[str, ...]:
    comments = takewhile(lambda text: not text.strip() or _COMMENT.fullmatch(text), lines)
    return tuple(found[1].strip() for text in comments if (found := _COMMENT.fullmatch(text)) and found[1].strip())


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
