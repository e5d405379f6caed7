"""What a listed kind is: mechanical answers are inherited, those to the questions of law are each kind's own."""

from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from reconciler.kafka.sent_kind import SentKind
from reconciler.manifest.documents.configs import config_name_problem
from reconciler.manifest.write.kinds.interface import EditedKind, WrittenKind
from reconciler.manifest.write.text import scalar, text_problem
from reconciler.model.acl import AclOperation
from reconciler.model.config_resource import ConfigResource
from reconciler.model.listing import Change, resource_of, values_of
from reconciler.model.topic_configs import ConfigType, with_unit
from reconciler.plan.kinds.interface import ListedKind as PlannedKind
from reconciler.show.kinds.interface import ReportedKind


class ListedKind(PlannedKind, ReportedKind, WrittenKind, SentKind, ABC):
    """One listed kind on every floor; mypy refuses one that leaves out what has no default."""


class ConfigKind(ListedKind, EditedKind, ABC):
    """A kind whose resources are dynamic configs under a name: all but the questions of law is alike."""

    resource: ClassVar[type[ConfigResource]]
    operation = AclOperation.ALTER_CONFIGS
    values_key = "configs"
    messages = "config."

    @property
    def document(self) -> str:  # type: ignore[override]  # as its actions are called
        """``GroupConfigs``."""
        return self.resource.NOUN

    @property
    def items_key(self) -> str:  # type: ignore[override]
        """``groups``."""
        return self.resource.DOCUMENT.items

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
        trouble = config_name_problem(self.resource, item.key)
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
