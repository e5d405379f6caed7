"""JulieOps' settings, as far as they decide which topics and ACLs it creates."""

import re
from collections.abc import Mapping
from typing import Final

from reconciler.adapters.converters.tree import SourceError
from reconciler.dataclass import dataclass

_PLACEHOLDER: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
#: These limit what JulieOps manages, or add topics of its own.
_REFUSED: Final = (
    "topology.topic.managed.prefixes",
    "topology.group.managed.prefixes",
    "topology.service.accounts.managed.prefixes",
)


#: Settings that are read, and one that says who JulieOps is.
_KNOWN: Final = frozenset(
    (
        *_REFUSED,
        "topology.dlq.topics.generate",
        "topology.builder.access.control.class",
        "topology.topic.prefix.separator",
        "topology.topic.prefix.format",
        "topology.project.prefix.format",
        "topology.acls.optimized",
        "topology.connector.allow.topic.create",
        "julie.roles",
        "julie.internal.principal",
    )
)
#: Checks, and where JulieOps keeps its state: neither names nor grants anything.
_HARMLESS: Final = re.compile(r"topology\.(validations|state|features)\b")
_DECIDES: Final = re.compile(
    r"(topology|julie)\.(.*\.)?(prefix|format|separator|principal|translation|dlq|acls?|roles?)\b"
)


def unknown_settings(properties: Mapping[str, str]) -> list[str]:
    """Settings that by their names decide what things are called or who gets what, and that this conversion ignores."""
    return [
        name
        for name in properties
        if name not in _KNOWN and _DECIDES.match(name) and not _HARMLESS.match(name) and properties[name].strip("[] ")
    ]


@dataclass(frozen=True, slots=True)
class JulieSettings:
    """Defaults of ``reference.conf``, unless the properties file overrides them."""

    separator: str = "."
    topic_format: str = "default"
    project_format: str = "default"
    optimized: bool = False
    connectors_create_topics: bool = True
    control_center_topics: tuple[str, ...] = ("_confluent-monitoring", "_confluent-command", "_confluent-metrics")


def julie_settings(properties: Mapping[str, str]) -> JulieSettings:
    """The settings; raises :class:`SourceError` for settings that this conversion does not support."""
    for name in _REFUSED:
        if properties.get(name, "").strip("[] "):
            raise SourceError(f"{name} is set: remove it, and give the Cluster a scope instead")
    if properties.get("topology.dlq.topics.generate", "").lower() == "true":
        raise SourceError("topology.dlq.topics.generate is set: add those topics to the topology, and turn it off")
    provider = properties.get("topology.builder.access.control.class", "SimpleAclsProvider")
    if not provider.endswith("SimpleAclsProvider"):
        raise SourceError(f"topology.builder.access.control.class is {provider}: only ACLs can be converted")
    default = JulieSettings()
    return JulieSettings(
        properties.get("topology.topic.prefix.separator", default.separator),
        properties.get("topology.topic.prefix.format", default.topic_format),
        properties.get("topology.project.prefix.format", default.project_format),
        properties.get("topology.acls.optimized", "false").lower() == "true",
        properties.get("topology.connector.allow.topic.create", "true").lower() == "true",
        tuple(
            properties.get(f"confluent.{part}.topic", name)
            for part, name in zip(("monitoring", "command", "metrics"), default.control_center_topics, strict=True)
        ),
    )


def filled(template: str, values: Mapping[str, str]) -> str:
    """Replace ``{{ name }}``, unknown names by nothing, as Jinja does; raises :class:`SourceError` for other Jinja."""
    text = _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), template)
    if "{{" in text or "{%" in text:
        raise SourceError(f"{template!r}: only plain {{{{ names }}}} can be converted")
    return text
