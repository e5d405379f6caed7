"""Waivers: a finding or a failure that is accepted for a while, with a reason, and stays counted."""

import datetime
import re
from collections.abc import Collection
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field, WithJsonSchema

from reconciler.dataclass import dataclass
from reconciler.manifest.parts.fields import VARIABLE_PATTERN, Ends, ManifestModel, Text, ends, refuse
from reconciler.manifest.parts.resources import Names, PatternTable, Resources
from reconciler.manifest.parts.selectors import declare_selector
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings
from reconciler.manifest.reader.nodes import MappingNode, Node, SequenceNode
from reconciler.manifest.reader.source import quoted
from reconciler.model import AclBinding, Expiry, Origin, Selector
from reconciler.model.listing import ListedItem

_RULE_PATTERN = "^KA[0-9]{3}$"
_RULE_SCHEMA = {"type": "string", "pattern": f"{_RULE_PATTERN}|{VARIABLE_PATTERN}"}


def _rule(value: object) -> object:
    if not isinstance(value, str) or not re.search(_RULE_PATTERN, value, re.ASCII):
        shown = quoted(value) if isinstance(value, str) else "this"
        raise refuse(Code.WRONG_VALUE, f"{shown} is not a lint code", "write it as lint shows it: KA001")
    return value


RuleCode = Annotated[str, BeforeValidator(_rule), WithJsonSchema(_RULE_SCHEMA)]


class SelectorItem(Resources):
    """Bindings or topics by principal and by one kind of resource; both must fit."""

    principals: Names | None = Field(
        None, description="Principals, in the forms of names.", examples=[{"prefix": "User:svc-"}]
    )


class FailureWaiver(ManifestModel):
    """A failure of a test that is accepted for a while."""

    reason: Text = Field(description="Why the failure is accepted.", examples=["the old reader goes in March"])
    expires: Ends = ends("It is accepted", required=True)
    ticket: Text | None = Field(None, description="Where it was agreed.", examples=["SEC-1204"])


class LintWaiverSpec(SelectorItem):
    """Findings of one lint rule that are accepted; with a selector, only those about bindings it selects."""

    rule: RuleCode = Field(description="The rule, by its code.", examples=["KA007"])
    reason: Text = Field(description="Why the finding is accepted.", examples=["the exporter reads every topic"])
    expires: Ends = ends("It is accepted", required=True)
    ticket: Text | None = Field(None, description="Where it was agreed.", examples=["SEC-1204"])


WaiveField = Annotated[
    list[LintWaiverSpec],
    Field(
        default_factory=list,
        description="Findings of lint that are accepted, each with a reason and an end; they stay counted.",
        examples=[[{"rule": "KA007", "reason": "the exporter reads every topic", "expires": "2027-03-31"}]],
    ),
]


class Waiver(NamedTuple):
    """Why something is accepted, and until when."""

    reason: str
    expires: Expiry
    origin: Origin
    ticket: str | None = None

    def stands(self, as_of: datetime.date) -> bool:
        """Whether it counts then."""
        return not self.expires.over(as_of)


@dataclass(frozen=True, slots=True)
class LintWaiver:
    """Accepts the findings of one rule: all of them, or those about bindings that ``selector`` selects.

    ``places`` are the places of the bindings of its ``Acls`` document; a waiver of a ``Cluster`` has ``None`` and
    reaches every binding, declared or only live.
    """

    rule: str
    waiver: Waiver
    selector: Selector | None = None
    places: frozenset[Origin] | None = None

    def covers(self, rule: str, about: AclBinding | ListedItem | None, origin: Origin | None) -> bool:
        """Whether a finding of ``rule`` about a binding or another resource, declared at ``origin``, is accepted."""
        if rule != self.rule or (self.places is not None and origin not in self.places):
            return False
        if self.selector is None or about is None:
            return self.selector is None
        return self.selector.selects(about) if isinstance(about, AclBinding) else self.selector.selects_listed(about)


def declare_lint_waivers(
    node: Node | None,
    specs: Collection[LintWaiverSpec] | None,
    table: PatternTable,
    findings: Findings,
    places: frozenset[Origin] | None = None,
) -> tuple[LintWaiver, ...]:
    """The waivers of a ``waive`` list; problems are reported. ``specs`` is ``None`` where the document has errors."""
    items = [item for item in node.items if isinstance(item, MappingNode)] if isinstance(node, SequenceNode) else []
    selectors = [declare_selector(item, table, findings, may_be_empty=True) for item in items]
    if specs is None:
        return ()
    return tuple(
        LintWaiver(
            spec.rule,
            Waiver(spec.reason, spec.expires, findings.origin(item.get("rule") or item), spec.ticket),
            None if selector == Selector() else selector,
            places,
        )
        for item, spec, selector in zip(items, specs, selectors, strict=True)
    )
