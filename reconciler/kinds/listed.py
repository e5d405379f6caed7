"""What a listed kind is: mechanical answers are inherited, those to the questions of law are each kind's own."""

from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import Field, create_model

from reconciler.kafka.sent_kind import SentKind
from reconciler.manifest.documents.kind import DocumentWords
from reconciler.manifest.parts import fields
from reconciler.manifest.parts.rules import checked_texts
from reconciler.manifest.read.findings import Findings, MappingNode, Node, ScalarNode, Trouble, quoted, trouble_of
from reconciler.manifest.read.problem import Code, did_you_mean
from reconciler.manifest.write.kinds.interface import WrittenKind
from reconciler.manifest.write.text import scalar, text_problem
from reconciler.model.acl import WILDCARD, AclOperation
from reconciler.model.characters import is_visible
from reconciler.model.config_resource import INT_MAX, ConfigResource
from reconciler.model.desired import Declaration, DesiredItem
from reconciler.model.listing import Change, resource_of, values_of
from reconciler.model.scope import RESERVED_PREFIXES, is_reserved
from reconciler.model.topic_configs import ConfigType, with_unit
from reconciler.plan.kinds.listed import ListedKind as PlannedKind
from reconciler.show.kinds import ReportedKind

if TYPE_CHECKING:
    from reconciler.kafka.handshake import Handshake

#: The newest release whose configs are known.
_NEWEST: Final = (4, 4)


class ListedKind(PlannedKind, ReportedKind, WrittenKind, SentKind, ABC):
    """One listed kind on every floor; mypy refuses one that leaves out what has no default."""

    def may_alter(self, handshake: "Handshake") -> bool | None:
        """By the operation that brokers ask for, on the cluster."""
        return None if handshake.operations is None else self.operation.name in handshake.operations


def declaration_at(place: Node, item: Any, findings: Findings) -> Declaration:
    """Where an item declares something, why, and until when."""
    return Declaration(findings.origin(place), item.reason, item.ticket, item.expires)


def refuse_fields(names: Iterable[str], trouble: Trouble, node: MappingNode, findings: Findings) -> None:
    """Report fields that an item with ``absent: true`` does not have."""
    for name in names:
        if name in node.keys:
            findings.add(trouble, node.keys[name])


class ConfigItem(fields.ManifestModel):
    """The configs of one resource, or of several with the same configs."""

    name: fields.OneOrMoreTexts
    configs: dict[str, fields.Text] = Field(default_factory=dict)
    absent: fields.Boolean = False
    expires: fields.Ends | None = fields.ends("The configs hold")
    reason: fields.Text | None = None
    ticket: fields.Text | None = Field(None, description="Where the configs were agreed.", examples=["OPS-7"])


class ConfigKind(ListedKind, ABC):
    """A kind whose resources are dynamic configs under a name: all but the questions of law is alike."""

    resource: ClassVar[type[ConfigResource]]
    operation = AclOperation.ALTER_CONFIGS
    values_key = "configs"
    messages = "config."

    @property
    def items_key(self) -> str:  # type: ignore[override]
        """``groups``."""
        return self.resource.DOCUMENT.items

    @property
    def document_words(self) -> DocumentWords:
        """As the resource has them."""
        words = self.resource.DOCUMENT
        examples = ({"name": words.names[0], "configs": dict(values)} for values in words.values)
        return DocumentWords(words.about, words.item, *examples)

    @cached_property
    def item_model(self) -> type[fields.ManifestModel]:
        """``GroupItem`` and so on."""
        words = self.resource.DOCUMENT
        return create_model(
            f"{words.item.capitalize()}Item",
            __base__=ConfigItem,
            __doc__=f"The dynamic configs of one {words.item}, or of several with the same configs.",
            name=(fields.OneOrMoreTexts, Field(description=words.name, examples=[words.names[0], list(words.names)])),
            configs=(
                dict[str, fields.Text],
                Field(default_factory=dict, description=words.configs, examples=[dict(words.values[0])]),
            ),
            absent=(fields.Boolean, Field(False, description=words.absent, examples=[True])),
            reason=(fields.Text | None, Field(None, description="Why the configs exist.", examples=[words.reason])),
        )

    def declared(
        self, node: MappingNode, item: ConfigItem | None, findings: Findings
    ) -> Iterator[DesiredItem[ConfigResource]]:
        """One for each of its names."""
        names = checked_texts(node.get("name"), self._name_problem, findings)
        configs = self._configs(node, findings)
        if item is None:
            return
        declaration = declaration_at(node.values["name"], item, findings)
        for name in names:
            yield DesiredItem(self.resource.of(name, configs), declaration, item.absent)

    def _configs(self, node: MappingNode, findings: Findings) -> dict[str, str]:
        configs, noun = node.get("configs"), self.resource.DOCUMENT.item
        if node.text("absent") == "true":
            message = f"with absent: true, a {noun} has no configs and no end"
            trouble = Trouble(Code.ITEM_FORM, message, "remove configs and expires, or absent")
            refuse_fields(("configs", "expires"), trouble, node, findings)
            return {}
        if configs is None or (isinstance(configs, MappingNode) and not configs.values):
            findings.add(
                Trouble(Code.ITEM_FORM, f"the {noun} has no configs", "add configs, or absent: true"),
                node,
            )
        checked: dict[str, str] = {}
        for name, value in configs.values.items() if isinstance(configs, MappingNode) else ():
            if isinstance(value, ScalarNode) and isinstance(configs, MappingNode) and not findings.marks(value):
                checked[name] = self._config(name, configs.keys[name], value, findings)
        if (why := self.resource.contradiction(checked)) is not None and configs is not None:
            findings.add(Trouble(Code.SETTING_VALUE, why, "make the first the larger one"), configs)
        return checked

    def _config(self, name: str, key: Node, node: ScalarNode, findings: Findings) -> str:
        """A value as a broker prints it, units resolved; a problem is reported, an unknown name as a warning."""
        text, keys = node.plain, self.resource.KEYS
        if name not in keys:
            if not findings.marks(key):
                longer = sorted(key for key in keys if key.endswith(f".{name}"))
                otherwise = did_you_mean(name, keys, "it is passed on as it is; the broker decides")
                advice = f"did you mean {' or '.join(map(repr, longer))}?" if longer else otherwise
                message = f"Kafka {_NEWEST[0]}.{_NEWEST[1]} has no {self.resource.CONFIG} {quoted(name)}"
                findings.add(Trouble(Code.UNKNOWN_SETTING, message, advice), key, severity="warning")
            return text
        try:
            if keys[name].type is ConfigType.MILLIS:
                text = str(fields.amount(text, fields.MILLISECONDS))
            elif keys[name].type is ConfigType.BOOLEAN:
                text = str(fields.boolean(text.lower())).lower()
        except ValueError as error:
            findings.add(trouble_of(Code.SETTING_VALUE, error, name), node)
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

    def _name_problem(self, text: str) -> Trouble | None:
        """Why no manifest can declare the configs of a resource of that name; ``None`` if one can."""
        words = self.resource.DOCUMENT
        if not text:
            return Trouble(Code.DEAD_NAME, words.no_default, f"name each {words.item}")
        if text == WILDCARD:
            message = f"Kafka knows no wildcard in {self.resource.CONFIG}s"
            return Trouble(Code.DEAD_NAME, message, f"name each {words.item}")
        if is_reserved(text):
            message = (
                f"{quoted(text)} is reserved: names under {' and '.join(RESERVED_PREFIXES)} are the reconciler's own"
            )
            return Trouble(Code.RESERVED_NAME, message, "choose another name")
        if not is_visible(text):
            return Trouble(
                Code.DEAD_NAME, f"{quoted(text)} contains a line break or a tab", "write the name on one line"
            )
        return None

    @cached_property
    def reading(self) -> Mapping[str, Any]:
        """How brokers list them."""
        return self.resource.LISTED._asdict()

    def altering(self, alterations: Sequence[Any], *, only_validate: bool) -> Mapping[str, Any]:
        """The same, with names and configs."""
        return {**self.reading, "alterations": alterations, "only_validate": only_validate}

    def outcome_key(self, entry: Any) -> str:
        """The name."""
        return str(entry)

    def shown(self, name: str, value: str) -> str:
        """``50000 (50s)``: as Kafka has it, and as a person writes it."""
        key = self.resource.KEYS.get(name)
        if key is None or key.type is not ConfigType.MILLIS:
            return value
        text = with_unit(ConfigType.MILLIS, value)
        return value if text == value else f"{value} ({text})"

    def problem(self, item: ConfigResource) -> str | None:
        """A name or a text that no manifest has, what brokers refuse, or a value that does not do what it says."""
        trouble = self._name_problem(item.key)
        if trouble is not None:
            return trouble.message
        refused = item.refusal()
        texts = map(text_problem, (item.key, *item.values, *item.values.values()))
        traps = (item.trap(*pair) for pair in item.values.items())
        return next(filter(None, (*texts, refused and refused.message, *traps)), None)

    def lines(self, item: ConfigResource) -> Iterator[str]:
        """A line a config."""
        yield f"    - name: {scalar(item.key)}"
        yield "      configs:"
        yield from (f"        {scalar(name)}: {scalar(value)}" for name, value in item.values.items())

    def item(self, entry: Any) -> Any:
        """Of its name and its configs."""
        name, values = entry
        return self.resource.of(name, dict(values))

    def alteration(self, change: Change, secrets: Mapping[str, str]) -> tuple[str, list[tuple[str, str | None]]]:
        """The name, and the configs; those without a value are reset. Other configs stay."""
        values = {**dict.fromkeys(values_of(change.before)), **values_of(change.after)}
        return resource_of(change).key, list(values.items())

    def about(self, item: ConfigResource) -> Mapping[str, str]:
        """Its name."""
        return {"name": scalar(item.key, flow=True)}

    def settings(self, item: ConfigResource) -> Mapping[str, str]:
        """Its configs."""
        return {name: scalar(value, flow=True) for name, value in item.values.items()}
