"""The operator's file: Cluster documents with a cluster's connection, and with the facts that no API exposes.

It is the operator's word. Whoever proposes a change writes manifests, but not this file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reconciler.dataclass import dataclass
from reconciler.manifest.kinds import KINDS_BY_NAME
from reconciler.manifest.kinds.cluster.declaration import declare_stated, sources_of
from reconciler.manifest.kinds.cluster.secrets import declare_permit
from reconciler.manifest.models.cluster import ConnectionsDocument
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.parts.document import Document, open_document
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.documents import read_documents
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.problem import ManifestError, in_order
from reconciler.manifest.reader.source import Source
from reconciler.model import FactSource, FrozenMap, Origin


@dataclass(frozen=True, slots=True)
class Connection:
    """What the operator says of a cluster: how to reach it, and facts.

    ``client`` values are as written; ``origins`` say where each setting is written. ``barrier_client`` are the
    settings that differ where brokers are asked as the probe's principal. ``facts`` is the document as a declaration,
    in which only what ``facts.fact_origins`` names was said.
    """

    bootstrap_servers: tuple[str, ...]
    client: Mapping[str, str]
    origins: Mapping[str, Origin]
    barrier_client: Mapping[str, str]
    facts: ClusterDeclaration


def connections(sources: Iterable[Source]) -> Mapping[str, Connection]:
    """What the operator says, by cluster name; raises :class:`ManifestError` with every problem."""
    found: dict[str, Connection] = {}
    places: dict[str, Origin] = {}
    everything: list[Findings] = []
    table = PatternTable()
    for source in sorted(sources):
        # Kept even if nothing is wrong: problems of all files are reported together, in order.
        findings = Findings(source)
        everything.append(findings)
        for root in read_documents(findings):
            document = open_document(root, findings, KINDS_BY_NAME)
            if document is None:
                continue
            connection = _connection(document, table)
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


def _connection(document: Document, table: PatternTable) -> Connection | None:
    findings = document.findings
    if document.heading.kind != "Cluster":
        message = "a connections file contains documents of the kind Cluster only"
        findings.add(
            Trouble(Code.UNKNOWN_KIND, message, "keep manifests in their directory"), document.root.values["kind"]
        )
        return None
    model = document.validated(ConnectionsDocument)
    stated = declare_stated(document, model.spec if model else None, table)
    if model is None or stated is None:
        return None
    barrier = model.spec.barrier
    return Connection(
        stated.bootstrap_servers,
        stated.client,
        stated.client_origins,
        FrozenMap(barrier.client) if barrier else FrozenMap(),
        replace(
            stated,
            sources=sources_of(stated.fact_origins, FactSource.OPERATOR),
            secret_permit=declare_permit(document.spec, model.spec.user_secrets, findings),
            only_scram_logins=model.spec.only_scram_logins,
        ),
    )
