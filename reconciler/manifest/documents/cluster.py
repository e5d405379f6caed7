"""The kinds ``Cluster`` (facts, limits, secrets in settings, defaults of its vendor) and ``Fleet``: waves of clusters.

A ``Cluster`` document as what the planner and the adapters need to know; a ``Fleet`` as in which order clusters get a
change, and how much of it at once.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Kind, Loaded, Touched
from reconciler.manifest.parts import selectors
from reconciler.manifest.parts.clusters import (
    DEFAULT_BARRIER_TIMEOUT,
    DEFAULT_BARRIER_WAIT,
    NO_LIMITS,
    ClusterDeclaration,
    Emergency,
    GuardExceptionDeclaration,
    Limits,
    ProbeDeclaration,
)
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.resources import PatternTable, principal_problem
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.parts.topic_settings import declare_layers, warn_of_unknown_setting
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    paired,
    quoted,
    report_repeated,
    scalars,
)
from reconciler.manifest.read.problem import Code, Problem
from reconciler.model.desired import Origin
from reconciler.model.flavor import APACHE, FLAVORS
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds import listed_types
from reconciler.model.scope import Scope
from reconciler.model.secrets import SECRET_SETTINGS, SecretPermit, clear_secret, has_reference
from reconciler.model.state import FactSource, FactSources
from reconciler.model.topic import Topic

if TYPE_CHECKING:
    from reconciler.manifest.models.cluster import (
        BarrierSpec,
        ClusterDocument,
        ConnectionSpec,
        FleetDocument,
        StatedSpec,
        UserSecretsSpec,
        WaveSpec,
    )

# Secrets in a cluster's client settings: none in clear text, and references only where the operator wrote them.

_CURE = "move client to a file for --connections, or trust whoever edits the manifests: --trust-manifest-connection"


def report_clear_secrets(spec: MappingNode, findings: Findings) -> None:
    """Report every secret in clear text. The line is shown with the value masked (``source.showable_lines``)."""
    for name, node in _secrets(spec):
        description = clear_secret(name, node.plain)
        if description is not None:
            message = f"{name} holds a secret in clear text: {description}"
            advice = "write ${env:NAME}, ${file:PATH:KEY} or ${dir:DIR:FILE}, and change the secret if others saw it"
            findings.add(Trouble(Code.CLEAR_TEXT, message, advice), node)


def warn_of_references(spec: MappingNode, findings: Findings) -> None:
    """Warn of references to secrets in a manifest: whoever edits it also edits the address that gets the secret."""
    for name, node in _secrets(spec):
        if has_reference(node.plain) and not findings.marks(node):
            trouble = Trouble(Code.REFERENCE_IN_MANIFEST, _message(name), _CURE)
            findings.add(trouble, node, severity="warning")


def referring_settings(declaration: ClusterDeclaration) -> tuple[Problem, ...]:
    """A problem for each setting of a manifest that refers to a secret."""
    probe = declaration.probe
    places = [(declaration.client, declaration.client_origins)]
    if probe is not None:
        places.append((probe.client, probe.client_origins))
    return tuple(
        Problem(Code.REFERENCE_IN_MANIFEST, origins.get(name, declaration.origin), _message(name), advice=_CURE)
        for client, origins in places
        for name in sorted(client)
        if name in SECRET_SETTINGS and has_reference(client[name])
    )


def declare_permit(spec: MappingNode, wanted: "UserSecretsSpec", findings: Findings) -> SecretPermit:
    """Which references of manifests the operator permits; a prefix or a directory that permits all is a problem."""
    for node in scalars(spec.get("userSecrets", "envPrefixes")):
        if not node.plain.strip() and not findings.marks(node):
            message = "an empty prefix permits every variable, those of other logins too"
            findings.add(Trouble(Code.WRONG_VALUE, message, "write a prefix such as KAFKA_USER_"), node)
    for node in scalars(spec.get("userSecrets", "directories")):
        if not (node.plain.startswith("/") and normpath(node.plain).strip("/")) and not findings.marks(node):
            message = "this is no absolute path of a directory below /"
            findings.add(Trouble(Code.WRONG_VALUE, message, "write one such as /run/secrets/kafka-users"), node)
    return SecretPermit(tuple(wanted.env_prefixes), tuple(wanted.directories), wanted.verify == "login")


def declare_emergency(spec: MappingNode, wanted: "ConnectionSpec", findings: Findings) -> Emergency:
    """What the operator rules for emergencies; a locked principal that is none is a problem."""
    locked = checked_texts(spec.get("locked"), _named_principal, findings)
    given = wanted.break_glass
    return Emergency(
        locked,
        wanted.unlock.approvals,
        wanted.locks_end,
        tuple(given.override),
        given.approvals,
        given.longest,
    )


def _message(name: str) -> str:
    return f"{name} refers to a secret in a manifest, which also says where it is sent: the reference is not followed"


def _secrets(spec: MappingNode) -> Iterator[tuple[str, ScalarNode]]:
    for client in (spec.get("client"), spec.get("barrier", "client")):
        for name, node in client.values.items() if isinstance(client, MappingNode) else ():
            if name in SECRET_SETTINGS and isinstance(node, ScalarNode):
                yield name, node


# The facts of a cluster's flavor, where nobody stated anything else.


def with_flavor(declaration: ClusterDeclaration) -> ClusterDeclaration:
    """The declaration with its flavor's wait, default-allow and ``ignore``; doing it twice changes nothing more.

    The vendor's default-allow counts as the word of whoever states the flavor, where a user can change it as a claim:
    access is then computed with and without.
    """
    flavor, sources = declaration.flavor, declaration.sources
    # A wait that is too short lets the next phase begin before brokers enforce this one: only the operator may say so.
    least = flavor.wait_seconds if flavor.wait_seconds > DEFAULT_BARRIER_WAIT else 0
    if sources.barrier is not FactSource.OPERATOR and declaration.barrier_wait < least:
        short = (
            declaration.barrier_wait if sources.barrier is FactSource.MANIFESTS and declaration.probe is None else None
        )
        declaration = replace(declaration, barrier_wait=least, short_wait=short)
    if declaration.probe is not None and declaration.probe.seconds < flavor.wait_seconds:
        declaration = replace(declaration, probe=replace(declaration.probe, seconds=flavor.wait_seconds))
    if declaration.allow_everyone_if_no_acl_found is None and flavor.default_allow is not None:
        word = FactSource.FLAVOR if flavor.default_allow_varies else sources.flavor
        declaration = replace(
            declaration,
            allow_everyone_if_no_acl_found=flavor.default_allow,
            sources=replace(sources, default_allow=word),
        )
    ignore = tuple(dict.fromkeys((*declaration.scope.ignore, *flavor.owned_elsewhere)))
    return (
        replace(declaration, scope=replace(declaration.scope, ignore=ignore))
        if ignore != declaration.scope.ignore
        else declaration
    )


#: The fields of a Cluster document that state facts, and what :class:`FactSources` calls them.
FACTS: Final = FrozenMap(
    {
        "principal": "principal",
        "flavor": "flavor",
        "superUsers": "super_users",
        "allowEveryoneIfNoAclFound": "default_allow",
        "kafkaVersion": "kafka_version",
        "interBrokerPrincipals": "inter_broker_principals",
        "brokers": "brokers",
        "barrier": "barrier",
        "protect": "protect",
        "deleteLimits": "limits",
        "exceptions": "exceptions",
    }
)
_ADDRESS = re.compile(r"(?:[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.%]+\]):([0-9]{1,5})", re.ASCII)


_WHOSE: Final = (
    "name there whose they are: {principals: …} alone of users and quotas, {groups: …} alone of group configs, "
    "{principals: {any: true}} of client metrics"
)


def _report_pruning_nothing(kinds: Collection[str], scope: Scope, spec: MappingNode, findings: Findings) -> None:
    """Pruning reaches what ``include`` names, topics as topics; without that it would silently do nothing."""
    if Topic.KIND in kinds and not scope.holds_topics:
        message = "prune deletes no topics, because the scope includes none"
        fix = "add an item with topics and without principals to scope.include, such as {topics: {prefix: payments.}}"
        findings.add(Trouble(Code.PRUNES_NOTHING, message, fix), spec.keys["prune"])
    if others := sorted(kind.KIND for kind in listed_types() if kind.KIND in kinds and not scope.holds_listed(kind)):
        why = "there is no scope.include" if scope.include is None else "no item of scope.include selects one"
        message = f"prune changes no {' and no '.join(others)}, because {why}"
        findings.add(Trouble(Code.PRUNES_NOTHING, message, _WHOSE), spec.keys["prune"])


def declare_stated(document: Document, wants: "StatedSpec | None", table: PatternTable) -> ClusterDeclaration | None:
    """The connection and the facts of a document, as far as ``wants`` is valid; problems are reported."""
    findings, spec, heading = document.findings, document.spec, document.heading
    servers = checked_texts(spec.get("bootstrapServers"), address_problem, findings)
    principal = checked_texts(spec.get("principal"), _named_principal, findings)
    super_users = checked_texts(spec.get("superUsers"), _named_principal, findings)
    inter_broker = checked_texts(spec.get("interBrokerPrincipals"), _named_principal, findings)
    protect = selectors.declare_selectors(spec.get("protect"), table, findings)
    probe = _probe(wants.barrier if wants else None, spec.get("barrier"), findings)
    report_clear_secrets(spec, findings)
    if wants is None:
        return None
    limits, barrier, written = wants.delete_limits, wants.barrier, fact_origins(spec, findings)
    return ClusterDeclaration(
        heading.name,
        heading.origin,
        heading.labels,
        servers,
        FrozenMap(wants.client),
        client_origins(spec, findings),
        principal[0] if principal else None,
        super_users,
        {"true": True, "false": False}.get(wants.allow_everyone_if_no_acl_found),
        limits=Limits(limits.max_deletes, limits.max_delete_percent, limits.percent_above) if limits else NO_LIMITS,
        barrier_wait=DEFAULT_BARRIER_WAIT if barrier is None or barrier.wait is None else barrier.wait,
        guard_exceptions=tuple(_guard_exceptions(wants, spec.get("exceptions"), findings)),
        protect=protect,
        inter_broker_principals=inter_broker,
        kafka_version=wants.kafka_version,
        brokers=tuple(sorted(set(wants.brokers))),
        probe=probe,
        fact_origins=written,
        sources=sources_of(written),
        flavor=FLAVORS[wants.flavor] if wants.flavor else APACHE,
    )


def fact_origins(spec: MappingNode, findings: Findings) -> FrozenMap[Origin]:
    """The place of each fact that a Cluster document states, by field; one that is ``unknown`` is not stated."""
    silent = set()
    if spec.text("allowEveryoneIfNoAclFound") == "unknown":
        silent.add("allowEveryoneIfNoAclFound")
    barrier = spec.get("barrier")
    if isinstance(barrier, MappingNode) and barrier.keys.keys() <= {"client"}:
        silent.add("barrier")  # how the probe logs in is part of the connection
    exceptions = spec.get("exceptions")
    if isinstance(exceptions, SequenceNode) and exceptions.items and all(map(_is_of_lint, exceptions.items)):
        silent.add("exceptions")  # of lint, which is not the operator's
    stated = {name: key for name, key in spec.keys.items() if name in FACTS and name not in silent}
    return FrozenMap({name: findings.origin(key) for name, key in stated.items()})


def sources_of(written: Collection[str], source: FactSource = FactSource.MANIFESTS) -> FactSources:
    """The sources of facts of which only one document speaks."""
    return FactSources(**{attribute: source for name, attribute in FACTS.items() if name in written})


def _probe(barrier: "BarrierSpec | None", node: Node | None, findings: Findings) -> ProbeDeclaration | None:
    """The barrier by a probe, where one is declared."""
    if barrier is None or barrier.principal is None or not isinstance(node, MappingNode):
        return None
    principal = checked_texts(node.get("principal"), _named_principal, findings)
    if barrier.wait is not None:
        message = "wait has no effect if a probe principal is declared"
        findings.add(Trouble(Code.WRONG_VALUE, message, "remove wait, or principal and client"), node.keys["wait"])
    timeout = DEFAULT_BARRIER_TIMEOUT if barrier.timeout is None else barrier.timeout
    if not principal:
        return None
    return ProbeDeclaration(principal[0], FrozenMap(barrier.client), timeout, client_origins(node, findings))


def _report_half_a_barrier(barrier: "BarrierSpec | None", node: Node | None, findings: Findings) -> None:
    """Reports a probe's settings without its principal; the operator's file may hold its login alone."""
    if barrier is not None and barrier.principal is None and (barrier.client or barrier.timeout is not None) and node:
        message = "the field 'principal' is missing here"
        findings.add(Trouble(Code.MISSING_FIELD, message, "declare the probe principal that asks the brokers"), node)


def client_origins(spec: MappingNode, findings: Findings) -> FrozenMap[Origin]:
    """The place of each client setting."""
    return _key_origins(spec.get("client"), findings)


def _key_origins(node: Node | None, findings: Findings) -> FrozenMap[Origin]:
    keys = node.keys if isinstance(node, MappingNode) else {}
    return FrozenMap({name: findings.origin(key) for name, key in keys.items()})


def address_problem(text: str) -> Trouble | None:
    """Why ``text`` is not a bootstrap server; ``None`` if it is."""
    match = _ADDRESS.fullmatch(text)
    if match and 0 < int(match[2]) < 65536:
        return None
    advice = "write one list item for each server" if "," in text else "write it as broker-1:9093"
    return Trouble(Code.ADDRESS, f"{quoted(text)} is not host:port", advice)


def _named_principal(text: str) -> Trouble | None:
    return principal_problem(text, may_be_everyone=False)


def _guard_exceptions(
    wants: "StatedSpec", node: Node | None, findings: Findings
) -> Iterator[GuardExceptionDeclaration]:
    for place, item in paired(node, wants.exceptions):
        if item is not None and not _is_of_lint(place):
            origin = findings.origin(place.get("check") or place)
            yield GuardExceptionDeclaration(item.check, item.object, item.reason, item.expires, origin, item.ticket)


def _is_of_lint(item: Node) -> bool:
    return isinstance(item, MappingNode) and selectors.is_lint_code(item.text("check"))


class ClusterKind(Kind["ClusterDocument"]):
    """Declared clusters; they set the variables that the other kinds use."""

    name = "Cluster"
    touched = Touched.NAMED
    takes_variables = False

    def declare(self, document: Document, table: PatternTable) -> ClusterDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no cluster."""
        findings, spec = document.findings, document.spec
        model = document.validated(self.model())
        stated = declare_stated(document, model.spec if model else None, table)
        scope = selectors.declare_scope(spec, table, findings)
        items = model.spec.exceptions if model else None
        exceptions = selectors.declare_lint_exceptions(spec.get("exceptions"), items, table, findings)
        for item in scalars(spec.get("ignoreConfigs")):
            warn_of_unknown_setting(item.plain, item, "it is kept; a newer broker may have it", findings)
        warn_of_references(spec, findings)
        _report_half_a_barrier(model.spec.barrier if model else None, spec.get("barrier"), findings)
        if model is not None:
            _report_pruning_nothing(model.spec.prune, scope, spec, findings)
        layers = declare_layers(spec.get("topicDefaults"), model.spec.topic_defaults if model else None, findings)
        # Only now: the checks above report what they find even in a document that is not valid as a whole.
        if model is None or stated is None:
            return None
        wants = model.spec
        declared = replace(
            stated,
            scope=scope,
            prune=frozenset(wants.prune),
            ignore_origins=selectors.with_origins(scope.ignore, spec.get("ignore"), findings),
            ignore_configs=tuple(sorted(set(wants.ignore_configs))),
            vars=FrozenMap(wants.vars),
            var_origins=_key_origins(spec.get("vars"), findings),
            lint_exceptions=exceptions,
            topic_defaults=layers,
        )
        return with_flavor(declared)


@dataclass(frozen=True, slots=True)
class WaveDeclaration:
    """Clusters that get a change together, and the gate after them; ``soak`` is in seconds."""

    name: str
    match_labels: Mapping[str, str]
    origin: Origin
    soak: float = 0.0
    max_failures: int = 0

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a cluster with these labels is meant."""
        return all(labels.get(key) == value for key, value in self.match_labels.items())


@dataclass(frozen=True, slots=True)
class FleetDeclaration:
    """A fleet's waves in order; ``None`` is no limit."""

    name: str
    origin: Origin
    waves: tuple[WaveDeclaration, ...]
    max_changed_clusters_percent: int | None = None
    max_deletes: int | None = None

    @property
    def heading(self) -> Heading:
        """Its document's heading."""
        return Heading("Fleet", self.name, *self.origin)


def check_waves(fleet: FleetDeclaration, clusters: Iterable[ClusterDeclaration], findings: Findings) -> None:
    """Warns of waves that hold no cluster: a canary without clusters lets a change through to all at once."""
    held = {wave.name: 0 for wave in fleet.waves}
    for cluster in clusters:
        first = next((wave.name for wave in fleet.waves if wave.selects(cluster.labels)), None)
        if first is not None:
            held[first] += 1
    for wave in fleet.waves:
        if not held[wave.name]:
            trouble = Trouble(
                Code.FLEET_WAVE,
                f"no declared cluster belongs to the wave {quoted(wave.name)}",
                "compare its matchLabels with the clusters' labels; a cluster belongs to the first wave that fits",
            )
            findings.add_at(trouble, wave.origin, severity="warning")


_WAVE_TWICE: Final = Trouble(Code.FLEET_WAVE, "the wave {} is declared twice", "give it another name")


def _wave(wave: "WaveSpec", place: Node, findings: Findings) -> WaveDeclaration:
    name = place.get("name") if isinstance(place, MappingNode) else None
    gate = wave.gate
    return WaveDeclaration(
        wave.name,
        FrozenMap(wave.clusters.match_labels),
        findings.origin(name or place),
        (gate.soak if gate else None) or 0.0,
        gate.max_failures if gate else 0,
    )


class FleetKind(Kind["FleetDocument"]):
    """Waves of clusters; ``reconciler.parts.fleet`` performs them."""

    name = "Fleet"
    touched = Touched.ANY
    takes_variables = False

    def declare(self, document: Document, table: PatternTable) -> FleetDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no fleet."""
        findings, heading = document.findings, document.heading
        model = document.validated(self.model())
        nodes = document.spec.get("waves")
        places = nodes.items if isinstance(nodes, SequenceNode) else []
        report_repeated(nodes, _WAVE_TWICE, findings)
        if model is None:
            return None
        limits = model.spec.limits
        return FleetDeclaration(
            heading.name,
            heading.origin,
            tuple(_wave(wave, place, findings) for wave, place in zip(model.spec.waves, places, strict=True)),
            limits.max_changed_clusters_percent if limits else None,
            limits.max_deletes if limits else None,
        )

    def check(self, loaded: Loaded) -> None:
        """Warns of waves without clusters; only if every cluster could be read."""
        for fleet in loaded.of(FleetDeclaration) if "Cluster" not in loaded.unread else ():
            check_waves(fleet, loaded.of(ClusterDeclaration), loaded.findings_of(fleet.origin.file))
