"""The kinds ``GroupConfigs`` and ``ClientMetrics``: dynamic configs under a name, which is all that they are."""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

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
from reconciler.model.config_resource import INT_MAX, ConfigResource
from reconciler.model.desired import Declaration, DesiredItem
from reconciler.model.kinds import listed_types
from reconciler.model.scope import RESERVED_PREFIXES, is_reserved
from reconciler.model.topic_configs import ConfigType

if TYPE_CHECKING:
    from reconciler.manifest.models.configs import ConfigItem, ConfigsDocument

_NEWEST: Final = (4, 4)


@dataclass(frozen=True, slots=True)
class ConfigsDeclaration:
    """A document's heading and the configs that it declares."""

    heading: Heading
    items: tuple[DesiredItem[ConfigResource], ...]


class ConfigsKind(Kind["ConfigsDocument"]):
    """Dynamic configs of one kind of resource; each has a class of its own (:func:`configs_kinds`)."""

    resource: ClassVar[type[ConfigResource]]

    @classmethod
    def model(cls) -> type["ConfigsDocument"]:
        """Made when a document is read, as models are loaded then."""
        return cast("type[ConfigsDocument]", _models().config_document(cls.resource))

    def declare(self, document: Document, table: PatternTable) -> Declared | None:
        """Checks and converts; ``None`` after reporting problems that leave no document."""
        model = document.validated(self.model())
        key = self.resource.DOCUMENT.items
        items: list[DesiredItem[ConfigResource]] = []
        for node, item in paired(document.spec.get(key), getattr(model.spec, key) if model else None):
            items += self._items(node, item, document.findings)
        return ConfigsDeclaration(document.heading, tuple(items)) if model else None

    def collect(self, builder: DesiredBuilder) -> None:
        """Adds every item."""
        for document in builder.of(ConfigsDeclaration):
            if document.heading.kind == self.name:
                for wish in document.items:
                    builder.want(wish)

    def _items(
        self, node: MappingNode, item: "ConfigItem | None", findings: Findings
    ) -> Iterator[DesiredItem[ConfigResource]]:
        names = checked_texts(node.get("name"), lambda text: config_name_problem(self.resource, text), findings)
        configs = self._configs(node, findings)
        if item is None:
            return
        declaration = Declaration(findings.origin(node.values["name"]), item.reason, item.ticket, item.expires)
        for name in names:
            yield DesiredItem(self.resource.of(name, configs), declaration, item.absent)

    def _configs(self, node: MappingNode, findings: Findings) -> dict[str, str]:
        configs, noun = node.get("configs"), self.resource.DOCUMENT.item
        if node.text("absent") == "true":
            for field in ("configs", "expires"):
                if field in node.keys:
                    message = f"with absent: true, a {noun} has no configs and no end"
                    trouble = Trouble(Code.ITEM_FORM, message, "remove configs and expires, or absent")
                    findings.add(trouble, node.keys[field])
            return {}
        if configs is None or (isinstance(configs, MappingNode) and not configs.values):
            findings.add(
                Trouble(Code.ITEM_FORM, f"the {noun} has no configs", "add configs, or absent: true"),
                node,
            )
        found: dict[str, str] = {}
        for name, value in configs.values.items() if isinstance(configs, MappingNode) else ():
            if isinstance(value, ScalarNode) and isinstance(configs, MappingNode) and not findings.marks(value):
                found[name] = self._config(name, configs.keys[name], value, findings)
        if (why := self.resource.contradiction(found)) is not None and configs is not None:
            findings.add(Trouble(Code.SETTING_VALUE, why, "make the first the larger one"), configs)
        return found

    def _config(self, name: str, key: Node, node: ScalarNode, findings: Findings) -> str:
        """A value as a broker prints it, units resolved; a problem is reported, an unknown name as a warning."""
        text, keys = node.plain, self.resource.KEYS
        if name not in keys:
            if not findings.marks(key):
                advice = did_you_mean(name, keys, "it is passed on as it is; the broker decides")
                message = f"Kafka {_NEWEST[0]}.{_NEWEST[1]} has no {self.resource.CONFIG} {quoted(name)}"
                findings.add(Trouble(Code.UNKNOWN_SETTING, message, advice), key, severity="warning")
            return text
        try:
            if keys[name].type is ConfigType.MILLIS:
                text = str(amount(text, MILLISECONDS))
            elif keys[name].type is ConfigType.BOOLEAN:
                text = str(boolean(text.lower())).lower()
        except ValueError as error:
            message, _, advice = str(error).partition(": ")
            findings.add(Trouble(Code.SETTING_VALUE, f"{name}: {message}", advice), node)
            return ""
        if (problem := self.resource.value_problem(name, text) or self.resource.trap(name, text)) is not None:
            findings.add(Trouble(Code.SETTING_VALUE, f"{name}: {problem}", self._advice(name)), node)
        return text

    def _advice(self, name: str) -> str:
        key = self.resource.KEYS[name]
        if key.words:
            return f"write {', '.join(key.words[:-1])} or {key.words[-1]}"
        if key.most < INT_MAX:
            return f"write {key.least} to {key.most}"
        return f"write {key.least} or more" if key.least else "write a value that Kafka takes"


def _models() -> Any:
    """The module of the fields, which takes longer to load than all else here."""
    return import_module("reconciler.manifest.models.configs")


def configs_kinds() -> Iterator[ConfigsKind]:
    """A kind of document for each kind of resource that is nothing but its configs, called as actions on it are."""
    for item in listed_types():
        if issubclass(item, ConfigResource):
            yield type(f"{item.NOUN}Kind", (ConfigsKind,), {"resource": item, "name": item.NOUN})()


def config_name_problem(resource: type[ConfigResource], text: str) -> Trouble | None:
    """Why no manifest can declare the configs of a resource of that name; ``None`` if one can."""
    words = resource.DOCUMENT
    if not text:
        return Trouble(Code.DEAD_NAME, words.no_default, f"name each {words.item}")
    if text == WILDCARD:
        message = f"Kafka knows no wildcard in {resource.CONFIG}s"
        return Trouble(Code.DEAD_NAME, message, f"name each {words.item}")
    if is_reserved(text):
        message = f"{quoted(text)} is reserved: names under {' and '.join(RESERVED_PREFIXES)} are the reconciler's own"
        return Trouble(Code.RESERVED_NAME, message, "choose another name")
    if not is_visible(text):
        return Trouble(Code.DEAD_NAME, f"{quoted(text)} contains a line break or a tab", "write the name on one line")
    return None
