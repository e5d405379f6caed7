"""A ``Cluster`` document as what the planner and the adapters need to know."""

import re

from reconciler.manifest.kinds.cluster.model import BarrierSpec, ClusterDocument, ClusterSpec
from reconciler.manifest.kinds.interface import Declared, Kind
from reconciler.manifest.parts.clusters import (
    DEFAULT_BARRIER_TIMEOUT,
    DEFAULT_BARRIER_WAIT,
    NO_LIMITS,
    Acknowledgement,
    ClusterDeclaration,
    Limits,
    ProbeDeclaration,
)
from reconciler.manifest.parts.document import Document
from reconciler.manifest.parts.principals import principal_problem
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.parts.selectors import declare_scope, declare_selectors
from reconciler.manifest.parts.topic_defaults import declare_layers
from reconciler.manifest.parts.waivers import declare_lint_waivers
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode, scalars
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean
from reconciler.model import TOPIC_CONFIGS, FrozenMap, Origin

_ADDRESS = re.compile(r"(?:[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.%]+\]):([0-9]{1,5})", re.ASCII)


def declare_cluster(document: Document, table: PatternTable) -> ClusterDeclaration | None:
    """Checks and converts; ``None`` after reporting problems that leave no cluster."""
    findings, spec, heading = document.findings, document.spec, document.heading
    model = document.validated(ClusterDocument)
    scope = declare_scope(spec, table, findings)
    servers = checked_texts(spec.get("bootstrapServers"), address_problem, findings)
    principal = checked_texts(spec.get("principal"), _named_principal, findings)
    super_users = checked_texts(spec.get("superUsers"), _named_principal, findings)
    inter_broker = checked_texts(spec.get("interBrokerPrincipals"), _named_principal, findings)
    protect = declare_selectors(spec.get("protect"), table, findings)
    waivers = declare_lint_waivers(spec.get("waive"), model.spec.waive if model else None, table, findings)
    _warn_of_unknown_settings(spec.get("ignoreConfigs"), findings)
    probe = _probe(model.spec.barrier if model else None, spec.get("barrier"), findings)
    layers = declare_layers(spec.get("topicDefaults"), model.spec.topic_defaults if model else None, findings)
    if model is None:
        return None
    wants = model.spec
    limits, barrier = wants.limits, wants.barrier
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
        scope,
        Limits(limits.max_deletes, limits.max_delete_percent) if limits else NO_LIMITS,
        DEFAULT_BARRIER_WAIT if barrier is None or barrier.wait is None else barrier.wait,
        wants.prune_topics,
        tuple(sorted(set(wants.ignore_configs))),
        _acknowledgements(wants, spec.get("acknowledge"), findings),
        FrozenMap(wants.vars),
        protect,
        inter_broker,
        waivers,
        tuple(sorted(set(wants.brokers))),
        probe,
        layers,
        wants.prune_quotas,
    )


def _probe(barrier: BarrierSpec | None, node: Node | None, findings: Findings) -> ProbeDeclaration | None:
    """The barrier by a probe, where one is declared; half of one is a problem."""
    if barrier is None or not isinstance(node, MappingNode):
        return None
    principal = checked_texts(node.get("principal"), _named_principal, findings)
    if barrier.principal is None:
        if barrier.client or barrier.timeout is not None:
            message = "the field 'principal' is missing here: declare the probe principal that asks the brokers"
            findings.add(Trouble(Code.MISSING_FIELD, message), node)
        return None
    if barrier.wait is not None:
        message = "wait has no effect if a probe principal is declared"
        findings.add(Trouble(Code.WRONG_VALUE, message, "remove wait, or principal and client"), node.keys["wait"])
    timeout = DEFAULT_BARRIER_TIMEOUT if barrier.timeout is None else barrier.timeout
    return ProbeDeclaration(principal[0], FrozenMap(barrier.client), timeout) if principal else None


def client_origins(spec: MappingNode, findings: Findings) -> FrozenMap[Origin]:
    """The place of each client setting."""
    client = spec.get("client")
    keys = client.keys if isinstance(client, MappingNode) else {}
    return FrozenMap({name: findings.origin(key) for name, key in keys.items()})


def address_problem(text: str) -> Trouble | None:
    """Why ``text`` is not a bootstrap server; ``None`` if it is."""
    found = _ADDRESS.fullmatch(text)
    if found and 0 < int(found[2]) < 65536:
        return None
    advice = "write one list item for each server" if "," in text else "write it as broker-1:9093"
    return Trouble(Code.ADDRESS, f"{quoted(text)} is not host:port", advice)


def _named_principal(text: str) -> Trouble | None:
    return principal_problem(text, may_be_everyone=False)


def _warn_of_unknown_settings(node: Node | None, findings: Findings) -> None:
    for item in scalars(node):
        if item.plain not in TOPIC_CONFIGS and not findings.marks(item):
            advice = did_you_mean(item.plain, TOPIC_CONFIGS, "it is kept; a newer broker may have it")
            trouble = Trouble(Code.UNKNOWN_SETTING, f"Kafka 4.3 has no topic setting {quoted(item.plain)}", advice)
            findings.add(trouble, item, severity="warning")


def _acknowledgements(wants: ClusterSpec, node: Node | None, findings: Findings) -> tuple[Acknowledgement, ...]:
    places: list[Node] = node.items if isinstance(node, SequenceNode) else []
    return tuple(
        Acknowledgement(item.guard, item.object, item.reason, item.expires, findings.origin(_guard_place(place)))
        for item, place in zip(wants.acknowledge, places, strict=True)
    )


def _guard_place(node: Node) -> Node:
    guard = node.get("guard") if isinstance(node, MappingNode) else None
    return guard if isinstance(guard, ScalarNode) else node


class ClusterKind(Kind):
    """Declared clusters; they set the variables that the other kinds use."""

    name = "Cluster"
    model = ClusterDocument
    takes_variables = False

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        return declare_cluster(document, table)
