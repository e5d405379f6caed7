"""Everything that a set of manifests declares, for all clusters."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Annotated, TypeVar

from reconciler.codec import REQUIRED, AnyText, Says
from reconciler.dataclass import dataclass
from reconciler.manifest.kinds import KINDS_BY_NAME
from reconciler.manifest.kinds.fleet import FleetDeclaration
from reconciler.manifest.kinds.interface import Declared
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode
from reconciler.manifest.reader.problem import Problem
from reconciler.manifest.reader.source import Source
from reconciler.manifest.variables import Variables
from reconciler.model import Origin

D = TypeVar("D")


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A document with variables: what it declares is known for each cluster only."""

    heading: Heading
    root: MappingNode
    source: Source

    def filled(self, variables: Variables, table: PatternTable, findings: Findings) -> Declared | None:
        """What it declares for the cluster of the variables; ``None`` after reporting problems."""
        before = findings.count
        root = variables.filled(self.root, findings)
        if findings.count > before:
            return None
        return KINDS_BY_NAME[self.heading.kind].declare(Document(self.heading, root, findings), table)


@dataclass(frozen=True, slots=True)
class Manifests:
    """What was loaded; ``templates`` are the documents that name variables, ``sources`` the files by path.

    ``guardrails`` are a second set that judges with these documents.
    """

    documents: tuple[Declared, ...]
    clusters: Mapping[str, ClusterDeclaration]
    fleets: Mapping[str, FleetDeclaration]
    templates: tuple[Template, ...]
    sources: Mapping[str, Source]
    warnings: tuple[Problem, ...] = ()
    guardrails: "Guardrails | None" = None
    _places: Mapping[tuple[tuple[str, str], ...], Sequence[int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Notes where the documents of each selector are: a fleet asks many times for each of its clusters."""
        object.__setattr__(self, "_places", _by_selector(self.documents))

    def chosen(self, *labels: Mapping[str, str]) -> list[Declared]:
        """The documents for clusters, in order, whose selector fits any of these labels; no clusters, no fleets."""
        places = (
            places
            for selector, places in self._places.items()
            if any(all(given.get(key) == value for key, value in selector) for given in labels)
        )
        return [self.documents[place] for place in sorted(chain.from_iterable(places))]

    def of(self, declared: type[D]) -> list[D]:
        """The documents of one kind, by the type of what they declare; not those with variables."""
        return [item for item in self.documents if isinstance(item, declared)]


def _by_selector(documents: Iterable[Declared]) -> Mapping[tuple[tuple[str, str], ...], Sequence[int]]:
    # Numbers as such, not an object for each of 100,000 documents.
    found: defaultdict[tuple[tuple[str, str], ...], array[int]] = defaultdict(lambda: array("I"))
    for place, item in enumerate(documents):
        if item.heading is not None and not isinstance(item, ClusterDeclaration | FleetDeclaration):
            found[tuple(item.heading.match_labels.items())].append(place)
    return dict(found)


@dataclass(frozen=True, slots=True, order=True)
class GuardrailNotice:
    """Where a proposal would loosen a guardrail, which then counts anyway, or cannot be held by one.

    ``origin`` is the place in the proposal, ``related`` that in the guardrails.
    """

    origin: Annotated[Origin, Says("The place in the proposal.", "guards.yaml:7:5", name="place")]
    rule: Annotated[str, Says("What it is about.", "guardrail-scope")]
    message: Annotated[AnyText, Says("What counts, in words.", "the scope is wider than in the guardrails")]
    related: Annotated[
        Origin | None,
        Says("The place in the guardrails; null: none.", "guardrails://guards.yaml:7:5", default=REQUIRED),
    ] = None


@dataclass(frozen=True, slots=True)
class Guardrails:
    """The second set, the digest of its documents that judge, and by cluster what it stops the manifests from."""

    manifests: Manifests
    digest: str
    notices: Mapping[str, tuple[GuardrailNotice, ...]]
