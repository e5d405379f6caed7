"""Whose word the facts of a cluster are: what no Kafka API exposes, somebody has to state.

The one who proposes a change may also write the manifests by which it is judged, so a fact of theirs is a claim. The
operator's file is out of their reach.
"""

from enum import StrEnum
from typing import Annotated, Final

from reconciler.dataclass import dataclass
from reconciler.model.says import REQUIRED, Says


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


def _says(words: str, name: str = "") -> Says:
    return Says(words, "operator", name=name, default=REQUIRED)


@dataclass(frozen=True, slots=True)
class FactSources:
    """Who states each fact of a cluster. The operator's word stands wherever it is given; manifests may repeat it."""

    principal: Annotated[FactSource, _says("Of our own principal.")] = FactSource.NOBODY
    super_users: Annotated[FactSource, _says("Of the super users.")] = FactSource.NOBODY
    default_allow: Annotated[FactSource, _says("Of the setting in terms.", "allowEveryoneIfNoAclFound")] = (
        FactSource.NOBODY
    )
    kafka_version: Annotated[
        FactSource, Says("Of the stated Kafka release; absent where nobody states it.", "operator", omit=True)
    ] = FactSource.NOBODY
    inter_broker_principals: Annotated[FactSource, _says("Of the brokers' principals; manifests may add some.")] = (
        FactSource.NOBODY
    )
    brokers: Annotated[FactSource, _says("Of the brokers in terms.")] = FactSource.NOBODY
    barrier: Annotated[FactSource, _says("Of how terms wait between phases.")] = FactSource.NOBODY
    protect: Annotated[FactSource, _says("Of what is protected; manifests may add to it.")] = FactSource.NOBODY
    limits: Annotated[FactSource, _says("Of the limits in terms; manifests may tighten them.")] = FactSource.NOBODY
    acknowledge: Annotated[FactSource, _says("Of the acknowledgements that were not given on the command line.")] = (
        FactSource.NOBODY
    )
    flavor: Annotated[FactSource, Says("Of the flavor in terms.", "operator", omit=True)] = FactSource.NOBODY


NO_SOURCES: Final = FactSources()
