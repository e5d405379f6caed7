"""Selectors of scope, ignore, protect and owners; exceptions.

The items of scope, ignore, protect, exceptions and owners as selectors.
"""

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.dataclass import dataclass
from reconciler.manifest.parts import resources
from reconciler.manifest.parts.fields import VARIABLE_PATTERN, Ends, ManifestModel, Text, ends, refuse
from reconciler.manifest.read.findings import (
    Findings,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Trouble,
    paired,
    quoted,
)
from reconciler.manifest.read.problem import Code, did_you_mean
from reconciler.model.acl import PatternType, ResourcePattern, ResourceType
from reconciler.model.desired import Expiry, Origin
from reconciler.model.scope import RESOURCE_FIELDS, NameSelector, Scope, Selector

M = TypeVar("M")

_EMPTY = Trouble(Code.SELECTOR_FORM, "this item selects nothing", "name principals, or one kind of resource, or both")
_TWO = Trouble(
    Code.SELECTOR_FORM, "an item speaks of one kind of resource: no binding is of two", "make an item of each"
)


def declare_scope(spec: MappingNode, table: resources.PatternTable, findings: Findings) -> Scope:
    """The scope with ``ignore`` folded in; problems are reported."""
    include = spec.get("scope", "include")
    return Scope(
        include=None if include is None else declare_selectors(include, table, findings),
        exclude=declare_selectors(spec.get("scope", "exclude"), table, findings),
        ignore=declare_selectors(spec.get("ignore"), table, findings),
    )


def declare_selectors(node: Node | None, table: resources.PatternTable, findings: Findings) -> tuple[Selector, ...]:
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
    node: MappingNode, table: resources.PatternTable, findings: Findings, *, may_be_empty: bool = False
) -> Selector:
    """One selector; without any field it selects nothing, which is reported unless it may be so."""
    principals = principal_names(node.get("principals"), findings)
    kinds = [field for field in RESOURCE_FIELDS if field in node.values]
    if len(kinds) > 1:
        findings.add(_TWO, node.keys[kinds[1]])
    if not kinds:
        if principals is None and not may_be_empty:
            findings.add(_EMPTY, node)
        return Selector(principals)
    kind = RESOURCE_FIELDS[kinds[0]]
    return Selector(principals, kind, _names(table.names(kind, node.values[kinds[0]], findings)))


def topic_names(node: Node | None, table: resources.PatternTable, findings: Findings) -> NameSelector | None:
    """Topics in the forms of names; ``None`` where nothing is said of them."""
    return None if node is None else _names(table.names(ResourceType.TOPIC, node, findings))


def _names(named: list[resources.Named]) -> NameSelector:
    patterns = [pattern for pattern, _ in named]
    if any(pattern.is_wildcard for pattern in patterns):
        return NameSelector(any_name=True)
    return NameSelector(_sorted(patterns, PatternType.LITERAL), _sorted(patterns, PatternType.PREFIXED))


def _sorted(patterns: Iterable[ResourcePattern], pattern_type: PatternType) -> tuple[str, ...]:
    return tuple(sorted({pattern.name for pattern in patterns if pattern.pattern_type is pattern_type}))


def principal_names(node: Node | None, findings: Findings) -> NameSelector | None:
    """Principals in the forms of names; ``None`` where nothing is said of them."""
    if node is None:
        return None
    if isinstance(node, MappingNode) and "any" in node.values:
        if len(node.keys) != 1:
            findings.add(resources.FORMS, node)
        if node.text("any") == "false":
            findings.add(Trouble(Code.RULE_FORM, "only true makes sense here", "leave it out"), node.values["any"])
        return NameSelector(any_name=True)
    for item in [node, *node.items] if isinstance(node, SequenceNode) else [node]:
        if isinstance(item, MappingNode) and ("any" in item.values or len(item.keys) != 1):
            findings.add(resources.ANY_IN_A_LIST if "any" in item.values else resources.FORMS, item)
    literal, prefixes = set[str](), set[str]()
    for form, scalar in resources.name_scalars(node):
        (prefixes if form == "prefix" else literal).add(scalar.plain)
        if form != "any" and not findings.marks(scalar):
            _check_principal(form, scalar, findings)
    return NameSelector(tuple(sorted(literal)), tuple(sorted(prefixes)))


def _check_principal(form: str, node: ScalarNode, findings: Findings) -> None:
    if form == "prefix":
        _check_prefix(node, findings)
        return
    trouble = resources.principal_problem(node.plain)
    if trouble is not None:
        if trouble.code is Code.DEAD_PRINCIPAL:
            trouble = trouble._replace(advice=f"write {{prefix: {node.plain.rstrip('*')!r}}}")
        findings.add(trouble, node)
    elif not form and resources.looks_like_a_pattern(node.plain):
        findings.add(resources.pattern_warning(node.plain), node, severity="warning")


def _check_prefix(node: ScalarNode, findings: Findings) -> None:
    bare = node.plain.rstrip("*")
    if bare != node.plain or not bare:
        message = "a prefix is the beginning of a principal, without a star"
        advice = f"write {{prefix: {bare!r}}}" if bare else "write {any: true} for every principal"
        findings.add(Trouble(Code.DEAD_PRINCIPAL, message, advice), node)
    elif ":" in node.plain and node.plain.partition(":")[0] != "User" and node.plain[:5].lower() == "user:":
        advice = f"write {{prefix: {'User:' + node.plain[5:]!r}}}"
        findings.add(Trouble(Code.PRINCIPAL, "Kafka compares the case of a principal's type too", advice), node)


# Exceptions: a finding, a failure, a breach or a guard that is accepted, with a reason, and stays counted.

_LINT_CODE = re.compile("KA[0-9]{3}", re.ASCII)
_CODE_SCHEMA = {"type": "string", "pattern": f"^{_LINT_CODE.pattern}$|{VARIABLE_PATTERN}"}


def is_lint_code(text: object) -> bool:
    """Whether a check is a rule of lint."""
    return isinstance(text, str) and _LINT_CODE.fullmatch(text) is not None


def _code(value: object) -> object:
    if not is_lint_code(value):
        shown = quoted(value) if isinstance(value, str) else "this"
        raise refuse(Code.WRONG_VALUE, f"{shown} is not a lint code", "write it as lint shows it: KA001")
    return value


LintCode = Annotated[str, BeforeValidator(_code), WithJsonSchema(_CODE_SCHEMA)]


class SelectorItem(resources.Resources):
    """Bindings or topics by principal and by one kind of resource; both must fit."""

    principals: resources.Names | None = Field(
        None, description="Principals, in the forms of names.", examples=[{"prefix": "User:svc-"}]
    )


class ExceptionItem(ManifestModel):
    """What is accepted for a while: every kind names the check, and some what of it."""

    reason: Text = Field(description="Why it is accepted.", examples=["the old reader goes in March"])
    expires: Ends = ends("It is accepted", required=True)
    ticket: Text | None = Field(None, description="Where it was agreed.", examples=["SEC-1204"])


class TestExceptionItem(ExceptionItem):
    """A failure of a test that is accepted for a while."""

    check: Text = Field(description="The name of the test, in this document.", examples=["orders flow"])


class LintExceptionItem(SelectorItem, ExceptionItem):
    """Findings of one lint rule that are accepted; with a selector, only those about bindings it selects."""

    check: LintCode = Field(description="The rule, by its code.", examples=["KA007"])


TestExceptionsField = Annotated[
    list[TestExceptionItem],
    Field(
        default_factory=list,
        description="Failures that are accepted, each with a reason and an end; they stay counted.",
        examples=[[{"check": "orders flow", "reason": "the old reader goes in March", "expires": "2027-03-31"}]],
    ),
]
LintExceptionsField = Annotated[
    list[LintExceptionItem],
    Field(
        default_factory=list,
        description="Findings of lint that are accepted, each with a reason and an end; they stay counted.",
        examples=[[{"check": "KA007", "reason": "the exporter reads every topic", "expires": "2027-03-31"}]],
    ),
]


class StatedException(NamedTuple):
    """Why something is accepted, and until when."""

    reason: str
    expires: Expiry
    origin: Origin
    ticket: str | None = None

    def stands(self, as_of: datetime.date) -> bool:
        """Whether it counts then."""
        return not self.expires.over(as_of)


@dataclass(frozen=True, slots=True)
class LintException:
    """Accepts the findings of one rule: all of them, or those about bindings that ``selector`` selects.

    ``places`` are the places of the bindings of its ``Acls`` document; an exception of a ``Cluster`` has ``None`` and
    reaches every binding, declared or only live.
    """

    rule: str
    exception: StatedException
    selector: Selector | None = None
    places: frozenset[Origin] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of resources or principals, one of which a finding must be about; empty: it may be about any."""
        chosen = () if self.selector is None else (self.selector.names, self.selector.principals)
        spelled = (item.literal for item in chosen if item is not None and not item.prefixes and not item.any_name)
        return next(spelled, ())

    def covers(self, rule: str, origin: Origin | None, selected_by: Callable[[Selector], bool]) -> bool:
        """Whether a finding of ``rule`` is accepted, about what is declared at ``origin`` and ``selected_by`` some."""
        if rule != self.rule or (self.places is not None and origin not in self.places):
            return False
        return self.selector is None or selected_by(self.selector)


def declare_lint_exceptions(
    node: Node | None,
    items: Sequence[LintExceptionItem | M] | None,
    table: resources.PatternTable,
    findings: Findings,
    places: frozenset[Origin] | None = None,
) -> tuple[LintException, ...]:
    """Those of a list of exceptions that are about lint; problems are reported. No ``items``: there are errors."""
    exceptions = []
    for item, model in paired(node, items):
        if not is_lint_code(item.text("check")) and "${" not in (item.text("check") or ""):
            continue
        selector = declare_selector(item, table, findings, may_be_empty=True)
        if isinstance(model, LintExceptionItem):
            stated = StatedException(model.reason, model.expires, _at_check(item, findings), model.ticket)
            exceptions.append(LintException(model.check, stated, None if selector == Selector() else selector, places))
    return tuple(exceptions)


def declare_test_exceptions(
    spec: MappingNode, items: Sequence[TestExceptionItem] | None, findings: Findings
) -> dict[str, StatedException]:
    """The exceptions of a document's tests, by the name of the test; problems are reported."""
    tests = spec.get("tests")
    named = tests.items if isinstance(tests, SequenceNode) else []
    names = [name for test in named if isinstance(test, MappingNode) and (name := test.text("name")) is not None]
    first: dict[str, Origin] = {}
    exceptions: dict[str, StatedException] = {}
    for item, model in paired(spec.get("exceptions"), items):
        check = item.get("check")
        if not isinstance(check, ScalarNode) or not check_exists("test", check, names, findings):
            continue
        origin = findings.origin(check)
        if first.setdefault(check.plain, origin) != origin:
            message = f"there is another exception for {quoted(check.plain)}"
            findings.add(Trouble(Code.TEST_FORM, message, "keep one of them"), check, related=[first[check.plain]])
        elif model is not None:
            exceptions[check.plain] = StatedException(model.reason, model.expires, origin, model.ticket)
    return exceptions


def check_exists(what: str, check: ScalarNode, names: Sequence[str], findings: Findings) -> bool:
    """Whether an exception is about something that its document has, which is reported otherwise."""
    if check.plain in names or "${" in check.plain or any("${" in name for name in names):
        return True
    code = Code.POLICY_FORM if what == "rule" else Code.TEST_FORM
    message = f"this document has no {what} {quoted(check.plain)}"
    findings.add(Trouble(code, message, did_you_mean(check.plain, names, f"write the name of a {what}")), check)
    return False


def _at_check(item: MappingNode, findings: Findings) -> Origin:
    return findings.origin(item.get("check") or item)
