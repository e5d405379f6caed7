"""What a kind of document is: the model of its documents, their declaration, and what they want of one cluster.

Documents of listed kinds are a heading and items: what an item has and declares is for each kind to say.
"""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar, cast

from pydantic import Field, create_model

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.bindings import BindingTable, OutsideScope
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import ApiVersion, ClustersField, Document, Heading, Metadata
from reconciler.manifest.parts.fields import ManifestModel
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import BUILT_IN_ROLES, RoleDeclaration, RoleUse, RuleDeclaration, use_problem
from reconciler.manifest.read.findings import Findings, MappingNode, Trouble, paired
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import DesiredItem, DesiredTopic
from reconciler.model.kinds import listed_kind, listed_types
from reconciler.model.listing import ListedItem
from reconciler.model.scope import RESOURCE_FIELDS

D = TypeVar("D")
M = TypeVar("M", bound=ManifestModel)


class Declared(Protocol):
    """What a document declares, its values checked and typed."""

    @property
    def heading(self) -> Heading | None:
        """Which document it is, and for which clusters; ``None`` for what is built in."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """Every document of every file, for the checks between documents.

    ``templates`` are the headings of documents with variables: what they declare is known for each cluster only.
    ``unfilled`` are those of them that can be read as they are written, their variables as text.
    ``unread`` are the kinds of documents that could not be read: a name which seems unknown may be in such a one.
    """

    documents: Sequence[Declared]
    templates: Sequence[Heading]
    unread: Collection[str]
    paths: Collection[str]
    findings_of: Callable[[str], Findings]
    unfilled: Sequence[Declared] = ()

    def of(self, declared: type[D]) -> list[D]:
        """The documents of one kind."""
        return [item for item in self.documents if isinstance(item, declared)]

    def check_role_uses(self, rules: Iterable[RuleDeclaration]) -> None:
        """Reports rules whose role is unknown or does not fit; only if every role could be read."""
        if "Role" in self.unread:
            return
        later = {heading.name for heading in self.templates if heading.kind == "Role"}
        roles = {**{role.name: role for role in self.of(RoleDeclaration)}, **BUILT_IN_ROLES}
        for rule in rules:
            if isinstance(rule.action, RoleUse) and rule.action.name not in later:
                trouble = use_problem(rule, rule.action, roles)
                if trouble is not None:
                    origin = rule.action.declaration.origin
                    self.findings_of(origin.file).add_at(trouble, origin)


@dataclass(slots=True)
class DesiredBuilder:
    """Builds what the documents want of one cluster; each kind adds its own."""

    cluster: ClusterDeclaration
    as_of: datetime.date
    documents: Sequence[Declared]
    findings_of: Callable[[str], Findings]
    bindings: BindingTable
    topics: Mapping[str, DesiredTopic] = field(default_factory=dict)
    listed: dict[str, dict[Any, DesiredItem[Any]]] = field(default_factory=dict)
    outside: OutsideScope = field(init=False)
    _first: dict[tuple[str, Hashable], DesiredItem[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Nothing is outside yet."""
        self.outside = OutsideScope(self.cluster, self.findings_of)

    def check_scope(self) -> None:
        """Reports what was added and is not in the cluster's scope, once all of it is known."""
        self.bindings.check_scope(self.outside)
        self.outside.report_ignored()

    def of(self, declared: type[D]) -> list[D]:
        """The documents of one kind."""
        return [item for item in self.documents if isinstance(item, declared)]

    def want(self, desired_item: DesiredItem[Any]) -> None:
        """Adds a resource of a listed kind; reports it if it is declared twice, or outside the cluster's scope.

        Twice is also what Kafka enforces as one. Of that, one can be declared, and the others absent.
        """
        item, origin, expires = desired_item.item, desired_item.declaration.origin, desired_item.declaration.expires
        findings = self.findings_of(origin.file)
        identities = [("key", item.key), *(() if desired_item.absent else (("enforced", item.enforced),))]
        earliest = [self._first.setdefault((item.KIND, identity), desired_item) for identity in identities]
        if (earlier := next((first for first in earliest if first is not desired_item), None)) is not None:
            trouble = Trouble(Code.CONFLICTING_ITEM, f"the {item.subject} is declared twice", "keep one of them")
            findings.add_at(trouble, origin, related=[earlier.declaration.origin])
        elif not self.cluster.scope.owns_listed(item, declared=True):
            place = item.place
            names = None if place is None else next(f for f, t in RESOURCE_FIELDS.items() if t is place.resource_type)
            advice = f"{item.WORDS} are in scope by items with principals alone; those without a user by {{any: true}}"
            if names is not None:
                advice = f"{item.WORDS} are in scope by items with {names} alone"
            self.outside.add(origin, f"the {item.subject}", lambda selector: selector.selects_listed(item), advice)
        over = expires is not None and expires.over(self.as_of)
        self.listed.setdefault(item.KIND, {})[item.key] = replace(desired_item, expired=over)


@cache
def _model(module: str, name: str) -> Any:
    return getattr(import_module(f"reconciler.manifest.models.{module}"), name)


class Touched(Enum):
    """Which clusters' plans a change of a document can alter."""

    NAMED = "the cluster of its name"
    CHOSEN = "those that its selector fits, for it declares resources of each"
    ANY = "any, for what it says may count everywhere"


class Kind(ABC, Generic[M]):
    """One kind of document: ``M`` has its fields and its JSON Schema. ``name`` is what a document calls it.

    ``takes_variables``: whether ``${vars.name}`` can be used in the spec. Not where a document sets the variables.
    ``code_fields``: the fields whose texts are code, into which no value is put. ``touched`` has no default.
    """

    name: ClassVar[str]
    touched: ClassVar[Touched]
    takes_variables: ClassVar[bool] = True
    code_fields: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def model(cls) -> type[M]:
        """The fields of its documents: ``NameDocument``, in the module of ``models`` that is called as the kind's own.

        Models take longer to load than all else here, so a kind's is loaded when a document of it is read.
        """
        return cast("type[M]", _model(cls.__module__.rpartition(".")[2], f"{cls.name}Document"))

    @abstractmethod
    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts a document; ``None`` after reporting problems that leave none."""

    def check(self, loaded: Loaded) -> None:
        """Reports what is wrong between documents; by default nothing can be."""

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds what its documents want the cluster to have; by default nothing."""


class DocumentWords(NamedTuple):
    """What the schema says ``about`` a document, what it declares ``once`` each, and two examples of an item."""

    about: str
    once: str
    example: Mapping[str, Any]
    other: Mapping[str, Any]


class DeclaredKind(ABC):
    """A listed kind in documents, with its items under ``items_key`` of the spec."""

    resource: ClassVar[type[ListedItem]]
    items_key: ClassVar[str]

    @property
    def document(self) -> str:
        """What its documents are called."""
        return document_name(self.resource)

    @property
    @abstractmethod
    def document_words(self) -> DocumentWords:
        """What the schema says of a document."""

    @property
    @abstractmethod
    def item_model(self) -> type[ManifestModel]:
        """The fields of an item."""

    @abstractmethod
    def declared(self, node: MappingNode, item: Any | None, findings: Findings) -> Iterator[DesiredItem[Any]]:
        """What an item declares, after reporting problems; ``item`` are its fields, ``None`` where they do not fit."""


@dataclass(frozen=True, slots=True)
class ListedDeclaration:
    """A document's heading and the resources that it declares."""

    heading: Heading
    items: tuple[DesiredItem[Any], ...]


class ListedDocumentKind(Kind[Any]):
    """Documents of one listed kind; each has a class of its own (:func:`listed_documents`)."""

    touched = Touched.CHOSEN
    resource: ClassVar[type[ListedItem]]

    @classmethod
    def model(cls) -> type[Any]:
        """Made when a document is read, as models are loaded then."""
        return _document_model(listed_kind(cls.resource))

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        special: DeclaredKind = listed_kind(self.resource)
        model, key = document.validated(self.model()), special.items_key
        items: list[DesiredItem[Any]] = []
        for node, item in paired(document.spec.get(key), getattr(model.spec, key) if model else None):
            items += special.declared(node, item, document.findings)
        return ListedDeclaration(document.heading, tuple(items)) if model else None

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every item."""
        for document in builder.of(ListedDeclaration):
            if document.heading.kind == self.name:
                for desired_item in document.items:
                    builder.want(desired_item)


def document_name(resource: type[ListedItem]) -> str:
    """What the documents of a listed kind are called: ``GroupConfigs``."""
    return f"{resource.KIND[0].upper()}{resource.KIND[1:]}"


def listed_documents() -> Iterator[ListedDocumentKind]:
    """The kind of document of each listed kind, which loads no listed kind yet."""
    for item in listed_types():
        name = document_name(item)
        yield type(f"{name}Kind", (ListedDocumentKind,), {"resource": item, "name": name})()


class ListedSpec(ManifestModel):
    """The items of a document, under a key that each kind names."""

    clusters: ClustersField = None


class ListedDocument(ManifestModel):
    """A document of a listed kind."""

    api_version: ApiVersion
    kind: str
    metadata: Metadata = Field(description="Name and labels.", examples=[{"name": "payments"}])
    spec: ListedSpec


@cache
def _document_model(special: DeclaredKind) -> type[ListedDocument]:
    """``QuotasDocument`` and so on."""
    name, key, words = special.document, special.items_key, special.document_words
    item: Any = special.item_model
    items: Any = Field(
        min_length=1,
        description=f"The {key}. Declare each {words.once} once.",
        examples=[[dict(words.example)]],
    )
    spec = create_model(
        f"{name}Spec",
        __base__=ListedSpec,
        __doc__=f"The {key} of a document.",
        **cast("Any", {key: (list[item], items)}),
    )
    return create_model(
        f"{name}Document",
        __base__=ListedDocument,
        __doc__=words.about,
        kind=(cast("Any", Literal[name]), Field(description="What the document declares.", examples=[name])),
        spec=(spec, Field(description=f"The {key}.", examples=[{key: [dict(words.other)]}])),
    )
