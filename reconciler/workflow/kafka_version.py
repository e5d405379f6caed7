"""Whose word on the Kafka version of a cluster counts: its own, then the operator's; never the manifests' alone."""

from typing import Final

from reconciler.manifest import ClusterDeclaration
from reconciler.model import FactSource
from reconciler.model.addresses import RANGES_SINCE
from reconciler.model.kafka_release import NEWEST_RELEASE, KafkaVersion, known_release, release_text
from reconciler.workflow.reasons import WorkflowError

#: The release by whose rules declarations are judged where no cluster is asked. It differs from those before it in
#: ranges of hosts alone, and a plan creates none of them where the cluster is older.
DECLARED_VERSION: Final[KafkaVersion] = RANGES_SINCE


def version_of(
    told: tuple[int, int] | None, gap: str | None, declaration: ClusterDeclaration | None
) -> tuple[int, int] | None:
    """The release whose rules a cluster or a snapshot follows; ``None`` where it is not known.

    ``told`` is what it says itself, ``gap`` why that leaves it open. Only where it says nothing does the operator's
    word count. The manifests' does not settle it, for whoever proposes a change would choose the rules that judge it:
    unknown means judged both ways. Raises :class:`WorkflowError` where somebody states another release than it says.
    """
    stated = declaration.kafka_version if declaration else None
    if declaration is None or stated is None:
        return told
    # Where guardrails state another one than the manifests, it is nobody's word: it judges declarations alone.
    if told is not None and told != stated and declaration.sources.kafka_version is not FactSource.NOBODY:
        place = declaration.fact_origins.get("kafkaVersion")
        who = (
            "the operator's file says"
            if declaration.sources.kafka_version is FactSource.OPERATOR
            else "the manifests say"
        )
        raise WorkflowError(
            f"{who} that cluster {declaration.name} runs Kafka {release_text(stated)}, and it tells that it runs "
            f"{release_text(told)}",
            f"correct or remove kafkaVersion{f' at {place}' if place else ''}",
        )
    settles = told is None and gap is None and declaration.sources.kafka_version is FactSource.OPERATOR
    return stated if settles else told


def declared_version(declaration: ClusterDeclaration | None) -> KafkaVersion:
    """The release by whose rules what is only declared for a cluster is judged: its stated one, whoever states it."""
    stated = declaration.kafka_version if declaration else None
    return DECLARED_VERSION if stated is None else stated


def version_doubt(told: tuple[int, int] | None, gap: str | None) -> str | None:
    """Why the rules of a cluster that tells its version are not known all the same; ``None`` if they are."""
    if gap is None and told is not None and known_release(told) is None:
        return f"it runs {release_text(told)}, and {release_text(NEWEST_RELEASE)} is the newest known"
    return gap
