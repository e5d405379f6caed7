"""Documents of listed kinds: a heading and items. What an item has and declares is for each kind to say."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Literal, NamedTuple, cast

from pydantic import Field, create_model

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, DesiredBuilder, Kind
from reconciler.manifest.parts.document import ApiVersion, ClustersField, Document, Heading, Metadata
from reconciler.manifest.parts.fields import ManifestModel
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.read.findings import Findings, MappingNode, paired
from reconciler.model.desired import DesiredItem
from reconciler.model.kinds import listed_kind, listed_types
from reconciler.model.listing import ListedItem


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
                for wish in document.items:
                    builder.want(wish)


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
