"""What the manifests want of one cluster, each wish with the place that declares it."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.model.acl import AclBinding
from reconciler.model.frozen import FrozenMap
from reconciler.model.origin import Origin
from reconciler.model.quota import ClientQuota, QuotaEntity
from reconciler.model.topic import Topic


class Declaration(NamedTuple):
    """Where and why a binding is declared; ``expires`` is the last day on which it is wanted."""

    origin: Origin
    reason: str | None = None
    ticket: str | None = None
    expires: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class DesiredTopic:
    """A declared topic; with ``absent`` the manifests state that it must not exist.

    In ``topic``, partitions and replication factor are ``None`` where the manifests leave them to the broker.
    ``labels`` are the topic's own; those of its document count less, where something selects topics by labels.
    """

    topic: Topic
    origin: Origin
    labels: Mapping[str, str] = field(default_factory=FrozenMap)
    absent: bool = False
    document_labels: Mapping[str, str] = field(default_factory=FrozenMap)

    @property
    def all_labels(self) -> Mapping[str, str]:
        """Its own labels and those of its document."""
        return FrozenMap({**self.document_labels, **self.labels})


@dataclass(frozen=True, slots=True)
class DesiredQuota:
    """A declared quota; with ``absent`` the manifests state that the entity must have none."""

    quota: ClientQuota
    declaration: Declaration
    absent: bool = False


@dataclass(frozen=True, slots=True)
class DesiredState:
    """What is declared for one cluster on one day; ``expired`` bindings and quotas are wanted no longer."""

    bindings: Mapping[AclBinding, Declaration] = field(default_factory=dict)
    topics: Mapping[str, DesiredTopic] = field(default_factory=dict)
    expired: Mapping[AclBinding, Declaration] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, DesiredQuota] = field(default_factory=dict)
    expired_quotas: Mapping[QuotaEntity, DesiredQuota] = field(default_factory=dict)
