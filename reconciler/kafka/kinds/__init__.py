"""The kinds of resources of a Kafka cluster: one module for each."""

from typing import Final

from reconciler.kafka.kinds import acl, topic
from reconciler.kafka.kinds.interface import Kind, ListedKind
from reconciler.model.kinds import kind_finder, listed_types

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *map(ListedKind, listed_types()))
kind_of: Final = kind_finder(KINDS)
