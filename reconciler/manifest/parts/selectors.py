"""The items of scope, ignore, protect, waivers and owners as selectors."""

from collections.abc import Iterable

from reconciler.manifest.parts.names import FIELDS
from reconciler.manifest.parts.principals import principal_problem
from reconciler.manifest.parts.resources import Named, PatternTable
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, SequenceNode, scalars
from reconciler.model import NameSelector, Origin, PatternType, ResourceType, Scope, Selector

_EMPTY = Trouble(Code.SELECTOR_FORM, "this item selects nothing", "name principals, or one kind of resource, or both")
_TWO = Trouble(
    Code.SELECTOR_FORM, "an item speaks of one kind of resource: no binding is of two", "make an item of each"
)
_FORMS = Trouble(Code.RULE_FORM, "exactly one of prefix, any and literal is expected here", "keep one of them")


def declare_scope(spec: MappingNode, table: PatternTable, findings: Findings) -> Scope:
    """The scope with ``ignore`` folded in; problems are reported."""
    include = spec.get("scope", "include")
    return Scope(
        include=None if include is None else declare_selectors(include, table, findings),
        exclude=declare_selectors(spec.get("scope", "exclude"), table, findings),
        ignore=declare_selectors(spec.get("ignore"), table, findings),
    )


def declare_selectors(node: Node | None, table: PatternTable, findings: Findings) -> tuple[Selector, ...]:
    """A list of selectors; problems are reported."""
    items = node.items if isinstance(node, SequenceNode) else []
    return tuple(declare_selector(item, table, findings) for item in items if isinstance(item, MappingNode))


def with_origins(
    selectors: Iterable[Selector], node: Node | None, findings: Findings
) -> tuple[tuple[Selector, Origin], ...]:
    """``selectors``, which are those of this list, each with its place."""
    items = node.items if isinstance(node, SequenceNode) else []
    places = (findings.origin(item) for item in items if isinstance(item, MappingNode))
    return tuple(zip(selectors, places, strict=True))


def declare_selector(
    node: MappingNode, table: PatternTable, findings: Findings, *, may_be_empty: bool = False
) -> Selector:
    """One selector; without any field it selects nothing, which is reported unless it may be so."""
    principals = principal_names(node.get("principals"), findings)
    kinds = [field for field in FIELDS if field in node.values]
    if len(kinds) > 1:
        findings.add(_TWO, node.keys[kinds[1]])
    if not kinds:
        if principals is None and not may_be_empty:
            findings.add(_EMPTY, node)
        return Selector(principals)
    kind = FIELDS[kinds[0]]
    return Selector(principals, kind, _names(table.names(kind, node.values[kinds[0]], findings)))


def topic_names(node: Node | None, table: PatternTable, findings: Findings) -> NameSelector | None:
    """Topics in the forms of names; ``None`` where nothing is said of them."""
    return None if node is None else _names(table.names(ResourceType.TOPIC, node, findings))


def _names(named: list[Named]) -> NameSelector:
    patterns = [pattern for pattern, _ in named]
    if any(pattern.is_wildcard for pattern in patterns):
        return NameSelector(any_name=True)
    prefixes = [pattern.name for pattern in patterns if pattern.pattern_type is PatternType.PREFIXED]
    if prefixes:
        return NameSelector(prefix=prefixes[0])
    return NameSelector(literal=tuple(sorted({pattern.name for pattern in patterns})))


def principal_names(node: Node | None, findings: Findings) -> NameSelector | None:
    """Principals in the forms of names; ``None`` where nothing is said of them."""
    if node is None:
        return None
    if not isinstance(node, MappingNode):
        return NameSelector(literal=_literal(node, findings))
    if len(node.keys) != 1:
        findings.add(_FORMS, node)
    if "any" in node.values:
        if node.text("any") == "false":
            findings.add(Trouble(Code.RULE_FORM, "only true makes sense here", "leave it out"), node.values["any"])
        return NameSelector(any_name=True)
    prefix = node.get("prefix")
    if isinstance(prefix, ScalarNode):
        _check_prefix(prefix, findings)
        return NameSelector(prefix=prefix.plain)
    return NameSelector(literal=_literal(node.get("literal"), findings))


def _literal(node: Node | None, findings: Findings) -> tuple[str, ...]:
    found = scalars(node)
    for item in found:
        trouble = principal_problem(item.plain)
        if trouble is not None and not findings.marks(item):
            if trouble.code is Code.DEAD_PRINCIPAL:
                trouble = trouble._replace(advice=f"write {{prefix: {item.plain.rstrip('*')!r}}}")
            findings.add(trouble, item)
    return tuple(sorted({item.plain for item in found}))


def _check_prefix(node: ScalarNode, findings: Findings) -> None:
    if findings.marks(node):
        return
    bare = node.plain.rstrip("*")
    if bare != node.plain or not bare:
        message = "a prefix is the beginning of a principal, without a star"
        advice = f"write {{prefix: {bare!r}}}" if bare else "write {any: true} for every principal"
        findings.add(Trouble(Code.DEAD_PRINCIPAL, message, advice), node)
    elif ":" in node.plain and node.plain.partition(":")[0] != "User" and node.plain[:5].lower() == "user:":
        advice = f"write {{prefix: {'User:' + node.plain[5:]!r}}}"
        findings.add(Trouble(Code.PRINCIPAL, "Kafka compares the case of a principal's type too", advice), node)
