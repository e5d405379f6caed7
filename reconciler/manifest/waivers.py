"""Waivers of lint findings and of failing tests: they count through their last day, and stay counted."""

import datetime
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.manifest.findings import Findings
from reconciler.manifest.models.waivers import LintWaiverSpec
from reconciler.manifest.nodes import MappingNode, Node, SequenceNode
from reconciler.manifest.resources import PatternTable
from reconciler.manifest.selectors import declare_selector
from reconciler.model import AclBinding, Origin, Selector


class Waiver(NamedTuple):
    """Why something is accepted, and the last day on which it is."""

    reason: str
    expires: datetime.date
    origin: Origin
    ticket: str | None = None

    def stands(self, as_of: datetime.date) -> bool:
        """Whether it counts on that day."""
        return self.expires >= as_of


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

    def covers(self, rule: str, binding: AclBinding | None, origin: Origin | None) -> bool:
        """Whether a finding of ``rule`` about ``binding``, declared at ``origin``, is accepted."""
        if rule != self.rule or (self.places is not None and origin not in self.places):
            return False
        return self.selector is None or (binding is not None and self.selector.selects(binding))


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
