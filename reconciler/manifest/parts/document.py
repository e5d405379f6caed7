"""One document: its envelope, checked before its kind's model sees it."""

from collections.abc import Collection, Mapping
from sys import intern
from typing import Final, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from reconciler.manifest.parts.metadata import API_VERSION
from reconciler.manifest.parts.wording import report_invalid
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import nearest, one_of
from reconciler.model import FrozenMap, Origin

M = TypeVar("M", bound=BaseModel)

#: What people look for under a kind that there is not, and that no other kind's name is like.
_ELSEWHERE: Final = FrozenMap(
    {
        "kafkauser": "Acls says what a principal may do; `reconciler convert strimzi` converts this document",
        "kafkatopic": "Topics declares topics; `reconciler convert strimzi` converts this document",
        "group": "Groups declares the configs of groups; Acls grants READ on them",
    }
)
#: So alike has a kind to be that it may have been meant: User is not Cluster.
_ALIKE: Final = 0.75
#: One for all: a cluster may have 100,000 documents without labels.
_NO_TEXTS: Final[FrozenMap[str]] = FrozenMap()
_FIELDS: Final = ("apiVersion", "kind", "metadata", "spec")


class Heading(NamedTuple):
    """Who a document is and which clusters it is for; the place is that of its name."""

    kind: str
    name: str
    file: str
    line: int
    column: int
    labels: Mapping[str, str] = FrozenMap()
    match_labels: Mapping[str, str] = FrozenMap()

    @property
    def origin(self) -> Origin:
        """The place of its name."""
        return Origin(self.file, self.line, self.column)

    def applies_to(self, labels: Mapping[str, str]) -> bool:
        """Whether a cluster with these labels is meant."""
        return all(labels.get(key) == value for key, value in self.match_labels.items())


class Document(NamedTuple):
    """A document whose kind is known, with the findings of its file."""

    heading: Heading
    root: MappingNode
    findings: Findings

    @property
    def spec(self) -> MappingNode:
        """The spec; an empty one where there is none."""
        spec = self.root.get("spec")
        return spec if isinstance(spec, MappingNode) else MappingNode(self.root.line, self.root.column)

    def validated(self, model: type[M]) -> M | None:
        """The document as its model, or ``None`` after reporting why not."""
        try:
            return model.model_validate(self.root.plain)
        except ValidationError as error:
            report_invalid(model, self.root, error, self.findings)
            if not self.findings.has_errors:
                # A document that is left out must not go unsaid, whatever the rules about saying things once.
                self.findings.add(Trouble(Code.WRONG_VALUE, "this document does not fit its kind"), self.root)
            return None


def open_document(root: Node, findings: Findings, kinds: Collection[str]) -> Document | None:
    """Reads the envelope; ``None`` after reporting that it is not a manifest of one of ``kinds``."""
    if not isinstance(root, MappingNode):
        message = "a manifest is a mapping with apiVersion, kind, metadata and spec"
        advice = f"begin it with apiVersion: {API_VERSION}, or keep this file out of the directory"
        findings.add(Trouble(Code.NOT_A_MANIFEST, message, advice), root)
        return None
    if _is_foreign(root, findings, kinds):
        return None
    _check_api_version(root, findings)
    kind = _kind(root, findings, kinds)
    if kind is None:
        return None
    name = root.get("metadata", "name")
    return Document(
        Heading(
            kind,
            name.plain if isinstance(name, ScalarNode) else "",
            *findings.origin(name or root),
            _texts(root.get("metadata", "labels")),
            _texts(root.get("spec", "clusters", "matchLabels")),
        ),
        root,
        findings,
    )


def _is_foreign(root: MappingNode, findings: Findings, kinds: Collection[str]) -> bool:
    """Reports a document of another tool: none of its fields is a mistake, it only lies in the wrong directory."""
    version, kind = root.text("apiVersion"), root.text("kind")
    own = API_VERSION.partition("/")[0]
    if version is None or kind in kinds or "/" not in version or version.startswith(own):
        return False
    message = f"this document is for {quoted(version)}, another tool than this one"
    advice = "keep it out of this directory; `reconciler convert` reads the files of several tools"
    findings.add(Trouble(Code.NOT_A_MANIFEST, message, advice), root.values["apiVersion"])
    return True


def _is_misspelt(root: MappingNode, field: str, findings: Findings) -> bool:
    """Reports a key that is all but ``field``, in whose place it stands."""
    for key in root.keys.values():
        if key.plain not in _FIELDS and nearest(key.plain, (field,), alike=_ALIKE):
            message = f"there is no field {quoted(key.plain)} here"
            findings.add(Trouble(Code.UNKNOWN_FIELD, message, f"did you mean {field!r}?"), key)
            return True
    return False


def _check_api_version(root: MappingNode, findings: Findings) -> None:
    advice = f"write apiVersion: {API_VERSION}"
    found = root.get("apiVersion")
    if found is None and _is_misspelt(root, "apiVersion", findings):
        return
    if found is None:
        findings.add(Trouble(Code.API_VERSION, "the field 'apiVersion' is missing", advice), root)
        if "kind" in root.keys:
            return
    elif found.plain != API_VERSION and not findings.marks(found):
        findings.add(Trouble(Code.API_VERSION, f"this is not the apiVersion {API_VERSION}", advice), found)


def _kind(root: MappingNode, findings: Findings, kinds: Collection[str]) -> str | None:
    found = root.get("kind")
    if found is None:
        if not _is_misspelt(root, "kind", findings):
            findings.add(Trouble(Code.UNKNOWN_KIND, "the field 'kind' is missing", one_of(kinds)), root)
        return None
    kind = found.plain
    if not isinstance(kind, str):
        findings.add(Trouble(Code.UNKNOWN_KIND, "the kind must be a single value", one_of(kinds)), found)
    elif kind in kinds:
        return intern(kind)  # one text, of 100,000 documents
    elif not findings.marks(found):
        meant = nearest(kind, kinds, alike=_ALIKE)
        advice = f"did you mean {meant!r}?" if meant else _ELSEWHERE.get(kind.lower().removesuffix("s"), one_of(kinds))
        findings.add(Trouble(Code.UNKNOWN_KIND, f"there is no kind {quoted(kind)}", advice), found)
    return None


def _texts(node: Node | None) -> FrozenMap[str]:
    if not isinstance(node, MappingNode):
        return _NO_TEXTS
    return FrozenMap({key: value for key, value in node.plain.items() if isinstance(value, str)})
