"""The rule to write where nothing allows a request, as a person would paste it into a manifest."""

from collections.abc import Iterator

from reconciler.access import AccessRequest, Decision, DecisionRule
from reconciler.model import RESOURCE_FIELDS, ResourceType
from reconciler.report.export.yaml_text import scalar
from reconciler.report.style import safe


def allowing_rule(decision: Decision) -> Iterator[str]:
    """What to do about a request that is denied; nothing where no rule helps, or too little is known."""
    if decision.rule is DecisionRule.DENY:
        yield "no ALLOW helps while this DENY is there: remove it, or narrow it"
    elif decision.rule is DecisionRule.DEFAULT_DENY:
        yield "to allow it, write:"
        yield from (f"  {line}" for line in _rule(decision.request))


def _rule(request: AccessRequest) -> Iterator[str]:
    fields = {kind: field for field, kind in RESOURCE_FIELDS.items()}
    kind, name = request.resource_type, request.resource_name
    on = "cluster: true" if kind is ResourceType.CLUSTER else f"{fields[kind]}: [{scalar(name, flow=True)}]"
    yield safe(f"principal: {scalar(request.principal)}")
    yield safe(f"rules: [{{allow: {request.operation.name}, {on}}}]")
