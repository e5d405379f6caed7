"""The kinds of resources of a Kafka cluster: one module for each."""

from typing import Final

from reconciler.adapters.kafka.kinds import acl, quota, topic
from reconciler.adapters.kafka.kinds.interface import Kind
from reconciler.model import kind_finder

__all__ = ["KINDS", "Kind", "kind_of"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, quota)
kind_of: Final = kind_finder(KINDS)
