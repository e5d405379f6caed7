"""Convert the files of other tools to the bindings and topics that they would create (``reconciler convert``)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from reconciler.adapters.converters.confluent import read_confluent
from reconciler.adapters.converters.conversion import Conversion, ConversionResult, Remark
from reconciler.adapters.converters.files import SourceFiles, source_files
from reconciler.adapters.converters.jikkou import read_jikkou
from reconciler.adapters.converters.julie import read_julie
from reconciler.adapters.converters.kafka_acls import read_kafka_acls
from reconciler.adapters.converters.kafka_acls_script import read_kafka_acls_script
from reconciler.adapters.converters.kafka_gitops import read_kafka_gitops
from reconciler.adapters.converters.kdef import read_kdef
from reconciler.adapters.converters.redpanda import read_redpanda
from reconciler.adapters.converters.strimzi import read_strimzi
from reconciler.adapters.converters.terraform import read_terraform
from reconciler.adapters.converters.topicctl import read_topicctl
from reconciler.adapters.converters.tree import SourceError

#: The reader of each format, by its name in ``--from``.
FORMATS: Final[Mapping[str, Callable[[SourceFiles, Conversion], None]]] = MappingProxyType(
    {
        "kafka-gitops": read_kafka_gitops,
        "julie": read_julie,
        "jikkou": read_jikkou,
        "strimzi": read_strimzi,
        "terraform": read_terraform,
        "kafka-acls": read_kafka_acls,
        "kafka-acls-script": read_kafka_acls_script,
        "confluent": read_confluent,
        "redpanda": read_redpanda,
        "topicctl": read_topicctl,
        "kdef": read_kdef,
    }
)

__all__ = [
    "FORMATS",
    "Conversion",
    "ConversionResult",
    "Remark",
    "SourceError",
    "SourceFiles",
    "convert",
    "source_files",
]


def convert(source_format: str, files: SourceFiles) -> ConversionResult:
    """Convert ``files`` of that format; raises :class:`SourceError` if they cannot be read."""
    conversion = Conversion()
    FORMATS[source_format](files, conversion)
    for tree in files.parsed():
        conversion.name_leftovers(tree)
    conversion.name_nothing(source_format)
    return conversion.result()
