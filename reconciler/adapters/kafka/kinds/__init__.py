"""The kinds of resources of a Kafka cluster: one module for each."""

from importlib import import_module
from typing import Final

from reconciler.adapters.kafka.kinds import acl, topic
from reconciler.adapters.kafka.kinds.interface import Kind
from reconciler.model import kind_finder
from reconciler.model.kinds import LISTED_KINDS

__all__ = ["KINDS", "Kind", "kind_of"]

KINDS: Final[tuple[Kind, ...]] = (acl, topic, *(import_module(f"{__name__}.{name}").KIND for name in LISTED_KINDS))
kind_of: Final = kind_finder(KINDS)
