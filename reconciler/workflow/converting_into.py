"""Another tool's files into manifests that are there: what they lack is added, and nothing of theirs changes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from reconciler.dataclass import dataclass
from reconciler.edit import Book, read
from reconciler.model import DesiredState
from reconciler.workflow.clusters import split_cluster
from reconciler.workflow.converting import ConversionSource, ConversionStyle, Converted, convert_source
from reconciler.workflow.editing import ManifestEdit, edit
from reconciler.workflow.manifests import sound
from reconciler.workflow.options import ConnectionOptions
from reconciler.workflow.promise import gain_of
from reconciler.workflow.reasons import AmbiguousClusterError, RequestError

#: The name of the converted manifests' only cluster, before they are those of another one.
_SOURCE = "source"
DEFAULT_STYLE = ConversionStyle()
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ConvertedInto:
    """What was converted, and the edit that adds it; ``kept`` are topics and the like that are declared otherwise."""

    converted: Converted
    edit: ManifestEdit
    kept: tuple[str, ...]


def convert_into(
    source: ConversionSource,
    path: str,
    cluster: str | None,
    style: ConversionStyle = DEFAULT_STYLE,
    connection: ConnectionOptions = ConnectionOptions(),
) -> ConvertedInto:
    """Add to the manifests below ``path`` what the source creates on ``cluster``; nothing is written.

    What they declare stays as it is. Raises a :class:`WorkflowError`.
    """
    converted = convert_source(source, _SOURCE, style)
    with sound():
        added = read(converted.files).desired[_SOURCE]
    kept: list[str] = []

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        names = list(book.clusters)
        name, _ = split_cluster(cluster)
        if name is None and len(names) != 1:
            raise AmbiguousClusterError(names, snapshot=False)
        name = name or names[0]
        if name not in book.clusters:
            raise RequestError(f"there is no cluster {name!r}", f"declared are {', '.join(names) or 'none'}")
        state = book.desired[name]
        # A topic that is declared already keeps its own words: the two may differ on purpose.
        kept.extend(
            f"topic {one}" for one, wish in added.topics.items() if one in state.topics and _differ(state, wish, one)
        )
        listed = {kind: _both(state.listed.get(kind, {}), items) for kind, items in added.listed.items()}
        bindings, topics = _both(state.bindings, added.bindings), _both(state.topics, added.topics)
        more = replace(state, bindings=bindings, topics=topics, listed={**state.listed, **listed})
        return {**book.desired, name: more}

    promise = gain_of(*sorted({one.entry.principal for one in added.bindings}))
    return ConvertedInto(converted, edit(path, wanted, promise, connection=connection), tuple(kept))


def _differ(state: DesiredState, wish: Any, name: str) -> bool:
    there = state.topics[name]
    return bool((there.topic, there.absent) != (wish.topic, wish.absent))


def _both(there: Mapping[K, V], added: Mapping[K, V]) -> dict[K, V]:
    """What is there, and of the other what is not."""
    return {**added, **there}
