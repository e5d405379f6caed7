"""What other tools keep, as the bindings and topics that they would create: the sources of ``reconciler convert``."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from reconciler.adapters.peers.confluent import read_confluent
from reconciler.adapters.peers.conversion import Conversion, Converted, Remark
from reconciler.adapters.peers.files import PeerFiles, peer_files
from reconciler.adapters.peers.jikkou import read_jikkou
from reconciler.adapters.peers.julie import read_julie
from reconciler.adapters.peers.kafka_acls import read_kafka_acls
from reconciler.adapters.peers.kafka_gitops import read_kafka_gitops
from reconciler.adapters.peers.strimzi import read_strimzi
from reconciler.adapters.peers.terraform import read_terraform
from reconciler.adapters.peers.tree import SourceError

#: How to read each format, by the name that ``--from`` takes.
FORMATS: Final[Mapping[str, Callable[[PeerFiles, Conversion], None]]] = MappingProxyType(
    {
        "kafka-gitops": read_kafka_gitops,
        "julie": read_julie,
        "jikkou": read_jikkou,
        "strimzi": read_strimzi,
        "terraform": read_terraform,
        "kafka-acls": read_kafka_acls,
        "confluent": read_confluent,
    }
)

__all__ = ["FORMATS", "Conversion", "Converted", "PeerFiles", "Remark", "SourceError", "convert", "peer_files"]


def convert(source_format: str, files: PeerFiles) -> Converted:
    """Everything that ``files`` hold in that format; raises :class:`SourceError` where they cannot be read."""
    conversion = Conversion()
    FORMATS[source_format](files, conversion)
    return conversion.result()
