"""The operator's files: connections, and facts that win over manifests.

The operator's file: Cluster documents with a cluster's connection, and with the facts that no API exposes.

It is the operator's word. Whoever proposes a change writes manifests, but not this file.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.documents import KINDS_BY_NAME, cluster
from reconciler.manifest.manifests import FindingsByFile, Manifests
from reconciler.manifest.models.cluster import ConnectionsDocument
from reconciler.manifest.parts.clusters import NO_EMERGENCY, ClusterDeclaration, Limits
from reconciler.manifest.parts.document import API_VERSION, Document, open_document
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.read.documents import read_documents
from reconciler.manifest.read.findings import Findings, Source, Trouble
from reconciler.manifest.read.problem import Code, ManifestError, Problem, in_order
from reconciler.model.desired import Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.secrets import NOTHING_PERMITTED
from reconciler.model.state import FactSource, FactSources


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
    by_name: dict[str, Connection] = {}
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
                by_name[heading.name] = connection
    problems = in_order(_of_connections(problem) for findings in everything for problem in findings.problems)
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return FrozenMap(by_name)


def _of_connections(problem: Problem) -> Problem:
    """What a file is told that is no document of ours: which documents these are."""
    missing = problem.code in (Code.API_VERSION, Code.UNKNOWN_KIND) and problem.message.endswith("is missing")
    if problem.code is not Code.NOT_A_MANIFEST and not missing:
        return problem
    words = f"write apiVersion: {API_VERSION} and kind: Cluster, as reconciler init does"
    return replace(problem, advice=f"{words}; a file of Java properties ends in .properties")


def _connection(document: Document, table: PatternTable) -> Connection | None:
    findings = document.findings
    if document.heading.kind != "Cluster":
        message = "a connections file contains documents of the kind Cluster only"
        findings.add(
            Trouble(Code.UNKNOWN_KIND, message, "keep manifests in their directory"), document.root.values["kind"]
        )
        return None
    model = document.validated(ConnectionsDocument)
    stated = cluster.declare_stated(document, model.spec if model else None, table)
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
            sources=cluster.sources_of(stated.fact_origins, FactSource.OPERATOR),
            secret_permit=cluster.declare_permit(document.spec, model.spec.user_secrets, findings),
            only_scram_logins=model.spec.only_scram_logins,
            emergency=cluster.declare_emergency(document.spec, model.spec, findings),
        ),
    )


# The operator's word on clusters that manifests declare: it wins, and a manifest that contradicts it is a problem.
#
# A manifest may repeat a fact. It may add to ``interBrokerPrincipals`` and ``protect``, and tighten ``limits``, for
# that only makes a plan harder to pass. Exceptions of the operator replace the proposer's.

#: A fact: what a cluster has of it, as values of its declaration's fields.
_Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Fact:
    """A fact that both may state: the fields of a declaration that hold it, and how the two words go together.

    ``joined`` gives what counts of the manifest's and the operator's values; ``None``: they contradict each other.
    """

    holds: tuple[str, ...]
    joined: Callable[[_Values, _Values], _Values | None]
    advice: str = "remove it here, or have the operator change it there"


def with_operator(manifests: Manifests, operator: Mapping[str, Connection]) -> Manifests:
    """The manifests with the operator's facts in each cluster; raises :class:`ManifestError` with every contradiction.

    A contradiction is reported where the manifest states the fact, with the operator's place.
    """
    findings = FindingsByFile(manifests)
    clusters = {
        name: _joined(own, operator[name].facts, findings) if name in operator else own
        for name, own in manifests.clusters.items()
    }
    if problems := findings.problems():
        raise ManifestError(problems)
    documents = tuple(
        clusters[item.name] if isinstance(item, ClusterDeclaration) else item for item in manifests.documents
    )
    return replace(manifests, clusters=FrozenMap(clusters), documents=documents)


def as_proposed(connection: Connection) -> Connection:
    """The same, stated by whoever proposes a change: it lies among the manifests."""
    facts = connection.facts
    sources = {
        field.name: FactSource.NOBODY
        if getattr(facts.sources, field.name) is FactSource.NOBODY
        else FactSource.MANIFESTS
        for field in fields(FactSources)
    }
    alone = replace(facts, secret_permit=NOTHING_PERMITTED, only_scram_logins=False, emergency=NO_EMERGENCY)
    return replace(connection, facts=replace(alone, sources=FactSources(**sources)))


def _joined(own: ClusterDeclaration, given: ClusterDeclaration, findings: FindingsByFile) -> ClusterDeclaration:
    # As it was written, without the flavor: the operator's may be another, or none.
    own = replace(own, barrier_wait=own.short_wait, short_wait=None) if own.short_wait is not None else own
    declaration = own
    for name in given.fact_origins:
        fact = _FACTS[name]
        theirs = _values(given, fact.holds)
        counts = fact.joined(_values(own, fact.holds), theirs) if name in own.fact_origins else theirs
        if counts is None:
            place = own.fact_origins[name]
            message = f"the operator's file states {name} of cluster {own.name} otherwise"
            trouble = Trouble(Code.CONTRADICTED_FACT, message, fact.advice)
            findings.of(place.file).add_at(trouble, place, len(name), related=[given.fact_origins[name]])
            counts = theirs
        declaration = replace(declaration, **counts)
    declaration = replace(
        declaration,
        secret_permit=given.secret_permit,
        only_scram_logins=given.only_scram_logins,
        emergency=given.emergency,
        sources=_first_stated(given.sources, own.sources),
        fact_origins=FrozenMap({**own.fact_origins, **given.fact_origins}),
    )
    return cluster.with_flavor(declaration)


def _values(declaration: ClusterDeclaration, holds: Iterable[str]) -> _Values:
    return {name: getattr(declaration, name) for name in holds}


def _first_stated(given: FactSources, own: FactSources) -> FactSources:
    pairs = {field.name: (getattr(given, field.name), getattr(own, field.name)) for field in fields(FactSources)}
    return FactSources(**{name: b if a is FactSource.NOBODY else a for name, (a, b) in pairs.items()})


def _equal(own: _Values, given: _Values) -> _Values | None:
    return given if own == given else None


def _same_set(own: _Values, given: _Values) -> _Values | None:
    return given if all(set(own[name]) == set(given[name]) for name in given) else None


def _more(own: _Values, given: _Values) -> _Values:
    return {name: tuple(dict.fromkeys((*given[name], *own[name]))) for name in given}


def _tighter(own: _Values, given: _Values) -> _Values | None:
    """The manifest's limits where they are no wider than the operator's; what it leaves out is the operator's."""
    limits = []
    for mine, theirs in zip(own["limits"], given["limits"], strict=True):
        if None not in (mine, theirs) and mine > theirs:
            return None
        limits.append(theirs if mine is None else mine)
    return {"limits": Limits(*limits)}


def _same_barrier(own: _Values, given: _Values) -> _Values | None:
    """How to wait and whom to ask; how the probe logs in is part of the connection, and the operator's anyway."""
    asked = [
        (values["barrier_wait"], values["probe"] and replace(values["probe"], client=FrozenMap()))
        for values in (own, given)
    ]
    return given if asked[0] == asked[1] else None


def _none(own: _Values, given: _Values) -> None:
    """Whoever proposes a change does not accept for it where the operator does."""


_FACTS: Final[Mapping[str, _Fact]] = {
    "principal": _Fact(("principal",), _equal),
    "flavor": _Fact(("flavor",), _equal),
    "superUsers": _Fact(("super_users",), _same_set),
    "allowEveryoneIfNoAclFound": _Fact(("allow_everyone_if_no_acl_found",), _equal),
    "kafkaVersion": _Fact(("kafka_version",), _equal),
    "interBrokerPrincipals": _Fact(("inter_broker_principals",), _more),
    "brokers": _Fact(("brokers",), _same_set),
    "barrier": _Fact(("barrier_wait", "probe"), _same_barrier),
    "protect": _Fact(("protect",), _more),
    "deleteLimits": _Fact(("limits",), _tighter, "tighten it to what the operator allows, or less"),
    "exceptions": _Fact(("guard_exceptions",), _none, "have the operator accept it there"),
}
