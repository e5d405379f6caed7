"""The kinds ``Acls``, rules for principals, and ``Role``, a named bundle of rules that takes resources."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import DesiredBuilder, Kind, Loaded, Touched
from reconciler.manifest.parts import resources
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.rules import (
    BUILT_IN_ROLES,
    FIELD_OF,
    WORD,
    NameTemplate,
    RoleDeclaration,
    RoleRule,
    RoleUse,
    RuleDeclaration,
    declare_principals,
    declare_rule,
)
from reconciler.manifest.parts.selectors import LintException, declare_lint_exceptions
from reconciler.manifest.parts.short_form import SHORT_FORM, OwnedTopics, declare_flow, declare_short_form, owned_topics
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, SequenceNode, Trouble, paired
from reconciler.manifest.read.problem import Code, did_you_mean
from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import Origin
from reconciler.model.scope import RESOURCE_FIELDS

if TYPE_CHECKING:
    from reconciler.manifest.models.acls import AclsDocument, RoleDocument


@dataclass(frozen=True, slots=True)
class AclsDeclaration:
    """A document's heading and rules, and the topics that it says its principals have for themselves."""

    heading: Heading
    rules: tuple[RuleDeclaration, ...]
    exceptions: tuple[LintException, ...] = ()
    owned: tuple[OwnedTopics, ...] = ()


_NOTHING = Trouble(
    Code.MISSING_FIELD, "the field 'rules' is missing here", "add rules, or the short form: owns, reads and writes"
)


def _places(rules: list[RuleDeclaration]) -> Iterator[Origin]:
    """Every place from which a binding of these rules can come."""
    for rule in rules:
        if isinstance(rule.action, RoleUse):
            yield rule.action.declaration.origin
        yield from (declaration.origin for _, declaration in rule.declared())


class AclsKind(Kind["AclsDocument"]):
    """ACL rules."""

    name = "Acls"
    touched = Touched.CHOSEN

    def declare(self, document: Document, table: resources.PatternTable) -> AclsDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        findings, spec = document.findings, document.spec
        model = document.validated(self.model())
        if not isinstance(document.root.get("spec"), MappingNode):
            return None
        principals = declare_principals(spec, findings)
        if not spec.keys.keys() & {"rules", *SHORT_FORM}:
            findings.add(_NOTHING, spec)
        rules = list(declare_short_form(spec, principals, table, findings))
        for node, want in paired(spec.get("rules"), model.spec.rules if model else None):
            file = findings.source.path
            terms = (
                None if want is None else resources.terms_in(file, want.reason, want.ticket, want.expires, want.keep)
            )
            rule = declare_rule(node, terms, principals, table.named(node, findings), findings)
            rules += [rule, *declare_flow(node, rule, table, findings)] if rule else []
        places = frozenset(_places(rules)) if "exceptions" in spec.values else None
        items = model.spec.exceptions if model else None
        exceptions = declare_lint_exceptions(spec.get("exceptions"), items, table, findings, places)
        owned = owned_topics(spec, table, findings)
        return AclsDeclaration(document.heading, tuple(rules), exceptions, owned) if model else None

    def check(self, loaded: Loaded) -> None:
        """Reports rules whose role is unknown or does not fit."""
        loaded.check_role_uses(rule for item in loaded.of(AclsDeclaration) for rule in item.rules)

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds the bindings of every rule."""
        for item in builder.of(AclsDeclaration):
            builder.bindings.add(item.rules)


_FORM = Trouble(Code.RULE_FORM, "exactly one of allow and deny is expected in a role's rule", "write one of them")
_RESOURCE = Trouble(Code.RULE_FORM, "the rule names no resource", "add topics: $topics, or another resource")


def _parameters(spec: MappingNode) -> dict[ResourceType, ScalarNode]:
    node = spec.get("parameters")
    items = node.items if isinstance(node, SequenceNode) else []
    return {
        RESOURCE_FIELDS[item.plain]: item
        for item in items
        if isinstance(item, ScalarNode) and item.plain in RESOURCE_FIELDS and item.plain != "cluster"
    }


def _words(spec: MappingNode) -> dict[str, ScalarNode]:
    """The parameters that stand in names, with their places."""
    node = spec.get("parameters")
    items = node.items if isinstance(node, SequenceNode) else []
    return {item.plain: item for item in items if isinstance(item, ScalarNode) and item.plain not in RESOURCE_FIELDS}


def _templates(node: MappingNode, words: Collection[str], findings: Findings) -> tuple[NameTemplate, ...]:
    """The names of a rule that hold words; what cannot be a name whatever the words say is reported."""
    templates = []
    for field, kind in RESOURCE_FIELDS.items():
        for form, scalar in resources.name_scalars(node.values.get(field)):
            if not _has_words(scalar, words):
                continue
            pattern_type = PatternType.PREFIXED if form == "prefix" else PatternType.LITERAL
            template = NameTemplate(kind, pattern_type, scalar.plain, form == "literal")
            unknown = next((word for word in WORD.findall(scalar.plain) if word not in words), None)
            if unknown is not None:
                advice = did_you_mean(unknown, words, f"add {unknown} to parameters")
                findings.add(
                    Trouble(Code.ROLE_PARAMETERS, f"${unknown} is not a parameter of this role", advice), scalar
                )
            elif trouble := template.problem(dict.fromkeys(words, "x")):
                findings.add(trouble, scalar)
            else:
                if not form and resources.looks_like_a_pattern(scalar.plain):
                    findings.add(resources.pattern_warning(scalar.plain), scalar, severity="warning")
                templates.append(template)
    return tuple(templates)


def _has_words(scalar: ScalarNode, words: Collection[str]) -> bool:
    """Whether the uses of a role complete a text; in a role without words, ``$`` is a mistake of another kind."""
    return bool(words) and WORD.search(scalar.plain) is not None and scalar.plain[1:] not in RESOURCE_FIELDS


def _without_words(value: Node, words: Collection[str]) -> Node | None:
    """A field less the names that hold words; ``None`` if nothing is left."""
    if not any(_has_words(scalar, words) for _, scalar in resources.name_scalars(value)):
        return value
    if isinstance(value, SequenceNode):
        kept = SequenceNode(value.line, value.column)
        kept.items = [rest for item in value.items if (rest := _without_words(item, words)) is not None]
        kept.plain = [item.plain for item in kept.items]
        return kept if kept.items else None
    # Two forms at once are a mistake, which must not become one form.
    if isinstance(value, MappingNode) and len(value.values) != 1:
        return value
    if isinstance(value, MappingNode):
        inside = {
            form: rest for form, part in value.values.items() if (rest := _without_words(part, words)) is not None
        }
        copy = MappingNode(value.line, value.column)
        copy.keys, copy.values = {form: value.keys[form] for form in inside}, inside
        copy.plain = {form: item.plain for form, item in inside.items()}
        return copy if inside else None
    return None


def _split(
    node: MappingNode,
    parameters: Mapping[ResourceType, ScalarNode],
    words: Collection[str],
    table: resources.PatternTable,
    findings: Findings,
) -> tuple[tuple[ResourceType, ...], tuple[ResourcePattern, ...]]:
    """What the rule takes from its use, and what it names itself."""
    takes, names = [], []
    for field, kind in RESOURCE_FIELDS.items():
        given = node.values.get(field)
        value = None if given is None else _without_words(given, words)
        if value is None:
            continue
        if isinstance(value, ScalarNode) and value.plain.startswith("$") and not value.plain.startswith("${"):
            if value.plain != f"${field}":
                trouble = Trouble(Code.ROLE_PARAMETERS, f"{field} can take ${field} only", f"write {field}: ${field}")
                findings.add(trouble, value)
            elif kind not in parameters:
                advice = f"add {field} to parameters"
                findings.add(Trouble(Code.ROLE_PARAMETERS, f"${field} is not a parameter of this role", advice), value)
            takes.append(kind)
        else:
            names += [pattern for pattern, _ in table.names(kind, value, findings)]
    return tuple(takes), tuple(names)


class RoleKind(Kind["RoleDocument"]):
    """Bundles of rules; the kinds whose rules use them check the uses."""

    name = "Role"
    touched = Touched.ANY

    def declare(self, document: Document, table: resources.PatternTable) -> RoleDeclaration | None:
        """Checks and converts; ``None`` after reporting problems that leave no role."""
        findings, spec, heading = document.findings, document.spec, document.heading
        model = document.validated(self.model())
        # A redefined role would change every rule that uses it, in files that the change does not show.
        if heading.name in BUILT_IN_ROLES:
            message = f"{heading.name} is a built-in role and cannot be redefined"
            findings.add_at(Trouble(Code.BUILT_IN_ROLE, message, "give the role another name"), heading.origin)
        nodes = spec.get("rules")
        parameters, words = _parameters(spec), _words(spec)
        rules, used = [], set[ResourceType | str]()
        for node in nodes.items if isinstance(nodes, SequenceNode) else []:
            if isinstance(node, MappingNode):
                templates = _templates(node, words, findings)
                takes, names = _split(node, parameters, words, table, findings)
                used.update(takes, (word for template in templates for word in WORD.findall(template.text)))
                kinds = [template.kind for template in templates]
                action = resources.permission(
                    node, [*takes, *(pattern.resource_type for pattern in names), *kinds], findings
                )
                if ("allow" in node.values) == ("deny" in node.values):
                    findings.add(_FORM, node)
                elif not node.keys.keys() & RESOURCE_FIELDS.keys():
                    findings.add(_RESOURCE, node)
                rules += [RoleRule(action, takes, names, findings.origin(node), templates)] if action else []
        for kind, place in parameters.items():
            if kind not in used:
                advice = f"use it, as {FIELD_OF[kind]}: ${FIELD_OF[kind]}, or remove it"
                findings.add(Trouble(Code.ROLE_PARAMETERS, f"no rule takes ${FIELD_OF[kind]}", advice), place)
        for word, place in words.items():
            if word not in used:
                advice = did_you_mean(word, FIELD_OF.values(), "use it in a name, or remove it")
                findings.add(Trouble(Code.ROLE_PARAMETERS, f"no name holds ${word}", advice), place)
        return (
            RoleDeclaration(heading.name, tuple(parameters), (), tuple(rules), heading, tuple(words)) if model else None
        )
