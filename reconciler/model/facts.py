"""Whose word the facts of a cluster are: what no Kafka API exposes, somebody has to state.

The one who proposes a change may also write the manifests by which it is judged, so a fact of theirs is a claim. The
operator's file is out of their reach.
"""

from enum import StrEnum
from typing import Final

from reconciler.dataclass import dataclass


class FactSource(StrEnum):
    """Who states a fact: the operator's connections file, the manifests alone, or nobody.

    ``FLAVOR``: nobody states it, and the vendor documents it as a default that a user can change.
    """

    OPERATOR = "operator"
    MANIFESTS = "manifests"
    NOBODY = "nobody"
    FLAVOR = "flavor"

    @property
    def is_claim(self) -> bool:
        """Whether the fact may be otherwise, so that access is computed with and without it."""
        return self in (FactSource.MANIFESTS, FactSource.FLAVOR)


@dataclass(frozen=True, slots=True)
class FactSources:
    """Who states each fact of a cluster. The operator's word stands wherever it is given; manifests may repeat it."""

    principal: FactSource = FactSource.NOBODY
    super_users: FactSource = FactSource.NOBODY
    default_allow: FactSource = FactSource.NOBODY
    kafka_version: FactSource = FactSource.NOBODY
    inter_broker_principals: FactSource = FactSource.NOBODY
    brokers: FactSource = FactSource.NOBODY
    barrier: FactSource = FactSource.NOBODY
    protect: FactSource = FactSource.NOBODY
    limits: FactSource = FactSource.NOBODY
    acknowledge: FactSource = FactSource.NOBODY
    flavor: FactSource = FactSource.NOBODY


NO_SOURCES: Final = FactSources()
