"""``owns``, ``reads`` and ``writes``: a team's access in three lines, and the uses of roles that they stand for.

``owns`` says what names an application has for itself, so it takes topics, groups and transactional ids of a prefix. It
makes nobody an owner: whose names they are is what an ``Ownership`` document says, and these rules are held to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import Field

from reconciler.manifest.parts.fields import ManifestModel, OneOrMoreTexts
from reconciler.manifest.parts.resources import DeclaredPatterns, Named, Names, PatternTable, terms_in
from reconciler.manifest.parts.rules import EVERY_HOST, RoleUse, RuleDeclaration, checked_texts
from reconciler.manifest.read.findings import Findings, MappingNode, Node, Trouble, quoted, scalars
from reconciler.manifest.read.problem import Code
from reconciler.model.acl import WILDCARD, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, Origin

#: The fields, any of which can stand in place of rules.
SHORT_FORM: Final = ("owns", "reads", "writes")
#: After one of these a name goes on: ``payments.`` is not the beginning of ``payments-test.orders``.
_ENDS: Final = (".", "-", "_")
_NO_GROUPS: Final = Trouble(
    Code.RULE_FORM,
    "reads needs consumer groups, which owns names",
    "add owns, or write a rule with role: consumer, topics and groups",
)
_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP
_TRANSACTION = ResourceType.TRANSACTIONAL_ID


class OwnedTopics(NamedTuple):
    """Topics that a document says its principals have for themselves, and the place that says so."""

    pattern: ResourcePattern
    origin: Origin


class ShortForm(ManifestModel):
    """What an application has for itself, and what it uses of others."""

    owns: OneOrMoreTexts | None = Field(
        None,
        description="A prefix, or several: the topics, groups and transactional ids that the principals have for "
        "themselves. Who owns names is for Ownership to say.",
        examples=["payments."],
    )
    reads: Names | None = Field(
        None, description="Topics of others that they consume, with groups of their own.", examples=[["orders.events"]]
    )
    writes: Names | None = Field(None, description="Topics of others that they produce to.", examples=[["audit.log"]])


def declare_short_form(
    spec: MappingNode, principals: tuple[str, ...], table: PatternTable, findings: Findings
) -> Iterator[RuleDeclaration]:
    """The rules that the three fields stand for; problems are reported."""
    owns, reads, writes = (spec.get(field) for field in SHORT_FORM)
    checked_texts(owns, _prefix_problem, findings)
    kinds = (_TOPIC, _GROUP, _TRANSACTION)
    own = {kind: table.prefixes(kind, scalars(owns), findings) for kind in kinds}
    if owns is not None:
        yield _use("owner", principals, owns, {_TOPIC: own[_TOPIC]}, findings)
        yield _use("transactional-producer", principals, owns, own, findings)
    if reads is not None:
        if owns is None:
            findings.add(_NO_GROUPS, spec.keys["reads"])
        names = {_TOPIC: table.names(_TOPIC, reads, findings), _GROUP: own[_GROUP]}
        yield _use("consumer", principals, reads, names, findings)
    if writes is not None:
        yield _use("producer", principals, writes, {_TOPIC: table.names(_TOPIC, writes, findings)}, findings)


def owned_topics(spec: MappingNode, table: PatternTable, findings: Findings) -> tuple[OwnedTopics, ...]:
    """The prefixes of topics that ``owns`` names, each with its place."""
    return tuple(
        OwnedTopics(pattern, findings.origin(node))
        for pattern, node in table.prefixes(_TOPIC, scalars(spec.get("owns")), findings)
    )


def _use(
    role: str,
    principals: tuple[str, ...],
    place: Node,
    named: Mapping[ResourceType, Sequence[Named]],
    findings: Findings,
) -> RuleDeclaration:
    """A rule with a built-in role; each binding has the place of the text that names its resource."""
    terms = terms_in(findings.source.path)
    patterns = [DeclaredPatterns.of(kind, names, terms) for kind, names in named.items()]
    use = RoleUse(role, Declaration(findings.origin(place)))
    return RuleDeclaration.of(use, principals, EVERY_HOST, patterns, terms)


def _prefix_problem(text: str) -> Trouble | None:
    bare = text.rstrip(WILDCARD)
    if bare != text or not text:
        message = f"{quoted(text)} is not a prefix: it is the beginning of names, without a star"
        return Trouble(Code.DEAD_NAME, message, f"write {quoted(bare)}" if bare else "write one, such as 'payments.'")
    if text.endswith(_ENDS):
        return None  # whatever else is wrong with it, names say
    message = f"{quoted(text)} has no end: it takes in every name that goes on with another letter"
    return Trouble(Code.RULE_FORM, message, f"write {quoted(text + '.')}, or a rule with {{prefix: {text}}}")


# ``reads`` and ``writes`` of a rule: the topics that an application takes in and puts out, next to its own.
#
# Kafka Streams asks for READ on its input topics, in its own group, and for WRITE on its output topics (Kafka's
# developer guide of Streams, Security). Both are uses of the roles that say that of any client.

#: By field, the role that says it.
FLOW: Final = {"reads": "consumer", "writes": "producer"}
#: Roles of one application that consumes in the group it names. A Connect worker's connectors have groups of their own.
_APPLICATIONS: Final = ("streams", "ksqldb")
_NOT_HERE: Final = Trouble(
    Code.RULE_FORM,
    f"reads and writes belong to a rule with {' or '.join(f'role: {name}' for name in _APPLICATIONS)}",
    "write a rule with role: consumer or role: producer",
)


def declare_flow(
    node: MappingNode, rule: RuleDeclaration, table: PatternTable, findings: Findings
) -> Iterator[RuleDeclaration]:
    """The rules that ``reads`` and ``writes`` of ``node`` add to its ``rule``; problems are reported."""
    use = rule.action
    for field, role in FLOW.items():
        value = node.get(field)
        if value is None:
            continue
        if not isinstance(use, RoleUse) or use.name not in _APPLICATIONS:
            findings.add(_NOT_HERE, node.keys[field])
            continue
        # The same terms as the rule, at the place of each name.
        names = table.names(ResourceType.TOPIC, value, findings)
        named = [DeclaredPatterns.of(ResourceType.TOPIC, names, use.declaration)]
        if field == "reads":
            named.append(rule.on(ResourceType.GROUP) or DeclaredPatterns.of(ResourceType.GROUP, (), use.declaration))
        yield RuleDeclaration.of(RoleUse(role, use.declaration), rule.principals, rule.hosts, named, rule.terms)
