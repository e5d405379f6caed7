"""The formats of ``convert --from``, and the reader of each: cheap to import, so that the command line lists them."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from reconciler.system import plugins

if TYPE_CHECKING:
    from reconciler.parts.convert.conversion import Conversion
    from reconciler.parts.convert.files import SourceFiles

    Reader = Callable[[SourceFiles, Conversion], None]

#: Entry points of other packages' readers: functions as ``Reader``.
GROUP: Final = "reconciler.converters"
#: Instead of a format: the files say which.
AUTO: Final = "auto"


class SourceFormat(NamedTuple):
    """What a source of the format holds, and what tells its clusters apart, ``None`` if it is always one cluster."""

    holds: str
    clusters: str | None = None


#: In the order in which they are offered. The reader of ``a-b`` is ``read_a_b`` in the module ``a_b``.
FORMATS: Final[Mapping[str, SourceFormat]] = MappingProxyType(
    {
        "kafka-gitops": SourceFormat("state.yaml"),
        "julie": SourceFormat("topologies"),
        "jikkou": SourceFormat("resources"),
        "strimzi": SourceFormat("KafkaUser and KafkaTopic", "Strimzi label"),
        "terraform": SourceFormat("states and .tf files", "Terraform provider"),
        "kafka-acls": SourceFormat("the output of kafka-acls --list"),
        "kafka-acls-script": SourceFormat("scripts and Kubernetes Jobs that call Kafka's tools"),
        "kafka-describe": SourceFormat("the output of kafka-topics and kafka-configs --describe"),
        "kafka-security-manager": SourceFormat("CSV files"),
        "confluent": SourceFormat("exports of its CLI and REST API", "Confluent id"),
        "confluent-operator": SourceFormat("KafkaTopic of Confluent for Kubernetes", "kafkaClusterRef"),
        "redpanda": SourceFormat("rpk's output, and resources of its operator"),
        "crossplane": SourceFormat("AccessControlList, Topic and User of provider-kafka", "providerConfigRef"),
        "ansible": SourceFormat("tasks with kafka_acls, kafka_topics, kafka_quotas and kafka_users"),
        "topicctl": SourceFormat("topics and ACLs", "topicctl cluster"),
        "kdef": SourceFormat("definitions"),
    }
)
#: Those whose files can be of several clusters.
OF_CLUSTERS: Final = tuple(name for name, form in FORMATS.items() if form.clusters is not None)


def reader(source_format: str) -> "Reader":
    """The function that reads a format: ours, else that of another package, which ``--from`` has to name.

    Raises ``KeyError`` for a name that is none, and ``PluginError`` where that of another package cannot be used.
    """
    if source_format not in FORMATS:
        other: Reader = plugins.load(GROUP, source_format)
        return other
    stem = source_format.replace("-", "_")
    found: Reader = getattr(import_module(f"reconciler.parts.convert.{stem}"), f"read_{stem}")
    return found


def recognised_formats() -> str:
    """``kafka-gitops (state.yaml), julie (topologies)`` and so on, for messages."""
    return ", ".join(f"{name} ({form.holds})" for name, form in FORMATS.items())
