"""Connections from a file of the operator's: Cluster documents of which only the connection is used."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reconciler.manifest.kinds import KINDS_BY_NAME
from reconciler.manifest.kinds.cluster.declaration import address_problem, client_origins
from reconciler.manifest.kinds.cluster.model import ClusterDocument
from reconciler.manifest.parts.document import Document, open_document
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.documents import read_documents
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.problem import ManifestError, in_order
from reconciler.manifest.reader.source import Source
from reconciler.model import FrozenMap, Origin


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach a cluster. ``client`` values are as written; ``origins`` say where each setting is written.

    ``barrier_client`` are the settings that differ where brokers are asked as the probe's principal.
    """

    bootstrap_servers: tuple[str, ...]
    client: Mapping[str, str]
    origins: Mapping[str, Origin]
    barrier_client: Mapping[str, str] = FrozenMap()


def connections(sources: Iterable[Source]) -> Mapping[str, Connection]:
    """Connections by cluster name; raises :class:`ManifestError` with every problem."""
    found: dict[str, Connection] = {}
    places: dict[str, Origin] = {}
    everything: list[Findings] = []
    for source in sorted(sources):
        findings = Findings(source)
        everything.append(findings)
        for root in read_documents(findings):
            document = open_document(root, findings, KINDS_BY_NAME)
            if document is None:
                continue
            connection = _connection(document)
            heading = document.heading
            first = places.setdefault(heading.name, heading.origin)
            if first != heading.origin and heading.name:
                message = f"there is another cluster called {heading.name}"
                findings.add_at(Trouble(Code.DUPLICATE_NAME, message, "keep one"), heading.origin, related=[first])
            elif connection is not None:
                found[heading.name] = connection
    problems = in_order(problem for findings in everything for problem in findings.problems)
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return FrozenMap(found)


def _connection(document: Document) -> Connection | None:
    findings, spec = document.findings, document.spec
    if document.heading.kind != "Cluster":
        message = "a connections file contains documents of the kind Cluster only"
        findings.add(
            Trouble(Code.UNKNOWN_KIND, message, "keep manifests in their directory"), document.root.values["kind"]
        )
        return None
    model = document.validated(ClusterDocument)
    servers = checked_texts(spec.get("bootstrapServers"), address_problem, findings)
    if spec.get("bootstrapServers") is None:
        key = document.root.keys.get("spec", document.root)
        findings.add(Trouble(Code.MISSING_FIELD, "the field 'bootstrapServers' is missing here"), key)
    if model is None:
        return None
    barrier = model.spec.barrier
    probe = FrozenMap(barrier.client) if barrier else FrozenMap[str]()
    return Connection(servers, FrozenMap(model.spec.client), client_origins(spec, findings), probe)
