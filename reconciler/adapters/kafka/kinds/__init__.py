"""The kinds of resources of a Kafka cluster: one module for each."""

from typing import Final

from reconciler.adapters.kafka.kinds import acl, topic
from reconciler.adapters.kafka.kinds.interface import Kind
from reconciler.model import kind_finder, listed_kinds

__all__ = ["KINDS", "Kind", "kind_of"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *listed_kinds(__name__))
kind_of: Final = kind_finder(KINDS)
