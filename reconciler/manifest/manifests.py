"""A set of manifests: loaded, checked across documents, and what it wants of one cluster on one day.

Everything that a set of manifests declares, for all clusters.
"""

import datetime
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from reconciler.dataclass import dataclass
from reconciler.manifest.documents import KINDS, KINDS_BY_NAME
from reconciler.manifest.documents.acls import AclsDeclaration
from reconciler.manifest.documents.cluster import FleetDeclaration
from reconciler.manifest.documents.kind import Declared, DesiredBuilder, Kind, Loaded
from reconciler.manifest.parts.bindings import BindingTable, Roles
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading, open_document
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import BUILT_IN_ROLES, RoleDeclaration
from reconciler.manifest.read.documents import read_documents
from reconciler.manifest.read.findings import Findings, KeptSources, MappingNode, Source, Trouble, quoted
from reconciler.manifest.read.problem import Code, ManifestError, Problem, did_you_mean, in_order
from reconciler.manifest.variables import MISPLACED, Variables, form_problems, misplaced, variable_scalars
from reconciler.model.desired import DesiredState, Origin
from reconciler.model.frozen import FrozenMap, without_collector
from reconciler.model.says import REQUIRED, AnyText, Says

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
    _chosen: "Selectors" = field(init=False, repr=False, compare=False)
    _filled: "Selectors" = field(init=False, repr=False, compare=False)
    _of: dict[type[Any], list[Any]] = field(init=False, repr=False, compare=False)
    _last: list[tuple[Any, DesiredState]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Notes where the documents of each selector are: a fleet asks many times for each of its clusters."""
        others = (None if isinstance(item, ClusterDeclaration | FleetDeclaration) else item for item in self.documents)
        object.__setattr__(self, "_chosen", Selectors(None if item is None else item.heading for item in others))
        object.__setattr__(self, "_filled", Selectors(template.heading for template in self.templates))
        object.__setattr__(self, "_of", {})
        object.__setattr__(self, "_last", [])

    def chosen(self, *labels: Mapping[str, str]) -> list[Declared]:
        """The documents for clusters, in order, whose selector fits any of these labels; no clusters, no fleets."""
        return [self.documents[place] for place in self._chosen.fitting(labels)]

    def chosen_templates(self, *labels: Mapping[str, str]) -> list[Template]:
        """The documents that name variables, in order, whose selector fits any of these labels."""
        return [self.templates[place] for place in self._filled.fitting(labels)]

    def of(self, declared: type[D]) -> Sequence[D]:
        """The documents of one kind, by the type of what they declare; not those with variables."""
        if declared not in self._of:
            self._of[declared] = [item for item in self.documents if isinstance(item, declared)]
        return self._of[declared]


class Selectors:
    """Where documents are by the labels of their selectors, for as many clusters as there are documents.

    Each selector is kept by the rarest of its labels, so a cluster meets only those that have one of its own.
    """

    def __init__(self, headings: Iterable[Heading | None]) -> None:
        """Documents without a heading have no place."""
        # Numbers as such, not an object for each of 100,000 documents.
        places: defaultdict[tuple[tuple[str, str], ...], array[int]] = defaultdict(lambda: array("I"))
        for place, heading in enumerate(headings):
            if heading is not None:
                places[tuple(heading.match_labels.items())].append(place)
        often = Counter(chain.from_iterable(places))
        by_label: defaultdict[tuple[str, str] | None, list[_Selector]] = defaultdict(list)
        for selector, where in places.items():
            by_label[min(selector, key=often.__getitem__, default=None)].append((selector, where))
        self._by_label = dict(by_label)

    def met(self, labels: Iterable[Mapping[str, str]]) -> Iterator["_Selector"]:
        """The selectors that may fit any of these labels."""
        own = {None, *chain.from_iterable(given.items() for given in labels)}
        return chain.from_iterable(self._by_label.get(label, ()) for label in own)

    def fitting(self, labels: Sequence[Mapping[str, str]]) -> list[int]:
        """The places, in order, of selectors that fit any of these labels."""
        fits = (
            where
            for selector, where in self.met(labels)
            if any(all(given.get(key) == value for key, value in selector) for given in labels)
        )
        return sorted(chain.from_iterable(fits))


_Selector: TypeAlias = tuple[tuple[tuple[str, str], ...], Sequence[int]]


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


# Texts to :class:`Manifests`: every document of every file, then what holds between documents.

#: What to do about two documents of a kind with one name, where renaming is seldom right.
_ADVICE: Final = {
    "Cluster": "if one is in a connections file, pass --connections with that file, or keep it out of this directory; "
    "otherwise remove one"
}


def load(sources: Iterable[Source]) -> Manifests:
    """Reads and checks all files; raises :class:`ManifestError` with every problem that any file has."""
    files = {source.path: source for source in sources}
    loading = _Loading()
    # Nodes and findings form no cycles; the collector would walk hundreds of thousands of them for nothing.
    with without_collector():
        for path in sorted(files):
            loading.read(files[path])
    loading.check_names()
    loaded = loading.loaded()
    # What concerns several documents, such as a role that is used and not defined, waits until all are read.
    for kind in KINDS:
        kind.check(loaded)
    problems = in_order(problem for findings in loading.findings.values() for problem in findings.problems)
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return Manifests(
        tuple(loading.documents),
        FrozenMap({item.name: item for item in loaded.of(ClusterDeclaration)}),
        FrozenMap({item.name: item for item in loaded.of(FleetDeclaration)}),
        tuple(loading.templates),
        KeptSources(files[path] for path in sorted(files)),
        problems,
    )


class _Loading:
    """What has been read so far."""

    def __init__(self) -> None:
        self.findings: dict[str, Findings] = {}
        self.documents: list[Declared] = []
        self.templates: list[Template] = []
        self._unfilled: list[Declared] = []
        self._headings: list[Heading] = []
        self._table = PatternTable()
        self._unread: set[str] = set()

    def read(self, source: Source) -> None:
        """Reads one file."""
        findings = self.findings[source.path] = Findings(source)
        # A quoted text can spell its characters as escapes.
        may_vary = "${" in source.text or "\\" in source.text
        for root in read_documents(findings):
            document = open_document(root, findings, KINDS_BY_NAME)
            if document is None:
                self._unread.update(KINDS_BY_NAME)
                continue
            self._headings.append(document.heading)
            kind = KINDS_BY_NAME[document.heading.kind]
            if may_vary and kind.takes_variables and any(variable_scalars(document.root.get("spec"))):
                self._add_template(kind, document)
            else:
                self._add(kind, document)
            if may_vary:
                _report_misplaced(kind, document)

    def _add(self, kind: Kind[Any], document: Document) -> None:
        declared = kind.declare(document, self._table)
        if declared is not None:
            self.documents.append(declared)
        else:
            self._unread.add(kind.name)

    def _add_template(self, kind: Kind[Any], document: Document) -> None:
        """Checks what can be checked before the variables are known: every value that is not a variable."""
        findings = document.findings
        spec = document.root.get("spec")
        places = set(map(findings.origin, variable_scalars(spec)))
        for trouble, scalar in form_problems(spec, kind.code_fields):
            findings.add(trouble, scalar)
        trial = Findings(findings.source, excused=places)
        declared = kind.declare(document._replace(findings=trial), self._table)
        self._unfilled += [declared] if declared else []
        for problem in trial.problems:
            findings.take(problem)
        self.templates.append(Template(document.heading, document.root, findings.source))

    def check_names(self) -> None:
        """Reports documents of one kind with one name, each with the place of the first."""
        first: defaultdict[str, dict[str, Heading]] = defaultdict(dict)
        for heading in self._headings:
            if not heading.name:
                continue
            earlier = first[heading.kind].setdefault(heading.name, heading)
            if earlier is not heading:
                message = f"there is another document of the kind {heading.kind} called {heading.name}"
                advice = _ADVICE.get(heading.kind, "give one of them another name")
                trouble = Trouble(Code.DUPLICATE_NAME, message, advice)
                findings = self.findings[heading.origin.file]
                findings.add_at(trouble, heading.origin, len(heading.name), related=[earlier.origin])

    def loaded(self) -> Loaded:
        """All of it, for the checks between documents."""
        return Loaded(
            self.documents,
            [template.heading for template in self.templates],
            KINDS_BY_NAME if any(findings.cut_short for findings in self.findings.values()) else self._unread,
            self.findings.keys(),
            self.findings.__getitem__,
            self._unfilled,
        )


def _report_misplaced(kind: Kind[Any], document: Document) -> None:
    """Reports variables that nothing would fill in; those that are a problem anyway are reported as that."""
    findings = document.findings
    for scalar in misplaced(document.root, takes_variables=kind.takes_variables):
        if not findings.marks(scalar):
            findings.add(MISPLACED, scalar)


# What the manifests want of one cluster on one day.


class FindingsByFile:
    """The findings of several files."""

    def __init__(self, manifests: Manifests) -> None:
        """Starts empty."""
        self._manifests = manifests
        self._by_path: dict[str, Findings] = {}

    def of(self, path: str) -> Findings:
        """The findings of one file."""
        if path not in self._by_path:
            self._by_path[path] = Findings(self._manifests.sources.get(path, Source(path, "")))
        return self._by_path[path]

    def problems(self) -> tuple[Problem, ...]:
        """All problems, in order."""
        return in_order(problem for findings in self._by_path.values() for problem in findings.problems)


#: A larger answer is not kept for the next cluster: a worker holds one cluster at a time.
_SHARED: Final = 100_000


def desired_state(manifests: Manifests, cluster_name: str, as_of: datetime.date) -> DesiredState:
    """Bindings and topics for a declared cluster; what expired before ``as_of`` is apart.

    Raises :class:`ManifestError` for an unknown cluster, and for what only this cluster shows: unset variables,
    declarations outside its scope, bindings or topics that two of its documents declare.
    """
    cluster = declared_cluster(manifests, cluster_name)
    # All that an answer without a problem depends on, where no document has variables: clusters of a fleet are alike.
    alike = as_of, cluster.labels, cluster.scope, cluster.topic_defaults
    for given, answer in manifests._last:
        if given == alike:
            return answer
    findings = FindingsByFile(manifests)
    documents = declared_for(manifests, cluster, findings)
    bindings = BindingTable(cluster, roles_for(manifests, cluster, documents), findings.of)
    builder = DesiredBuilder(cluster, as_of, documents, findings.of, bindings)
    with without_collector():
        for kind in KINDS:
            kind.collect(builder)
    present, expired = bindings.on(as_of)
    builder.check_scope()
    problems = findings.problems()
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    answer = DesiredState(present, builder.topics, expired, builder.listed, tuple(bindings.repeated))
    shared = not problems and len(present) <= _SHARED and not manifests.chosen_templates(cluster.labels)
    manifests._last[:] = [(alike, answer)] if shared else []
    return answer


def declared_cluster(manifests: Manifests, name: str) -> ClusterDeclaration:
    """The cluster of that name; raises :class:`ManifestError` with the nearest name if there is none."""
    cluster = manifests.clusters.get(name)
    if cluster is not None:
        return cluster
    clusters = manifests.clusters
    otherwise = f"declared are {', '.join(clusters)}" if clusters else "no Cluster is declared"
    advice = did_you_mean(name, clusters, otherwise)
    first = min(
        (cluster.origin for cluster in clusters.values()), default=Origin(min(manifests.sources, default="."), 1, 1)
    )
    findings = FindingsByFile(manifests).of(first.file)
    findings.add_at(Trouble(Code.UNKNOWN_CLUSTER, f"there is no cluster {quoted(name)}", advice), first)
    raise ManifestError(findings.problems)


def declared_for(
    manifests: Manifests,
    cluster: ClusterDeclaration,
    findings: FindingsByFile,
    *,
    also: Mapping[str, str] = FrozenMap(),
    kinds: Collection[str] | None = None,
) -> list[Declared]:
    """The documents for this cluster, variables filled in; also those for a cluster with other labels, if given.

    With ``kinds``, documents of others are left as they are: filling in many rules takes seconds.
    """
    documents = manifests.chosen(cluster.labels, also)  # no labels fit only a document that is for every cluster
    table, variables = PatternTable(), Variables(cluster)
    with without_collector():
        for template in manifests.chosen_templates(cluster.labels, also):
            if kinds is None or template.heading.kind in kinds:
                filled = template.filled(variables, table, findings.of(template.source.path))
                documents += [filled] if filled else []
    return documents


def declared_acls(manifests: Manifests, cluster: ClusterDeclaration) -> list[AclsDeclaration]:
    """Its ``Acls`` documents, variables filled in; one that cannot be is left out, for :func:`desired_state` to say."""
    documents = declared_for(manifests, cluster, FindingsByFile(manifests), kinds=("Acls",))
    return [item for item in documents if isinstance(item, AclsDeclaration)]


def roles_for(manifests: Manifests, cluster: ClusterDeclaration, declared: list[Declared]) -> Roles:
    """The built-in roles and those of documents, by whether this cluster can use them."""
    here = {role.name: role for role in declared if isinstance(role, RoleDeclaration)}
    templates = [template.heading for template in manifests.templates if template.heading.kind == "Role"]
    headings = [role.heading for role in manifests.of(RoleDeclaration) if role.heading is not None]
    applying = {heading.name: heading.applies_to(cluster.labels) for heading in (*headings, *templates)}
    elsewhere = frozenset(name for name, applies in applying.items() if not applies)
    return Roles({**here, **BUILT_IN_ROLES}, elsewhere, frozenset(applying).difference(here, elsewhere))
