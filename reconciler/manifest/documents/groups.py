"""The kind ``GroupConfigs``: the dynamic configs of consumer, share and streams groups, by the group's id."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.kind import Declared, DesiredBuilder, Kind
from reconciler.manifest.parts.document import Document, Heading
from reconciler.manifest.parts.fields import MILLISECONDS, amount, boolean
from reconciler.manifest.parts.resources import PatternTable
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, Trouble, paired, quoted
from reconciler.manifest.read.problem import Code, did_you_mean
from reconciler.model.acl import WILDCARD
from reconciler.model.characters import is_visible
from reconciler.model.desired import Declaration, DesiredItem
from reconciler.model.kinds.group_config import GROUP_KEYS, GroupConfig, contradiction, value_problem
from reconciler.model.scope import RESERVED_PREFIXES, is_reserved
from reconciler.model.topic_configs import ConfigType

if TYPE_CHECKING:
    from reconciler.manifest.models.groups import GroupConfigsDocument, GroupItem

_NOTHING = Trouble(Code.ITEM_FORM, "the group has no configs", "add configs, or absent: true")
_ABSENT = Trouble(
    Code.ITEM_FORM,
    "with absent: true, a group has no configs and no end",
    "remove configs and expires, or absent",
)
_NEWEST: Final = max(key.since for key in GROUP_KEYS.values())


@dataclass(frozen=True, slots=True)
class GroupConfigsDeclaration:
    """A document's heading and group configs."""

    heading: Heading
    groups: tuple[DesiredItem[GroupConfig], ...]


class GroupConfigsKind(Kind["GroupConfigsDocument"]):
    """Group configs."""

    name = "GroupConfigs"

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        model = document.validated(GroupConfigsKind.model())
        groups: list[DesiredItem[GroupConfig]] = []
        for node, item in paired(document.spec.get("groups"), model.spec.groups if model else None):
            groups += _groups(node, item, document.findings)
        return GroupConfigsDeclaration(document.heading, tuple(groups)) if model else None

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every group."""
        for document in builder.of(GroupConfigsDeclaration):
            for wish in document.groups:
                builder.want(wish)


def _groups(node: MappingNode, item: "GroupItem | None", findings: Findings) -> Iterator[DesiredItem[GroupConfig]]:
    names = checked_texts(node.get("name"), group_name_problem, findings)
    configs = _configs(node, findings)
    if item is None:
        return
    declaration = Declaration(findings.origin(node.values["name"]), item.reason, item.ticket, item.expires)
    for name in names:
        yield DesiredItem(GroupConfig(name, configs), declaration, item.absent)


def _configs(node: MappingNode, findings: Findings) -> dict[str, str]:
    configs = node.get("configs")
    if node.text("absent") == "true":
        for field in ("configs", "expires"):
            if field in node.keys:
                findings.add(_ABSENT, node.keys[field])
        return {}
    if configs is None or (isinstance(configs, MappingNode) and not configs.values):
        findings.add(_NOTHING, node)
    found: dict[str, str] = {}
    for name, value in configs.values.items() if isinstance(configs, MappingNode) else ():
        if isinstance(value, ScalarNode) and isinstance(configs, MappingNode) and not findings.marks(value):
            found[name] = _config(name, configs.keys[name], value, findings)
    if (why := contradiction(found)) is not None and configs is not None:
        findings.add(Trouble(Code.SETTING_VALUE, why, "make the first the larger one"), configs)
    return found


def _config(name: str, key: Node, node: ScalarNode, findings: Findings) -> str:
    """A value as a broker prints it, units resolved; a problem is reported, an unknown name as a warning."""
    text = node.plain
    if name not in GROUP_KEYS:
        if not findings.marks(key):
            advice = did_you_mean(name, GROUP_KEYS, "it is passed on as it is; the broker decides")
            message = f"Kafka {_NEWEST[0]}.{_NEWEST[1]} has no group config {quoted(name)}"
            findings.add(Trouble(Code.UNKNOWN_SETTING, message, advice), key, severity="warning")
        return text
    try:
        if GROUP_KEYS[name].type is ConfigType.MILLIS:
            text = str(amount(text, MILLISECONDS))
        elif GROUP_KEYS[name].type is ConfigType.BOOLEAN:
            text = str(boolean(text.lower())).lower()
    except ValueError as error:
        message, _, advice = str(error).partition(": ")
        findings.add(Trouble(Code.SETTING_VALUE, f"{name}: {message}", advice), node)
        return ""
    if (problem := value_problem(name, text)) is not None:
        findings.add(Trouble(Code.SETTING_VALUE, f"{name}: {problem}", _advice(name)), node)
    return text


def _advice(name: str) -> str:
    key = GROUP_KEYS[name]
    if key.words:
        return f"write {', '.join(key.words[:-1])} or {key.words[-1]}"
    return f"write {key.least} or more" if key.least else "write a value that Kafka takes"


def group_name_problem(text: str) -> Trouble | None:
    """Why no manifest can declare the configs of a group of that id; ``None`` if one can."""
    if not text:
        return Trouble(Code.DEAD_NAME, "Kafka has no default configs of all groups", "name each group")
    if text == WILDCARD:
        return Trouble(Code.DEAD_NAME, "Kafka knows no wildcard in group configs", "name each group")
    if is_reserved(text):
        message = f"{quoted(text)} is reserved: names under {' and '.join(RESERVED_PREFIXES)} are the reconciler's own"
        return Trouble(Code.RESERVED_NAME, message, "choose another name")
    if not is_visible(text):
        return Trouble(Code.DEAD_NAME, f"{quoted(text)} contains a line break or a tab", "write the name on one line")
    return None
