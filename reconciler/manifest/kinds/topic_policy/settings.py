"""What a policy asks of settings: allowed values in normal form, limits with units, relations between numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from reconciler.manifest.parts import units
from reconciler.manifest.parts.settings import setting_value, unknown_setting_advice
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, ScalarNode, paired, scalars
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean
from reconciler.model import (
    TOPIC_CONFIGS,
    UNLIMITED_CONFIGS,
    Bound,
    ConfigType,
    Relation,
    RelationRule,
    SettingRule,
    normal_form,
)

if TYPE_CHECKING:
    from reconciler.manifest.models.topic_policy import RelationItem, SettingLimits

_NUMBERS: Final = frozenset({ConfigType.INTEGER, ConfigType.MILLIS, ConfigType.BYTES, ConfigType.DOUBLE})
#: What a relation can speak of besides settings.
_OPERANDS: Final = ("partitions", "replicationFactor", "brokers")
_SAYS = Trouble(Code.POLICY_FORM, "this asks nothing of the setting", "add required, forbidden, allowed, min or max")
_ALONE = Trouble(
    Code.POLICY_FORM, "a forbidden setting has no value that could be right", "remove forbidden, or the rest"
)
_ORDER = Trouble(Code.POLICY_FORM, "no value is both at least min and at most max", "exchange them")
_ONE = Trouble(
    Code.POLICY_FORM, "exactly one of below, atMost, above and atLeast is expected here", "write one of them"
)
_SAME = Trouble(Code.POLICY_FORM, "this compares a number with itself", "name another one")


def declare_setting_rules(
    node: Node | None, items: "Mapping[str, SettingLimits] | None", findings: Findings
) -> Iterator[SettingRule]:
    """The settings of a rule; problems are reported, unknown names as warnings."""
    for name, inner in node.values.items() if isinstance(node, MappingNode) else ():
        key = node.keys[name] if isinstance(node, MappingNode) else inner
        if not isinstance(inner, MappingNode):
            continue
        warn_of_unknown_setting(name, key, findings)
        allowed = [_allowed(name, value, findings) for value in scalars(inner.get("allowed"))]
        low, high = (_bound(name, inner.get(field), findings) for field in ("min", "max"))
        item = items.get(name) if items is not None else None
        if item is not None:
            _check_form(item, inner, key, findings)
            if low is not None and high is not None and low.number > high.number:
                findings.add(_ORDER, inner.get("min") or key)
            yield SettingRule(
                findings.origin(key), name, item.required, item.forbidden, tuple(allowed) or None, low, high
            )


def _check_form(item: "SettingLimits", node: MappingNode, key: Node, findings: Findings) -> None:
    limits = node.keys.keys() & {"allowed", "min", "max"}
    if item.forbidden and (limits or item.required):
        findings.add(_ALONE, key)
    elif not item.forbidden and not limits and not item.required:
        findings.add(_SAYS, key)


def warn_of_unknown_setting(name: str, key: Node, findings: Findings) -> None:
    """A setting that Kafka does not know is passed on; a newer broker may have it."""
    if name not in TOPIC_CONFIGS and not findings.marks(key):
        advice = unknown_setting_advice(name, "it is compared as it is; a newer broker may have it")
        trouble = Trouble(Code.UNKNOWN_SETTING, f"Kafka 4.4 has no topic setting {quoted(name)}", advice)
        findings.add(trouble, key, severity="warning")


def _allowed(name: str, node: ScalarNode, findings: Findings) -> str:
    config_type = TOPIC_CONFIGS.get(name, ConfigType.STRING)
    try:
        return normal_form(name, setting_value(name, config_type, node.plain))
    except ValueError as error:
        _report(name, error, node, findings)
        return ""


def _bound(name: str, node: Node | None, findings: Findings) -> Bound | None:
    if not isinstance(node, ScalarNode) or findings.marks(node):
        return None
    config_type = TOPIC_CONFIGS.get(name)
    if config_type is not None and config_type not in _NUMBERS:
        findings.add(
            Trouble(Code.POLICY_FORM, f"{name} has no least and no greatest value", "list the allowed ones"), node
        )
        return None
    try:
        text = str(units.integer(node.plain)) if config_type is None else setting_value(name, config_type, node.plain)
    except ValueError as error:
        _report(name, error, node, findings)
        return None
    # -1 stands for infinity there. As a number it would be below every minimum and pass every maximum.
    if name in UNLIMITED_CONFIGS and text.startswith("-"):
        advice = f"write allowed: [{text}], or leave the limit out"
        findings.add(Trouble(Code.POLICY_FORM, f"{name}: {text} means no limit, not a number", advice), node)
        return None
    return Bound(float(text) if config_type is ConfigType.DOUBLE else int(text), node.plain)


def _report(name: str, error: ValueError, node: Node, findings: Findings) -> None:
    message, _, advice = str(error).partition(": ")
    findings.add(Trouble(Code.SETTING_VALUE, f"{name}: {message}", advice), node)


def declare_relations(
    nodes: Node | None, items: "Sequence[RelationItem] | None", findings: Findings
) -> Iterator[RelationRule]:
    """The relations of a rule; problems are reported."""
    for node, item in paired(nodes, items):
        found = [relation for relation in Relation if relation in node.keys]
        value, other = node.get("value"), node.get(found[0]) if found else None
        if len(found) != 1:
            findings.add(_ONE, node)
        for operand in (value, other):
            _check_operand(operand, findings)
        if isinstance(value, ScalarNode) and isinstance(other, ScalarNode):
            if value.plain == other.plain:
                findings.add(_SAME, other)
            if item is not None:
                yield RelationRule(findings.origin(node), value.plain, found[0], other.plain, item.required)


def _check_operand(node: Node | None, findings: Findings) -> None:
    if not isinstance(node, ScalarNode) or node.plain in _OPERANDS or findings.marks(node):
        return
    config_type = TOPIC_CONFIGS.get(node.plain)
    if config_type is None:
        advice = did_you_mean(node.plain, [*TOPIC_CONFIGS, *_OPERANDS], f"a setting, or one of {', '.join(_OPERANDS)}")
        findings.add(Trouble(Code.POLICY_FORM, f"a topic has no number {quoted(node.plain)}", advice), node)
    elif config_type not in _NUMBERS:
        findings.add(Trouble(Code.POLICY_FORM, f"{node.plain} is not a number", "compare numbers only"), node)
