"""Manifests from what another tool keeps, proven to declare what that tool would create. No cluster is contacted."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, TypeVar

from reconciler.app.export import NO_BROKER, facts_to_add, proven_draft
from reconciler.app.manifests import sound
from reconciler.app.reasons import AmbiguousClusterError, RequestError, WorkflowError
from reconciler.app.session import split_cluster
from reconciler.dataclass import dataclass
from reconciler.manifest.write.kinds.interface import Inexpressible
from reconciler.manifest.write.manifests import (
    DRAFT_FILE,
    Export,
    Layout,
    cluster_document,
    differences,
    export_manifests,
    places,
)
from reconciler.manifest.write.pages import Book, read
from reconciler.manifest.write.text import ExportStyle, comment
from reconciler.model.desired import DesiredState
from reconciler.model.frozen import FrozenMap
from reconciler.model.kinds.scram_user import ScramUser
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.parts.convert.conversion import Remark, Sign
from reconciler.parts.convert.files import SourceError, source_files
from reconciler.parts.convert.recognition import AUTO, convert
from reconciler.parts.edit.app.editing import ManifestEdit, edit, gain_of

_MOST_NOTES: Final = 6
#: The place of what has none.
_NO_PLACE: Final = "the source"
_LONGEST_NOTE: Final = 160
LEFT_FILE: Final = "not-converted.yaml"
_STUB: Final = f"""\
# Say in a connections file how to reach the cluster, and state what no Kafka API exposes (docs/reviewing.md, Facts):
{facts_to_add()}"""


@dataclass(frozen=True, slots=True)
class Converted:
    """Manifests by path that declare so many ``bindings`` and ``topics``, and of ``listed`` kinds so many by ``KIND``.

    ``skipped`` is what the source creates and no manifest declares; it is also in the file ``LEFT_FILE``. ``unmanaged``
    is what the source has and this tool does not manage. ``more_roles`` counts rules that would be roles with
    ``implied``. ``signs`` say how formats were recognised, where none was named.
    """

    files: Mapping[str, str]
    bindings: int
    topics: int
    skipped: tuple[Remark, ...]
    unmanaged: tuple[Remark, ...]
    more_roles: int = 0
    listed: Mapping[str, int] = field(default_factory=FrozenMap)
    signs: tuple[Sign, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversionSource:
    """What to convert: the ``format`` and the ``path`` of a file or directory, ``-`` for ``stdin``.

    With the format ``auto``, each file is converted as what it is recognised as.
    ``cluster`` says which one is meant where a source has several, ``config`` is JulieOps' properties file.
    """

    format: str
    path: str
    stdin: str = ""
    cluster: str | None = None
    config: str | None = None


@dataclass(frozen=True, slots=True)
class ConversionStyle:
    """With ``roles``, built-in roles where they are equivalent; with ``implied``, also where they add DESCRIBE only."""

    roles: bool = True
    implied: bool = False
    layout: Layout = "principal"


def convert_source(source: ConversionSource, name: str, style: ConversionStyle = ConversionStyle()) -> Converted:
    """The source as manifests of a cluster called ``name``.

    The manifests are read back and compared with the source. Raises a :class:`WorkflowError` if it cannot be read.
    """
    try:
        files = source_files(source.path, config=source.config, cluster=source.cluster, stdin=source.stdin)
        conversion = convert(source.format, files)
        notes = {item: _note(files.comments_above(origin)) for item, origin in conversion.origins.items()}
        tops = {item: _note(files.comments_on_top(origin)) for item, origin in conversion.origins.items()}
    except SourceError as error:
        raise WorkflowError(str(error)) from error
    listings = {kind: Listing(items) for kind, items in conversion.listed.items()}
    state = ClusterState(name, conversion.bindings, conversion.topics, listings=listings)
    formats = [sign.format for sign in conversion.signs] if source.format == AUTO else [source.format]
    heading = f"Converted from {' and '.join(formats) or 'nothing'}."
    where = places(style.layout, state, conversion.origins)
    export = export_manifests(
        state,
        heading=heading,
        style=ExportStyle(
            style.roles,
            style.implied,
            places=where,
            notes=notes,
            origins=conversion.origins,
            tops=tops,
            together=True,
            # Who edits a role decides for all its teams: the draft of an Ownership has no place for that.
            applications=style.roles and style.layout != "team",
            absent=conversion.absent,
            absent_listed={ScramUser.KIND: conversion.absent_users},
        ),
    )
    # Writing and reading are two programs: what one leaves out, the other finds here and not after an apply.
    stub = _proven_stub(export, state, name)
    of_topics = {topic: conversion.origins.get(topic.name, _NO_PLACE) for topic in state.topics.values()}
    at: dict[Any, str] = {**conversion.origins, **of_topics}
    skipped = (*conversion.skipped, *(_remark(item, at) for item in export.inexpressible))
    manifests = {"cluster.yaml": stub, **export.files}
    if style.layout == "team" and where:
        manifests[DRAFT_FILE] = proven_draft(state, where, manifests)
    if skipped:
        lines = [heading, "The source says this, and no manifest here does:", *(f"  {item}" for item in skipped)]
        manifests[LEFT_FILE] = "".join(f"{comment(line)}\n" for line in lines)
    omitted = {item.item for item in export.inexpressible}
    topics = len({*state.topics.values()} - omitted)
    listed = {kind: len(items - omitted) for kind, items in conversion.listed.items()}
    return Converted(
        manifests,
        len(state.bindings - omitted),
        topics,
        skipped,
        conversion.unmanaged,
        _more_roles(state, export),
        listed,
        conversion.signs,
    )


def _remark(item: Inexpressible, places: Mapping[Any, str]) -> Remark:
    """What no manifest can say, with its place in the source if that is known."""
    return Remark(places.get(item.item, _NO_PLACE), item.subject, item.reason)


def _more_roles(state: ClusterState, export: Export) -> int:
    """How many roles more there would be if they could add what is implied."""
    style = export.style
    if style.implied or not style.roles:
        return 0
    other = export_manifests(state, style=replace(style, implied=True))
    return sum(text.count("- role: ") for text in other.files.values()) - sum(
        text.count("- role: ") for text in export.files.values()
    )


def _note(comments: Sequence[str]) -> tuple[str, ...]:
    """What the source says about it in a comment."""
    return tuple(text[:_LONGEST_NOTE] for text in comments[-_MOST_NOTES:])


def _proven_stub(export: Export, state: ClusterState, name: str) -> str:
    """The Cluster document to complete; fails if the manifests with it say anything else than the source."""
    try:
        document = cluster_document(name, [NO_BROKER])
        wrong = differences(export, state, {"cluster.yaml": document}, name)
    except ValueError as error:
        raise RequestError(f"the name of the cluster: {error}") from error
    if wrong:
        raise WorkflowError(
            "\n".join(["the manifests do not declare what the source creates: this is a bug", *wrong[:20]])
        )
    return _STUB + document


# Another tool's files into manifests that are there: what they lack is added, and nothing of theirs changes.

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
            f"topic {item}"
            for item, desired_item in added.topics.items()
            if item in state.topics and _differ(state, desired_item, item)
        )
        listed = {kind: _both(state.listed.get(kind, {}), items) for kind, items in added.listed.items()}
        bindings, topics = _both(state.bindings, added.bindings), _both(state.topics, added.topics)
        more = replace(state, bindings=bindings, topics=topics, listed={**state.listed, **listed})
        return {**book.desired, name: more}

    promise = gain_of(*sorted({binding.entry.principal for binding in added.bindings}))
    return ConvertedInto(converted, edit(path, wanted, promise), tuple(kept))


def _differ(state: DesiredState, desired_item: Any, name: str) -> bool:
    there = state.topics[name]
    return bool((there.topic, there.absent) != (desired_item.topic, desired_item.absent))


def _both(there: Mapping[K, V], added: Mapping[K, V]) -> dict[K, V]:
    """What is there, and of the other what is not."""
    return {**added, **there}
