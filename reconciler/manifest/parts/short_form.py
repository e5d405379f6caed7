"""``owns``, ``reads`` and ``writes``: a team's access in three lines, and the uses of roles that they stand for.

``owns`` says what names an application has for itself, so it takes topics, groups and transactional ids of a prefix. A
prefix ends with a delimiter: ``payments.`` is not the beginning of ``payments-test.orders``. The field makes nobody an
owner: whose names they are is what an ``Ownership`` document says, and these rules are held to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import Field

from reconciler.manifest.parts import resources
from reconciler.manifest.parts.fields import ManifestModel
from reconciler.manifest.parts.rules import EVERY_HOST, RoleUse, RuleDeclaration
from reconciler.manifest.read.findings import Findings, MappingNode, Node, Trouble, quoted
from reconciler.manifest.read.problem import Code
from reconciler.model.acl import WILDCARD, ResourcePattern, ResourceType
from reconciler.model.desired import Declaration, Origin

#: The fields, any of which can stand in place of rules.
SHORT_FORM: Final = ("owns", "reads", "writes")
_NO_GROUPS: Final = Trouble(
    Code.RULE_FORM,
    "reads needs consumer groups, which owns names",
    "add owns, or write a rule with role: consumer, topics and groups",
)
_OWNS_ALL: Final = Trouble(
    Code.RULE_FORM, "no application has every name for itself", "write its prefix, such as owns: {prefix: payments.}"
)
_TOPIC, _GROUP = ResourceType.TOPIC, ResourceType.GROUP
_TRANSACTION = ResourceType.TRANSACTIONAL_ID


class OwnedTopics(NamedTuple):
    """Topics that a document says its principals have for themselves, and the place that says so."""

    pattern: ResourcePattern
    origin: Origin


class ShortForm(ManifestModel):
    """What an application has for itself, and what it uses of others."""

    owns: resources.Names | None = Field(
        None,
        description="Prefixes, or names: the topics, groups and transactional ids that the principals have for "
        "themselves. Who owns names is for Ownership to say.",
        examples=[{"prefix": "payments."}],
    )
    reads: resources.Names | None = Field(
        None, description="Topics of others that they consume, with groups of their own.", examples=[["orders.events"]]
    )
    writes: resources.Names | None = Field(
        None, description="Topics of others that they produce to.", examples=[["audit.log"]]
    )


def declare_short_form(
    spec: MappingNode, principals: tuple[str, ...], table: resources.PatternTable, findings: Findings
) -> Iterator[RuleDeclaration]:
    """The rules that the three fields stand for; problems are reported."""
    owns, reads, writes = (spec.get(field) for field in SHORT_FORM)
    kinds = (_TOPIC, _GROUP, _TRANSACTION)
    own: dict[ResourceType, list[resources.Named]] = {kind: [] for kind in kinds}
    if owns is not None:
        _check_owned(owns, findings)
        own = {kind: table.names(kind, owns, findings) for kind in kinds}
        yield _use("owner", principals, owns, {_TOPIC: own[_TOPIC]}, findings)
        yield _use("transactional-producer", principals, owns, own, findings)
    if reads is not None:
        if owns is None:
            findings.add(_NO_GROUPS, spec.keys["reads"])
        names = {_TOPIC: table.names(_TOPIC, reads, findings), _GROUP: own[_GROUP]}
        yield _use("consumer", principals, reads, names, findings)
    if writes is not None:
        yield _use("producer", principals, writes, {_TOPIC: table.names(_TOPIC, writes, findings)}, findings)


def owned_topics(spec: MappingNode, table: resources.PatternTable, findings: Findings) -> tuple[OwnedTopics, ...]:
    """The topics and prefixes of topics that ``owns`` names, each with its place."""
    owns = spec.get("owns")
    named = [] if owns is None else table.names(_TOPIC, owns, findings)
    return tuple(OwnedTopics(pattern, findings.origin(node)) for pattern, node in named)


def _use(
    role: str,
    principals: tuple[str, ...],
    place: Node,
    named: Mapping[ResourceType, Sequence[resources.Named]],
    findings: Findings,
) -> RuleDeclaration:
    """A rule with a built-in role; each binding has the place of the text that names its resource."""
    terms = resources.terms_in(findings.source.path)
    patterns = [resources.DeclaredPatterns.of(kind, names, terms) for kind, names in named.items()]
    use = RoleUse(role, Declaration(findings.origin(place)))
    return RuleDeclaration.of(use, principals, EVERY_HOST, patterns, terms)


def _check_owned(owns: Node, findings: Findings) -> None:
    """Reports prefixes without an end, every name, and what is named twice; names themselves are checked as such."""
    first: dict[tuple[bool, str], Node] = {}
    for form, scalar in resources.name_scalars(owns):
        text, is_prefix = scalar.plain, form == "prefix"
        if findings.marks(scalar):
            continue
        if form == "any":
            findings.add(_OWNS_ALL, scalar)
        elif is_prefix and text and not text.endswith((WILDCARD, *resources.NAME_ENDS)):
            message = f"{quoted(text)} has no end: it takes in every name that goes on with another letter"
            advice = f"write {quoted(text + '.')}, or a rule with {{prefix: {text}}}"
            findings.add(Trouble(Code.RULE_FORM, message, advice), scalar)
        elif (is_prefix, text) in first:
            twice = Trouble(Code.DUPLICATE_BINDING, f"{text} is in the list twice", "remove one of them")
            findings.add(twice, scalar, related=[findings.origin(first[is_prefix, text])])
        first.setdefault((is_prefix, text), scalar)


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
    node: MappingNode, rule: RuleDeclaration, table: resources.PatternTable, findings: Findings
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
        named = [resources.DeclaredPatterns.of(ResourceType.TOPIC, names, use.declaration)]
        if field == "reads":
            named.append(
                rule.on(ResourceType.GROUP) or resources.DeclaredPatterns.of(ResourceType.GROUP, (), use.declaration)
            )
        yield RuleDeclaration.of(RoleUse(role, use.declaration), rule.principals, rule.hosts, named, rule.terms)
