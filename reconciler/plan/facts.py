"""What somebody states about a cluster and no API tells, and how far a plan may rely on it."""

from typing import Annotated, Final

from reconciler.codec import REQUIRED, Says
from reconciler.codec.scope import SELECTORS
from reconciler.codec.values import KAFKA_VERSION
from reconciler.dataclass import dataclass
from reconciler.model import NO_SOURCES, FactSource, FactSources, Selector


@dataclass(frozen=True, slots=True)
class Facts:
    """Principals with a part in Kafka's own rules, what must not change, and who states each fact.

    A fact that only manifests state is a claim of whoever proposes the change, so no change may look smaller for it:
    access is computed both with and without it. A plan made in Python without ``sources`` takes its facts as known.
    ``kafka_version`` is as stated; a plan goes by what the cluster tells, if it does (:class:`ClusterState`).
    """

    principal: Annotated[
        str | None,
        Says("The principal that plans and applies; null: not stated.", "User:reconciler", default=REQUIRED),
    ] = None
    inter_broker_principals: Annotated[
        tuple[str, ...], Says("The principals that the brokers connect to each other as.", default=REQUIRED)
    ] = ()
    super_users: Annotated[tuple[str, ...], Says("The brokers' super.users, as stated.", default=REQUIRED)] = ()
    protect: Annotated[
        tuple[Selector, ...],
        SELECTORS,
        Says("Names and principals whose access no plan may change.", default=REQUIRED),
    ] = ()
    sources: Annotated[
        FactSources,
        Says("Who states each: the operator's file, the manifests alone, or nobody.", default=REQUIRED),
    ] = NO_SOURCES
    kafka_version: Annotated[
        tuple[int, int] | None,
        KAFKA_VERSION,
        Says(
            "The Kafka release as stated; absent where nobody states it. What the cluster tells counts first.",
            "4.4",
            omit=True,
            before="sources",
        ),
    ] = None

    @property
    def established_super_users(self) -> tuple[str, ...]:
        """The super users on which a guard may rely."""
        return () if self.sources.super_users is FactSource.MANIFESTS else self.super_users

    def established_default_allow(self, default_allow: bool | None) -> bool | None:
        """The stated ``allow.everyone.if.no.acl.found``, ``None`` (unknown) where it is a claim."""
        return None if self.sources.default_allow.is_claim else default_allow


NO_FACTS: Final = Facts()
