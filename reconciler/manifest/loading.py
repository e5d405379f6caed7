"""Texts to :class:`Manifests`: every document of every file, then what holds between documents."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from reconciler.manifest.kinds import KINDS, KINDS_BY_NAME
from reconciler.manifest.kinds.fleet import FleetDeclaration
from reconciler.manifest.kinds.interface import Declared, Kind, Loaded
from reconciler.manifest.manifests import Manifests, Template
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, Heading, open_document
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.documents import read_documents
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.problem import ManifestError, in_order
from reconciler.manifest.reader.source import KeptSources, Source
from reconciler.manifest.variables import MISPLACED, form_problems, misplaced, variable_scalars
from reconciler.model import FrozenMap
from reconciler.model.collector import without_collector

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
        self._complete = True

    def read(self, source: Source) -> None:
        """Reads one file."""
        findings = self.findings[source.path] = Findings(source)
        # A quoted text can spell its characters as escapes.
        may_vary = "${" in source.text or "\\" in source.text
        for root in read_documents(findings):
            document = open_document(root, findings, KINDS_BY_NAME)
            if document is None:
                self._complete = False
                continue
            self._headings.append(document.heading)
            kind = KINDS_BY_NAME[document.heading.kind]
            if may_vary and kind.takes_variables and any(variable_scalars(document.root.get("spec"))):
                self._add_template(kind, document)
            else:
                self._add(kind, document)
            if may_vary:
                _report_misplaced(kind, document)

    def _add(self, kind: Kind, document: Document) -> None:
        declared = kind.declare(document, self._table)
        if declared is not None:
            self.documents.append(declared)
        elif kind.takes_variables:
            self._complete = False

    def _add_template(self, kind: Kind, document: Document) -> None:
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
            self._complete and not any(findings.cut_short for findings in self.findings.values()),
            self.findings.keys(),
            self.findings.__getitem__,
            self._unfilled,
        )


def _report_misplaced(kind: Kind, document: Document) -> None:
    """Reports variables that nothing would fill in; those that are a problem anyway are reported as that."""
    findings = document.findings
    for scalar in misplaced(document.root, takes_variables=kind.takes_variables):
        if not findings.marks(scalar):
            findings.add(MISPLACED, scalar)
