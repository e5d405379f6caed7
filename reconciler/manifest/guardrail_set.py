"""Manifests held by guardrails: a second set that the proposal cannot edit, such as the base branch's.

Both sets judge. Access and cluster tests, topic policies and ownership of either are decided as they are written there;
of the clusters and fleets that both declare, the tighter terms count. So a proposal can add rules and never loosen one.
"""

import datetime
import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeAlias

from reconciler.codec.document import compact
from reconciler.dataclass import dataclass
from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.documents.cluster import FleetDeclaration, WaveDeclaration
from reconciler.manifest.documents.kind import Declared
from reconciler.manifest.documents.ownership import OwnershipDeclaration
from reconciler.manifest.documents.tests import AccessTestsDeclaration, ClusterTestsDeclaration
from reconciler.manifest.documents.topic_policy import TopicPolicyDeclaration
from reconciler.manifest.manifests import (
    FindingsByFile,
    GuardrailNotice,
    Guardrails,
    Manifests,
    declared_for,
    desired_state,
    load,
)
from reconciler.manifest.parts.clusters import ClusterDeclaration, GuardExceptionDeclaration, Limits
from reconciler.manifest.parts.document import Document, open_document
from reconciler.manifest.read.documents import read_documents
from reconciler.manifest.read.findings import Findings, Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.desired import Origin
from reconciler.model.frozen import FrozenMap
from reconciler.model.scope import beyond, bounded, short_of
from reconciler.model.state import FactSource

#: Before the path of every file of the guardrails. No path below a directory has two slashes in a row, so a file of the
#: proposal cannot look like one of the guardrails.
PREFIX: Final = "guardrails://"
#: The kinds whose documents judge.
KINDS: Final = ("AccessTests", "Cluster", "ClusterTests", "Fleet", "Ownership", "TopicPolicy")
#: Guards that pass on what a Cluster document of the guardrails says: only they make an exception from that.
_OF_CLUSTER: Final = ("limit", "protected")


def with_guardrails(manifests: Manifests, sources: Iterable[Source]) -> Manifests:
    """The manifests, held by the guardrails that ``sources`` are.

    Raises :class:`ManifestError` with every problem that any file of the guardrails has: one that cannot be read must
    not look as if it said nothing.
    """
    marked = [Source(PREFIX + source.path, source.text) for source in sources]
    guardrails = load(marked)
    pairs = {name: (own, guardrails.clusters.get(name)) for name, own in manifests.clusters.items()}
    clusters = {name: own if bounds is None else _held(own, bounds) for name, (own, bounds) in pairs.items()}
    documents = tuple(
        clusters[item.name] if isinstance(item, ClusterDeclaration) else item for item in manifests.documents
    )
    fleets = {name: _held_fleet(manifests.fleets.get(name), bounds) for name, bounds in guardrails.fleets.items()}
    about_fleets = tuple(_fleet_notices(manifests.fleets, fleets))
    notices = FrozenMap(
        {name: tuple(sorted((*_notices(guardrails, *pair), *about_fleets))) for name, pair in pairs.items()}
    )
    return replace(
        manifests,
        clusters=FrozenMap(clusters),
        fleets=FrozenMap({**manifests.fleets, **fleets}),
        documents=documents,
        guardrails=Guardrails(guardrails, guardrails_digest(marked), notices),
    )


def guardrails_digest(sources: Iterable[Source]) -> str:
    """``sha256:…`` of the documents that judge, as they are written, whatever file each is in."""
    texts = [
        compact([document.heading.kind, document.heading.name, document.root.plain])
        for document in judging_documents(sources, KINDS)
    ]
    return "sha256:" + hashlib.sha256("\n".join(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()


def judging_documents(sources: Iterable[Source], kinds: Collection[str]) -> Iterator[Document]:
    """The documents of ``kinds``; what cannot be read is left to :func:`~reconciler.manifest.manifests.load`."""
    for source in sources:
        findings = Findings(source)
        for root in read_documents(findings):
            document = open_document(root, findings, KINDS_BY_NAME)
            if document is not None and document.heading.kind in kinds:
                yield document


def guardrail_documents(manifests: Manifests, cluster_name: str) -> list[Declared]:
    """What the guardrails declare for a cluster of the proposal; raises :class:`ManifestError`.

    A document is for it if its labels fit as the proposal or as the guardrails have them: a label that a proposal
    changes must not take a rule away. Variables have the values that the guardrails give them; of a cluster that they
    do not know, those of the proposal, or nobody could ever add one: a notice says so.
    """
    if manifests.guardrails is None:
        return []
    guardrails = manifests.guardrails.manifests
    own = manifests.clusters[cluster_name]
    cluster = guardrails.clusters.get(cluster_name, own)
    findings = FindingsByFile(guardrails)
    declared = declared_for(guardrails, cluster, findings, also=own.labels, kinds=KINDS)
    problems = findings.problems()
    if any(problem.severity == "error" for problem in problems):
        raise ManifestError(problems)
    return declared


def guardrail_files(manifests: Manifests) -> Mapping[str, str]:
    """The marked path of each file of the guardrails, by the path that Ownership's globs are about."""
    sources = manifests.guardrails.manifests.sources if manifests.guardrails else ()
    return {path.removeprefix(PREFIX): path for path in sources}


def guardrail_labels(manifests: Manifests, cluster_name: str, as_of: datetime.date) -> Mapping[str, Mapping[str, str]]:
    """The labels that the guardrails give topics: a rule for labelled topics must not lose one by a new label."""
    if manifests.guardrails is None or cluster_name not in manifests.guardrails.manifests.clusters:
        return {}
    topics = desired_state(manifests.guardrails.manifests, cluster_name, as_of).topics
    return {name: topic.all_labels for name, topic in topics.items()}


def wave_labels(manifests: Manifests, cluster: ClusterDeclaration) -> Mapping[str, str]:
    """The labels by which a cluster belongs to a wave: a new label must not take it out of its turn."""
    if manifests.guardrails is None:
        return cluster.labels
    return manifests.guardrails.manifests.clusters.get(cluster.name, cluster).labels


def _held_fleet(own: FleetDeclaration | None, bounds: FleetDeclaration) -> FleetDeclaration:
    """The waves of the guardrails, in their order, with the stricter of their gates; of limits the tighter."""
    if own is None:
        return bounds
    gates = {wave.name: wave for wave in own.waves}
    return replace(
        bounds,
        waves=tuple(_held_wave(gates.get(wave.name, wave), wave) for wave in bounds.waves),
        max_changed_clusters_percent=_tighter(own.max_changed_clusters_percent, bounds.max_changed_clusters_percent),
        max_deletes=_tighter(own.max_deletes, bounds.max_deletes),
    )


def _held_wave(own: WaveDeclaration, bounds: WaveDeclaration) -> WaveDeclaration:
    failures = min(own.max_failures, bounds.max_failures)
    return replace(bounds, soak=max(own.soak, bounds.soak), max_failures=failures)


def _fleet_notices(
    own: Mapping[str, FleetDeclaration], held: Mapping[str, FleetDeclaration]
) -> Iterator[GuardrailNotice]:
    """Fleets whose waves, gates or limits the proposal would loosen."""
    for name, counts in held.items():
        proposed = own.get(name)
        if proposed is None or rule_key(proposed) != rule_key(counts):
            message = f"the fleet {name} is not what the guardrails say: their waves and the tighter terms count"
            yield GuardrailNotice((proposed or counts).origin, "guardrail-fleet", message, counts.origin)


def rule_key(value: Any) -> Hashable:
    """The same for two rules that say the same, wherever each is written."""
    if isinstance(value, Origin):
        return None
    if is_dataclass(value):
        # What does not count where two are compared is no word of either.
        return tuple(rule_key(getattr(value, field.name)) for field in fields(value) if field.compare)
    if isinstance(value, tuple):
        return tuple(map(rule_key, value))
    if isinstance(value, Mapping):
        return frozenset((key, rule_key(item)) for key, item in value.items())
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class HeldTerm:
    """A term of a ``Cluster`` document that guardrails hold.

    ``holds`` are the fields of a declaration; ``joined`` gives what counts of the proposal's and the guardrails'.
    ``fact`` is what :class:`FactSources` calls it, where an operator may state it; without ``claim``, what counts where
    the two differ is nobody's word. ``notice`` is what a reviewer is told then.
    """

    holds: tuple[str, ...]
    joined: "_Join"
    fact: str = ""
    notice: str = ""
    claim: bool = True


@dataclass(frozen=True, slots=True)
class NoRule:
    """A field that guardrails do not hold, and why a proposal gets nothing by it."""

    because: str


_Join: TypeAlias = Callable[[ClusterDeclaration, ClusterDeclaration], Mapping[str, Any]]
_THEIRS: Final = "theirs counts"


def _of_base(*holds: str) -> _Join:
    return lambda _, bounds: {name: getattr(bounds, name) for name in holds}


def _both(name: str) -> _Join:
    return lambda own, bounds: {name: tuple(dict.fromkeys((*getattr(own, name), *getattr(bounds, name))))}


def _default_allow(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Mapping[str, Any]:
    """Unknown where the two differ: a test that forbids fails under the one value, one that demands under the other."""
    same = own.allow_everyone_if_no_acl_found == bounds.allow_everyone_if_no_acl_found
    return {"allow_everyone_if_no_acl_found": own.allow_everyone_if_no_acl_found if same else None}


def _stated(name: str) -> _Join:
    """The guardrails' where they state it; what they leave open a proposal may state."""

    def joined(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Mapping[str, Any]:
        stated = getattr(bounds.sources, name) is not FactSource.NOBODY
        return {name: getattr(bounds if stated else own, name)}

    return joined


def _limits(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Mapping[str, Any]:
    """The tighter of what counts, which a document that says nothing has too: a share of 20 percent above 10."""
    pairs = zip(own.limits.effective, bounds.limits.effective, strict=True)
    limits = Limits(*(_tighter(*pair) for pair in pairs))
    return {"limits": own.limits if limits == own.limits.effective else limits}


def _prune(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Mapping[str, Any]:
    # Undeclared things are in scope only by include, which a bounded scope no longer tells apart.
    return {"prune": own.prune & bounds.prune if bounds.scope.include is not None else frozenset()}


def _barrier(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Mapping[str, Any]:
    """The longer wait, and the guardrails' probe: one with rights would see what others do not see yet."""
    same = own.probe is not None and bounds.probe is not None and own.probe.principal == bounds.probe.principal
    probe = own.probe if same or bounds.probe is None else bounds.probe
    operator = own.sources.barrier is FactSource.OPERATOR
    wait = own.barrier_wait if operator else max(own.barrier_wait, bounds.barrier_wait)
    return {"barrier_wait": wait, "probe": (own.probe or probe) if operator else probe}


def _scope(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Mapping[str, Any]:
    return {"scope": bounded(own.scope, bounds.scope)}


def _exceptions(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Mapping[str, Any]:
    return {"guard_exceptions": tuple(item for item in own.guard_exceptions if _counts(item, own, bounds))}


_WHERE: Final = NoRule("where a cluster is and how it is reached is the operator's to say")
_SCOPED: Final = HeldTerm(("scope",), _scope)
#: Each field of a Cluster document, by its name there; a new one has to be here before anything works.
HELD: Final[Mapping[str, HeldTerm | NoRule]] = {
    "labels": NoRule("a document of the guardrails applies by the labels of either"),
    "bootstrapServers": _WHERE,
    "client": _WHERE,
    "principal": HeldTerm(("principal",), _stated("principal"), "principal", _THEIRS),
    "superUsers": HeldTerm(("super_users",), _of_base("super_users"), "super_users", "theirs count"),
    "flavor": HeldTerm(("flavor",), _stated("flavor"), "flavor", _THEIRS),
    "allowEveryoneIfNoAclFound": HeldTerm(
        ("allow_everyone_if_no_acl_found",), _default_allow, "default_allow", "it counts as unknown", False
    ),
    "kafkaVersion": HeldTerm(("kafka_version",), _of_base("kafka_version"), "kafka_version", _THEIRS, False),
    "interBrokerPrincipals": HeldTerm(("inter_broker_principals",), _both("inter_broker_principals")),
    "protect": HeldTerm(("protect",), _both("protect")),
    "deleteLimits": HeldTerm(("limits",), _limits),
    "barrier": HeldTerm(("barrier_wait", "probe"), _barrier),
    "brokers": HeldTerm(("brokers",), _of_base("brokers"), "brokers", "theirs count"),
    # Of guards; lint judges one set of manifests, and --base shows each exception.
    "exceptions": HeldTerm(("guard_exceptions",), _exceptions, "exceptions"),
    "scope": _SCOPED,
    "ignore": _SCOPED,
    "prune": HeldTerm(("prune",), _prune),
    "topicDefaults": NoRule("topics are judged with what they take from it"),
    "ignoreConfigs": HeldTerm(("ignore_configs",), _both("ignore_configs")),
    "vars": NoRule("documents of the guardrails take the values that the guardrails give; others are judged as filled"),
}


def _notices(
    guardrails: Manifests, own: ClusterDeclaration, bounds: ClusterDeclaration | None
) -> Iterator[GuardrailNotice]:
    """Where the proposal's document of a cluster is wider than that of the guardrails."""
    if bounds is None:
        yield from _undeclared(guardrails, own)
    else:
        yield from _fact_notices(own, bounds)
        yield from _scope_notices(own, bounds)
        yield from _exception_notices(own, bounds)


def _undeclared(guardrails: Manifests, own: ClusterDeclaration) -> Iterator[GuardrailNotice]:
    """A rule for some clusters, or with variables, where only the proposal gives this one labels and values."""
    judging = (AccessTestsDeclaration, ClusterTestsDeclaration, OwnershipDeclaration, TopicPolicyDeclaration)
    headings = (item.heading for item in guardrails.documents if isinstance(item, judging))
    varying = (item.heading for item in guardrails.templates if item.heading.kind in KINDS)
    selective = [heading.origin for heading in headings if heading.match_labels]
    selective += [heading.origin for heading in varying]
    if selective:
        decides = "which of them apply, and to what, depends on labels and vars here"
        message = f"the guardrails do not declare the cluster {own.name}: {decides}"
        yield GuardrailNotice(own.origin, "guardrail-cluster", message, min(selective))


def _scope_notices(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Iterator[GuardrailNotice]:
    if beyond(own.scope, bounds.scope):
        message = f"the scope of {own.name} is wider than in the guardrails: only what is in both scopes counts"
        yield GuardrailNotice(own.origin, "guardrail-scope", message, bounds.origin)
    if short_of(own.scope, bounds.scope):
        message = f"scope or ignore of {own.name} leaves out what the guardrails have in scope: no drift shows there"
        yield GuardrailNotice(own.origin, "guardrail-ignore", message, bounds.origin)
    if more := sorted(set(own.ignore_configs).difference(bounds.ignore_configs)):
        message = (
            f"ignoreConfigs of {own.name} leaves out more than the guardrails: no drift shows in {', '.join(more)}"
        )
        yield GuardrailNotice(own.origin, "guardrail-ignore", message, bounds.origin)


def _exception_notices(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Iterator[GuardrailNotice]:
    for item in own.guard_exceptions:
        if not _counts(item, own, bounds):
            message = (
                f"the exception of {item.guard} for {item.object} does not count: "
                "the guardrails have none, and only they except from what they protect and limit"
            )
            yield GuardrailNotice(item.origin, "guardrail-exception", message, bounds.origin)


def _counts(item: GuardExceptionDeclaration, own: ClusterDeclaration, bounds: ClusterDeclaration) -> bool:
    if own.sources.exceptions is FactSource.OPERATOR:
        return True
    return item.guard not in _OF_CLUSTER or any(rule_key(item) == rule_key(other) for other in bounds.guard_exceptions)


def _held(own: ClusterDeclaration, bounds: ClusterDeclaration) -> ClusterDeclaration:
    declaration = own
    for term in HELD.values():
        if isinstance(term, HeldTerm) and not _operators(term, own):
            counts = term.joined(own, bounds)
            moved = any(getattr(own, name) != value for name, value in counts.items())
            declaration = replace(declaration, **counts)
            if moved and term.fact:
                source = getattr(bounds.sources, term.fact) if term.claim else FactSource.NOBODY
                declaration = replace(declaration, sources=replace(declaration.sources, **{term.fact: source}))
    return replace(declaration, guardrail=bounds.origin)


def _operators(term: HeldTerm, own: ClusterDeclaration) -> bool:
    """Whether the operator states it: a word that no proposal can change holds by itself."""
    return bool(term.fact) and getattr(own.sources, term.fact) is FactSource.OPERATOR


def _fact_notices(own: ClusterDeclaration, bounds: ClusterDeclaration) -> Iterator[GuardrailNotice]:
    """Facts that the proposal states otherwise than the guardrails: what it says of them does not count yet."""
    for name, term in HELD.items():
        if not isinstance(term, HeldTerm) or not term.notice or _operators(term, own):
            continue
        values = [tuple(getattr(cluster, field) for field in term.holds) for cluster in (own, bounds)]
        counts = tuple(term.joined(own, bounds).values())
        stated = getattr(bounds.sources, term.fact) is not FactSource.NOBODY
        if values[0] != values[1] and (stated or values[0] != counts):
            message = f"{name} of {own.name} is not what the guardrails say: {term.notice}"
            origin, related = (cluster.fact_origins.get(name, cluster.origin) for cluster in (own, bounds))
            yield GuardrailNotice(origin, "guardrail-fact", message, related)


def _tighter(own: int | None, other: int | None) -> int | None:
    stated = [limit for limit in (own, other) if limit is not None]
    return min(stated, default=None)
