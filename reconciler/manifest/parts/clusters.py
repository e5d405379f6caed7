"""A declared cluster, as the planner, the adapters and the other kinds see it."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from reconciler.manifest.parts.document import Heading
from reconciler.manifest.parts.topic_defaults import Layer
from reconciler.manifest.parts.waivers import LintWaiver
from reconciler.model import FrozenMap, Origin, Scope, Selector

DEFAULT_BARRIER_WAIT: Final = 2.0
DEFAULT_BARRIER_TIMEOUT: Final = 30.0


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A guard that may be passed for one named object, up to and including the day ``expires``."""

    guard: str
    object: str
    reason: str
    expires: datetime.date | None
    origin: Origin


class Limits(NamedTuple):
    """How much one plan may delete; ``None`` where nothing is said."""

    max_deletes: int | None = None
    max_delete_percent: int | None = None


NO_LIMITS: Final = Limits()


class ProbeDeclaration(NamedTuple):
    """As whom every broker is asked what it enforces; ``client`` is as written, ``seconds`` how long they may take."""

    principal: str
    client: Mapping[str, str] = FrozenMap()
    seconds: float = DEFAULT_BARRIER_TIMEOUT


@dataclass(frozen=True, slots=True)
class ClusterDeclaration:
    """One declared cluster. ``client`` values are as written: ``${env:…}`` is not read here.

    ``allow_everyone_if_no_acl_found`` is ``None`` where unknown; ``barrier_wait`` is in seconds.
    """

    name: str
    origin: Origin
    labels: Mapping[str, str] = FrozenMap()
    bootstrap_servers: tuple[str, ...] = ()
    client: Mapping[str, str] = FrozenMap()
    client_origins: Mapping[str, Origin] = FrozenMap()
    principal: str | None = None
    super_users: tuple[str, ...] = ()
    allow_everyone_if_no_acl_found: bool | None = None
    scope: Scope = Scope()
    limits: Limits = NO_LIMITS
    barrier_wait: float = DEFAULT_BARRIER_WAIT
    prune_topics: bool = False
    ignore_configs: tuple[str, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()
    vars: Mapping[str, str] = FrozenMap()
    protect: tuple[Selector, ...] = ()
    inter_broker_principals: tuple[str, ...] = ()
    waivers: tuple[LintWaiver, ...] = ()
    brokers: tuple[int, ...] = ()
    probe: ProbeDeclaration | None = None
    topic_defaults: tuple[Layer, ...] = ()
    prune_quotas: bool = False

    @property
    def heading(self) -> Heading:
        """Its document's heading."""
        return Heading("Cluster", self.name, self.origin, self.labels)
