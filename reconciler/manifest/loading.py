"""Texts to :class:`Manifests`: every document of every file, then what holds between documents."""

from collections.abc import Iterable
from itertools import chain

from reconciler.manifest.acls import AclsDeclaration, RoleUse
from reconciler.manifest.built_in_roles import BUILT_IN_ROLES
from reconciler.manifest.claims import AccessTestsDeclaration
from reconciler.manifest.clusters import ClusterDeclaration, declare_cluster
from reconciler.manifest.codes import Code
from reconciler.manifest.document import Document, Heading, open_document
from reconciler.manifest.findings import Findings, Trouble
from reconciler.manifest.fleets import FleetDeclaration, check_waves, declare_fleet
from reconciler.manifest.manifests import Manifests, Template, declare
from reconciler.manifest.owners import OwnershipDeclaration, check_teams
from reconciler.manifest.policies import TopicPolicyDeclaration
from reconciler.manifest.problem import ManifestError, in_order
from reconciler.manifest.reader import read_documents
from reconciler.manifest.resources import PatternTable
from reconciler.manifest.roles import RoleDeclaration, use_problem
from reconciler.manifest.source import Source
from reconciler.manifest.topics import TopicsDeclaration
from reconciler.manifest.variables import MISPLACED, form_problem, misplaced, variable_scalars
from reconciler.model import FrozenMap, Origin
from reconciler.model.collector import without_collector


def load(sources: Iterable[Source]) -> Manifests:
    """Reads and checks all files; raises :class:`ManifestError` with every problem that any file has."""
    files = {source.path: source for source in sources}
    loading = _Loading()
    with without_collector():
        for path in sorted(files):
            loading.read(files[path])
    loading.check_names()
    loading.check_roles()
    loading.check_fleets()
    loading.check_teams()
    problems = in_order(problem for findings in loading.findings for problem in findings.problems)
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return Manifests(
        FrozenMap(loading.clusters),
        tuple(loading.acls),
        FrozenMap(loading.roles),
        tuple(loading.topics),
        tuple(loading.templates),
        FrozenMap(files),
        problems,
        FrozenMap(loading.fleets),
        tuple(loading.access_tests),
        tuple(loading.ownership),
        tuple(loading.topic_policies),
    )


class _Loading:
    """What has been read so far."""

    def __init__(self) -> None:
        self.findings: list[Findings] = []
        self.clusters: dict[str, ClusterDeclaration] = {}
        self.acls: list[AclsDeclaration] = []
        self.roles: dict[str, RoleDeclaration] = {}
        self.topics: list[TopicsDeclaration] = []
        self.fleets: dict[str, FleetDeclaration] = {}
        self.access_tests: list[AccessTestsDeclaration] = []
        self.ownership: list[OwnershipDeclaration] = []
        self.topic_policies: list[TopicPolicyDeclaration] = []
        self.templates: list[Template] = []
        self._headings: list[tuple[Heading, Findings]] = []
        self._table = PatternTable()
        self._complete = True

    def read(self, source: Source) -> None:
        """Reads one file."""
        findings = Findings(source)
        self.findings.append(findings)
        # A quoted text can spell its characters as escapes.
        may_vary = "${" in source.text or "\\" in source.text
        for root in read_documents(findings):
            document = open_document(root, findings)
            if document is None:
                self._complete = False
                continue
            self._headings.append((document.heading, findings))
            if document.heading.kind == "Cluster":
                self._add_cluster(document)
            elif document.heading.kind == "Fleet":
                self._add_fleet(document)
            elif may_vary and any(variable_scalars(document.root.get("spec"))):
                self._add_template(document)
            else:
                self._add(document)
            if may_vary:
                _report_misplaced(document)

    def _add_cluster(self, document: Document) -> None:
        cluster = declare_cluster(document, self._table)
        if cluster is not None:
            self.clusters.setdefault(cluster.name, cluster)

    def _add_fleet(self, document: Document) -> None:
        fleet = declare_fleet(document)
        if fleet is not None:
            self.fleets.setdefault(fleet.name, fleet)

    def _add_template(self, document: Document) -> None:
        """Checks what can be checked before the variables are known: whatever does not stand at a variable."""
        findings = document.findings
        trial = Findings(findings.source)
        declare(document._replace(findings=trial), self._table)
        places = set()
        for scalar in variable_scalars(document.root.get("spec")):
            places.add(findings.origin(scalar))
            trouble = form_problem(scalar.plain)
            if trouble is not None:
                findings.add(trouble, scalar)
        findings.problems += [problem for problem in trial.problems if problem.origin not in places]
        self.templates.append(Template(document.heading, document.root, findings.source))

    def _add(self, document: Document) -> None:
        match declare(document, self._table):
            case AclsDeclaration() as acls:
                self.acls.append(acls)
            case RoleDeclaration() as role:
                self.roles.setdefault(role.name, role)
            case TopicsDeclaration() as topics:
                self.topics.append(topics)
            case AccessTestsDeclaration() as tests:
                self.access_tests.append(tests)
            case OwnershipDeclaration() as ownership:
                self.ownership.append(ownership)
            case TopicPolicyDeclaration() as policy:
                self.topic_policies.append(policy)
            case None:
                self._complete = False

    def check_names(self) -> None:
        """Reports documents of one kind with one name, each with the place of the first."""
        first: dict[tuple[str, str], Origin] = {}
        for heading, findings in self._headings:
            if not heading.name:
                continue
            place = first.setdefault((heading.kind, heading.name), heading.origin)
            if place != heading.origin:
                message = f"there is another document of the kind {heading.kind} called {heading.name}"
                trouble = Trouble(Code.DUPLICATE_NAME, message, "give one of them another name")
                findings.add_at(trouble, heading.origin, len(heading.name), related=[place])

    def check_fleets(self) -> None:
        """Warns of waves without clusters."""
        by_path = {findings.source.path: findings for findings in self.findings}
        for fleet in self.fleets.values():
            check_waves(fleet, self.clusters.values(), by_path[fleet.origin.file])

    def check_teams(self) -> None:
        """Reports unknown teams, and warns of teams without files; only if every document could be read."""
        later = any(template.heading.kind == "Ownership" for template in self.templates)
        if self._complete and not later and not any(findings.cut_short for findings in self.findings):
            by_path = {findings.source.path: findings for findings in self.findings}
            check_teams(self.ownership, by_path, by_path.__getitem__)

    def check_roles(self) -> None:
        """Reports rules whose role is unknown or does not fit; only if every document could be read."""
        if not self._complete or any(findings.cut_short for findings in self.findings):
            return
        later = {template.heading.name for template in self.templates if template.heading.kind == "Role"}
        roles = {**self.roles, **BUILT_IN_ROLES}
        by_path = {findings.source.path: findings for findings in self.findings}
        written = chain.from_iterable((*(acls.rules for acls in self.acls), *(topics.rules for topics in self.topics)))
        for rule in written:
            if isinstance(rule.action, RoleUse) and rule.action.name not in later:
                trouble = use_problem(rule, rule.action, roles)
                if trouble is not None:
                    origin = rule.action.declaration.origin
                    by_path[origin.file].add_at(trouble, origin)


def _report_misplaced(document: Document) -> None:
    """Reports variables that nothing would fill in; those that are a problem anyway are reported as that."""
    findings = document.findings
    for scalar in misplaced(document.root, document.heading.kind):
        if not findings.marks(scalar):
            findings.add(MISPLACED, scalar)
