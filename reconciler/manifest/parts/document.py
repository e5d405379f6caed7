"""The envelope of a document: kind, names, labels, clusters, and pydantic's findings in our words.

One document: its envelope, checked before its kind's model sees it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from sys import intern
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, WithJsonSchema

from reconciler.manifest.parts.fields import TAGS, ManifestModel, Text, refuse
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, SequenceNode, Trouble, quoted
from reconciler.manifest.read.problem import Code, did_you_mean, nearest, one_of
from reconciler.model.desired import Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds import listed_types
from reconciler.model.scope import RESOURCE_FIELDS
from reconciler.model.topic import Topic
from reconciler.model.topic_configs import TOPIC_CONFIGS

# What every document has besides its ``spec``: names, labels, and the clusters it is for.

API_VERSION = "reconciler/v1"
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)


_NAME_ADVICE: Final = "use ASCII letters, digits, '.', '_' and '-', with a letter or digit at both ends"


def document_name_problem(text: str) -> str | None:
    """Why no document can be called ``text``, with what to do; ``None`` if one can."""
    return None if _NAME.fullmatch(text) else f"{quoted(text)} is not a valid document name: {_NAME_ADVICE}"


def _name(value: object) -> object:
    if isinstance(value, str) and not _NAME.fullmatch(value):
        raise refuse(Code.WRONG_VALUE, f"{quoted(value)} is not a valid document name", _NAME_ADVICE)
    return value


DocumentName = Annotated[
    str,
    BeforeValidator(_name),
    WithJsonSchema({"type": ["string", "number", "boolean"], "pattern": f"^{_NAME.pattern}$", "minimum": 0}),
]
ApiVersion = Annotated[
    Literal["reconciler/v1"], Field(description="The version of this format.", examples=["reconciler/v1"])
]


class Metadata(ManifestModel):
    """A document's name, unique for its kind, and labels."""

    name: DocumentName = Field(
        description="The document's name, unique among the documents of its kind.", examples=["payments"]
    )
    labels: dict[str, Text] = Field(
        default_factory=dict,
        description="Labels; a cluster's are what matchLabels looks at.",
        examples=[{"team": "payments"}],
    )


class ClusterSelector(ManifestModel):
    """Which clusters a document is for."""

    match_labels: dict[str, Text] = Field(
        description="The labels that a cluster must have, all of them; {} is every cluster.", examples=[{"env": "prod"}]
    )


ClustersField = Annotated[
    ClusterSelector | None,
    Field(
        description="Limits the document to some clusters; without it, it is for all.",
        examples=[{"matchLabels": {"env": "prod"}}],
    ),
]


# What pydantic found, in our own words and at the place of the value.

Path = tuple[str | int, ...]

_MAPPINGS: Final = ("dict_type", "model_type")
#: So many fields of a mapping are named where one is expected.
_NAMED: Final = 8


def report_invalid(model: type[BaseModel], root: MappingNode, error: ValidationError, findings: Findings) -> None:
    """Reports each of pydantic's errors once, except where the reader has reported something already."""
    number = error.error_count()
    for done, detail in enumerate(error.errors(include_url=False, include_input=False)):
        if findings.is_full:
            # Words are dear (the nearest field, the place), and would only be counted.
            findings.count_more(findings.origin(root), number - done)
            return
        path = tuple(part for part in detail["loc"] if part not in TAGS)
        node, key = _find(root, path, at_key=detail["type"] == "extra_forbidden")
        marked = findings.marks(node) or (key is not None and findings.marks(key))
        if path != ("apiVersion",) and (detail["type"] == "missing" or not marked):
            findings.add(_trouble(model, detail["type"], path, detail.get("ctx", {}), node), node)


def _find(root: MappingNode, path: Path, *, at_key: bool) -> tuple[Node, Node | None]:
    """The node at ``path`` and its key; where the last part is missing, the key (or item) that should hold it."""
    node: Node = root
    key: Node | None = None
    for part in path:
        if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.items):
            node, key = node.items[part], None
        elif isinstance(node, MappingNode) and isinstance(part, str) and part in node.values:
            key, node = node.keys[part], node.values[part]
        else:
            return (key or node), key
    return (key if at_key and key is not None else node), key


def _text_advice(path: Path, node: Node) -> str:
    prefix = node.get("prefix") if isinstance(node, MappingNode) else None
    # Access tests name principals by patterns, also those that no manifest names.
    if isinstance(prefix, ScalarNode) and path[:2] == ("spec", "tests"):
        return f"write {quoted(f'{prefix.plain}*')}"
    return "write one, without '- ', brackets or fields"


def _trouble(model: type[BaseModel], sort: str, path: Path, context: dict[str, Any], node: Node) -> Trouble:
    if sort == "manifest":
        return Trouble(context["code"], context["message"], context["advice"])
    if sort == "missing":
        return _missing(model, path)
    if sort == "extra_forbidden":
        return _unknown_field(model, path)
    if sort == "literal_error":
        expected = context["expected"].replace("'", "").replace(" or ", ", ")
        return Trouble(
            Code.WRONG_VALUE, "this is none of the values that the field takes", one_of(expected.split(", "))
        )
    if sort == "list_type":
        advice = (
            "begin each of its items with '- '" if isinstance(node, MappingNode) else "write it in brackets: [a, b]"
        )
        return Trouble(Code.WRONG_SHAPE, "a list is expected here", advice)
    if sort in _MAPPINGS:
        return Trouble(Code.WRONG_SHAPE, "a mapping is expected here", _mapping_advice(fields_at(model, path), node))
    if sort == "string_type":
        return Trouble(Code.WRONG_SHAPE, "a single value is expected here", _text_advice(path, node))
    if sort == "too_short":
        return Trouble(Code.WRONG_SHAPE, "the list is empty", _empty_advice(path))
    return Trouble(Code.WRONG_VALUE, "this value does not fit here")


def _mapping_advice(fields: list[str], node: Node) -> str:
    """How to write a mapping where a list or a single value was written."""
    names = ", ".join(fields[:_NAMED]) + (" …" if len(fields) > _NAMED else "")
    how = "write its fields without '- '" if isinstance(node, SequenceNode) else "write it as fields with values"
    return f"{how}: {names}" if names else f"{how}, as name: value"


def _empty_advice(path: Path) -> str:
    """A field may go only where its absence says no more than it did: without hosts a rule holds for every host."""
    may_go = "rules" in path and path[-1] in RESOURCE_FIELDS
    return f"name at least one, or remove {path[-1]}" if may_go else "name at least one"


_PRUNED: Final = (Topic.KIND, *(kind.KIND for kind in listed_types()))
#: Names in mappings by name, which are no fields.
_CONFIGS: Final = frozenset(
    {*TOPIC_CONFIGS, *chain.from_iterable(getattr(kind, "KEYS", ()) for kind in listed_types())}
)
#: A field that has more homes than that is said to be none here.
_HOMES: Final = 2
#: What people write who know such fields from elsewhere, and no field is like it; what to write, if it can be here.
_MEANT: Final = FrozenMap(
    {
        "waive": "exceptions: [{check: KA007, reason: …, expires: …}]",
        "waiver": "exceptions: [{check: …, reason: …, expires: …}], under spec, with the test's name as check",
        "waivers": "exceptions: [{check: …, topics: […], reason: …, expires: …}], under spec, with the rule's name",
        "acknowledge": "exceptions: [{check: topic-delete, object: …, reason: …}]",
        **{f"prune{kind[0].upper()}{kind[1:]}": f"prune: [{kind}]" for kind in _PRUNED},
        "version": "passwordVersion",
        "limits": "deleteLimits",
        "rule": "check",
        "guard": "check",
    }
)


def _unknown_field(model: type[BaseModel], path: Path) -> Trouble:
    field = str(path[-1])
    fields = fields_at(model, path[:-1])
    advice = did_you_mean(field, fields, one_of(fields))
    if 0 < len(homes := _below(model, path[:-1], field)) <= _HOMES:
        advice = f"write it below {' or '.join(homes)}"
    if field in _MEANT and (_MEANT[field] in fields or ":" in _MEANT[field]):
        advice = f"did you mean {_MEANT[field]}?"
    return Trouble(Code.UNKNOWN_FIELD, f"there is no field {quoted(field)} here", advice)


def _below(model: type[BaseModel], path: Path, field: str, depth: int = 2) -> list[str]:
    """The fields of a mapping that have the field among their own, or below one of theirs."""
    homes: list[str] = []
    for outer in fields_at(model, path):
        own = fields_at(model, (*path, outer))
        if field in own or (outer == "configs" and field in _CONFIGS):
            homes.append(outer)
        elif depth > 1:
            homes += [f"{outer}.{further}" for further in _below(model, (*path, outer), field, depth - 1)]
    return homes


def fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """The fields that a mapping at ``path`` in a document of that model can have, those that it must have first."""
    holder = _model_at(model, path)
    fields = sorted(holder.model_fields.items(), key=lambda item: not item[1].is_required()) if holder else []
    return [field.alias or name for name, field in fields]


def _model_at(model: type[BaseModel], path: Path) -> type[BaseModel] | None:
    by_name = False
    for part in path:
        # The key of a mapping by name, such as a config's, is no field.
        if isinstance(part, str) and not by_name and part not in TAGS:
            annotation = {field.alias: field.annotation for field in model.model_fields.values()}.get(part)
            inner = next(_models_in([annotation]), None)
            if inner is None:
                return None
            model, by_name = inner, get_origin(annotation) is dict
        else:
            by_name = False
    return model


def _missing(model: type[BaseModel], path: Path) -> Trouble:
    """A field that has to be there, with what its description says of it."""
    field, holder = str(path[-1]), _model_at(model, path[:-1])
    fields = holder.model_fields.values() if holder else ()
    description = next((info.description or "" for info in fields if info.alias == field), "").rstrip(".")
    advice = f"add it: {description[:1].lower()}{description[1:]}" if description else "add it"
    return Trouble(Code.MISSING_FIELD, f"the field {quoted(field)} is missing here", advice)


def _models_in(annotations: Iterable[Any]) -> Iterator[type[BaseModel]]:
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        else:
            yield from _models_in(get_args(annotation))


M = TypeVar("M", bound=BaseModel)

#: What people look for under a kind that there is not, and that no other kind's name is like.
_ELSEWHERE: Final = FrozenMap(
    {
        "kafkauser": "Acls says what a principal may do; `reconciler convert strimzi` converts this document",
        "kafkatopic": "Topics declares topics; `reconciler convert strimzi` converts this document",
        "group": "did you mean 'GroupConfigs', their configs? Acls grants READ on groups",
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
    node = root.get("apiVersion")
    if node is None and _is_misspelt(root, "apiVersion", findings):
        return
    if node is None:
        findings.add(Trouble(Code.API_VERSION, "the field 'apiVersion' is missing", advice), root)
        if "kind" in root.keys:
            return
    elif node.plain != API_VERSION and not findings.marks(node):
        findings.add(Trouble(Code.API_VERSION, f"this is not the apiVersion {API_VERSION}", advice), node)


def _kind(root: MappingNode, findings: Findings, kinds: Collection[str]) -> str | None:
    node = root.get("kind")
    if node is None:
        if not _is_misspelt(root, "kind", findings):
            findings.add(Trouble(Code.UNKNOWN_KIND, "the field 'kind' is missing", one_of(kinds)), root)
        return None
    kind = node.plain
    if not isinstance(kind, str):
        findings.add(Trouble(Code.UNKNOWN_KIND, "the kind must be a single value", one_of(kinds)), node)
    elif kind in kinds:
        return intern(kind)  # one text, of 100,000 documents
    elif not findings.marks(node):
        meant = nearest(kind, kinds, alike=_ALIKE)
        advice = f"did you mean {meant!r}?" if meant else _ELSEWHERE.get(kind.lower().removesuffix("s"), one_of(kinds))
        findings.add(Trouble(Code.UNKNOWN_KIND, f"there is no kind {quoted(kind)}", advice), node)
    return None


def _texts(node: Node | None) -> FrozenMap[str]:
    if not isinstance(node, MappingNode):
        return _NO_TEXTS
    return FrozenMap({key: value for key, value in node.plain.items() if isinstance(value, str)})
