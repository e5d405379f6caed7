"""What somebody states about a cluster and no API tells, and how far a plan may rely on it."""

from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model import NO_SOURCES, FactSource, FactSources, Selector


@dataclass(frozen=True, slots=True)
class Facts:
    """Principals with a part in Kafka's own rules, what must not change, and who states each fact.

    A fact that only manifests state is a claim of whoever proposes the change, so no change may look smaller for it:
    access is computed both with and without it. A plan made in Python without ``sources`` takes its facts as known.
    ``kafka_version`` is as stated; a plan goes by what the cluster tells, if it does (:class:`ClusterState`).
    """

    principal: str | None = None
    inter_broker_principals: tuple[str, ...] = ()
    super_users: tuple[str, ...] = ()
    protect: tuple[Selector, ...] = ()
    sources: FactSources = NO_SOURCES
    kafka_version: tuple[int, int] | None = None

    @property
    def established_super_users(self) -> tuple[str, ...]:
        """The super users on which a guard may rely."""
        return () if self.sources.super_users is FactSource.MANIFESTS else self.super_users

    def established_default_allow(self, default_allow: bool | None) -> bool | None:
        """The stated ``allow.everyone.if.no.acl.found``, ``None`` (unknown) where it is a claim."""
        return None if self.sources.default_allow.is_claim else default_allow


NO_FACTS: Final = Facts()
