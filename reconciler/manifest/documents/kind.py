"""What a kind of document is: the model of its documents, their declaration, and what they want of one cluster."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.bindings import BindingTable, OutsideScope
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import ManifestModel
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import BUILT_IN_ROLES, RoleDeclaration, RoleUse, RuleDeclaration, use_problem
from reconciler.manifest.read.findings import Findings, Trouble
from reconciler.manifest.read.problem import Code
from reconciler.model.desired import DesiredItem, DesiredTopic
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
    ``complete`` is false if a document could not be read, so that a name which seems unknown may be in that one.
    """

    documents: Sequence[Declared]
    templates: Sequence[Heading]
    complete: bool
    paths: Collection[str]
    findings_of: Callable[[str], Findings]
    unfilled: Sequence[Declared] = ()

    def of(self, declared: type[D]) -> list[D]:
        """The documents of one kind."""
        return [item for item in self.documents if isinstance(item, declared)]

    def check_role_uses(self, rules: Iterable[RuleDeclaration]) -> None:
        """Reports rules whose role is unknown or does not fit; only if every document could be read."""
        if not self.complete:
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

    def want(self, wish: DesiredItem[Any]) -> None:
        """Adds a resource of a listed kind; reports it if it is declared twice, or outside the cluster's scope.

        Twice is also what Kafka enforces as one. Of that, one can be declared, and the others absent.
        """
        item, origin, expires = wish.item, wish.declaration.origin, wish.declaration.expires
        findings = self.findings_of(origin.file)
        identities = [("key", item.key), *(() if wish.absent else (("enforced", item.enforced),))]
        found = [self._first.setdefault((item.KIND, identity), wish) for identity in identities]
        if (earlier := next((one for one in found if one is not wish), None)) is not None:
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
        self.listed.setdefault(item.KIND, {})[item.key] = replace(wish, expired=over)


@cache
def _model(module: str, name: str) -> Any:
    return getattr(import_module(f"reconciler.manifest.models.{module}"), name)


class Kind(ABC, Generic[M]):
    """One kind of document: ``M`` has its fields and its JSON Schema. ``name`` is what a document calls it.

    ``takes_variables``: whether ``${vars.name}`` can be used in the spec. Not where a document sets the variables.
    ``code_fields``: the fields whose texts are code, into which no value is put.
    """

    name: ClassVar[str]
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
