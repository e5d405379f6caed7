"""The files of another tool, all inside the given directory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, takewhile
from pathlib import Path
from posixpath import normpath
from typing import Final

import javaproperties

from reconciler.dataclass import dataclass
from reconciler.model.frozen import FrozenMap
from reconciler.parts.convert.conversion import Conversion
from reconciler.parts.convert.shell import calls_tools
from reconciler.parts.convert.tree import SourceError, Tree, json_tree, yaml_trees

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


# Resources of other tools, in files where many tools keep theirs: which grant access to Kafka or hold a topic.
#
# A resource that no converter reads may be anything. Two words decide, because a list of kinds is never complete: one
# that names Kafka or a product of it, and one that names access or topics.

_KAFKA: Final = re.compile(r"kafka|confluent|redpanda|jikkou|ns4kafka|strimzi|aiven|msk|cloudkarafka|instaclustr", re.I)
#: Kinds whose names say enough: of ns4kafka, which has no API group, and of Conduktor.
_KNOWN: Final = re.compile(r"AccessControlEntry|ApplicationInstance")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ACCESS: Final = frozenset(
    ("acl", "acls", "role", "roles", "rolebinding", "permission", "permissions", "grant", "grants", "authorization")
)
_USER: Final = frozenset(("user", "account", "application", "identity"))
#: AWS IAM decides for Amazon MSK by actions, in any kind of policy document.
_IAM: Final = "kafka-cluster:"
_GRANTS: Final = "it grants or denies access to Kafka, and this converter does not read it"
_HOLDS: Final = "it is a topic, and this converter does not read it"
_HOLDS_WITH_ACCESS: Final = "it is a topic with access to it, and this converter does not read it"
_CALLS: Final = "it calls Kafka's tools: convert it with --from kafka-acls-script, or all with --from auto"
PRINCIPALS: Final = "it names principals of Kafka, in a form that is not known: nothing of it is converted"
PRINCIPAL: Final = re.compile(r"\bUser:(?:CN=)?[\w*]")
_INSIDE: Final = "it holds resources of Kafka inside: convert what it renders or applies"
#: The API version of a resource of Kafka, by itself or in a text that holds YAML.
_VERSION: Final = re.compile(
    r"(?:\A|apiVersion:\s*[\"']?)[\w.-]*(?:kafka|confluent|redpanda|jikkou|strimzi)[\w.-]*/v[0-9]", re.I
)
_BY_IAM: Final = "AWS IAM grants access to Kafka here, besides ACLs: keep it in view, no manifest can declare it"


def add_foreign(conversion: Conversion, node: Tree, kind: str, subject: str, *, unmanaged: str) -> None:
    """Remarks on a resource of another tool: not converted if it seems to decide who may do what, else unmanaged.

    ``kind`` is how its own tool calls it, with its API group or its provider; ``unmanaged`` is the reason for the rest.
    """
    reason = _access(node, kind)
    if reason is not None:
        conversion.skip(node, subject, reason)
    else:
        conversion.add_unmanaged(node, subject, unmanaged)


def _access(node: Tree, kind: str) -> str | None:
    if any(_IAM in text for text in node.all_texts()):
        return _BY_IAM
    if calls_tools(node):
        return _CALLS
    if any(_VERSION.search(text) for text in _texts_inside(node)):
        return _INSIDE
    if _KNOWN.search(kind):
        return _GRANTS
    if not _KAFKA.search(kind):
        return PRINCIPALS if any(PRINCIPAL.match(text) for text in node.all_texts()) else None
    words = _words(kind)
    if words & _ACCESS:
        return _GRANTS
    inside = any(_words(key) & _ACCESS for key in node.all_keys())
    if "topic" in words:
        return _HOLDS_WITH_ACCESS if inside else _HOLDS
    # A user is a login: nothing for a manifest, unless rules stand inside.
    return _GRANTS if inside and words & _USER else None


def _texts_inside(node: Tree) -> Iterator[str]:
    """Every text below the fields of a resource, but for its own API version."""
    if isinstance(node.value, Mapping):
        for name, value in node.value.items():
            if name not in ("apiVersion", "metadata"):
                yield from value.all_texts()


def _words(name: str) -> set[str]:
    """The words of a name in any case: ``KafkaTopicAclEntry`` and ``aiven_kafka_acl`` both hold ``acl``."""
    return {word.lower() for word in _WORD.findall(name)}
