"""Where something new belongs: a document that is there, the file of the team that owns it, or a file of its own."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import PurePosixPath
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.edit.pages import Book, Page
from reconciler.edit.writing import Item, Written, quoted
from reconciler.manifest import OwnerDeclaration
from reconciler.model import ResourcePattern
from reconciler.report.export.file_names import stem

_GLOB: Final = "*?["


class NoPlaceError(Exception):
    """Nothing in the manifests is about exactly these clusters, and no labels tell them from the others."""


@dataclass(slots=True)
class NewDocument:
    """A document to be written at the end of a file, which may be new: fields of its spec, and a list of items."""

    path: str
    kind: str
    name: str
    head: dict[str, Written]
    key: str
    items: list[Item] = field(default_factory=list)


def match_labels(book: Book, clusters: frozenset[str]) -> dict[str, Written]:
    """The field ``clusters`` of a document for these clusters only; none where it is for all of them."""
    if clusters == book.clusters.keys():
        return {}
    labels = [set(book.clusters[name].labels.items()) for name in sorted(clusters)]
    common = sorted(set.intersection(*labels))
    for chosen in (*([one] for one in common), common):
        found = {name for name, one in book.clusters.items() if set(chosen) <= set(one.labels.items())}
        if chosen and found == clusters:
            return {"clusters": {"matchLabels": {key: quoted(text) for key, text in chosen}}}
    raise NoPlaceError(f"no labels tell {', '.join(sorted(clusters))} from the other clusters")


def teams(
    owners: Sequence[OwnerDeclaration], principal: str | None, patterns: Iterable[ResourcePattern]
) -> frozenset[str]:
    """The teams in whose files something belongs: those that own the principal, else those that own a resource."""
    own = {one.team for one in owners if principal and one.principals and one.principals.selects_principal(principal)}
    named = list(patterns)
    theirs = {one.team for one in owners for own in one.patterns for pattern in named if own.contains(pattern)}
    return frozenset(own or theirs)


def fits(owners: Sequence[OwnerDeclaration], path: str, belonging: frozenset[str]) -> bool:
    """Whether a file is one of these teams; of no team, where there are none."""
    holding = {one.team for one in owners if one.files_of([path])}
    return bool(holding & belonging) if belonging else not holding


def best(pages: Iterable[Page], owners: Sequence[OwnerDeclaration], belonging: frozenset[str]) -> Page | None:
    """The first document in a file that fits, else the first one."""
    found = list(pages)
    return next((page for page in found if fits(owners, page.path, belonging)), found[0] if found else None)


def new_path(book: Book, kind: str, title: str, owners: Sequence[OwnerDeclaration], belonging: frozenset[str]) -> str:
    """The file for a document of this kind: one of the team's, that of all its kind, or a new one beside them."""
    files = [page.path for page in book.of(kind)]
    fitting = [path for path in files if fits(owners, path, belonging)]
    if belonging:
        of_team = [path for path in sorted(book.manifests.sources) if fits(owners, path, belonging)]
        if fitting or of_team:
            return min(fitting or of_team)
        globs = sorted(glob for one in owners if one.team in belonging for glob in one.files)
        for glob in globs:
            path = _within(glob, title)
            if fits(owners, path, belonging):
                return path
    if len(set(fitting)) == 1 and len(fitting) > 1:
        return fitting[0]  # one file holds all of them
    folder = Counter(str(PurePosixPath(path).parent) for path in fitting).most_common(1)
    base = folder[0][0] if folder else "."
    path = str(PurePosixPath(base) / f"{title}.yaml")
    return path if fits(owners, path, belonging) else f"{title}.yaml"


def _within(glob: str, title: str) -> str:
    """A path that a glob may match: ``teams/payments/**`` has ``teams/payments/title.yaml``."""
    if not any(mark in glob for mark in _GLOB):
        return glob
    parts = []
    for part in PurePosixPath(glob).parts:
        if any(mark in part for mark in _GLOB):
            break
        parts.append(part)
    return str(PurePosixPath(*parts, f"{title}.yaml"))


def new_name(book: Book, kind: str, title: str, taken: Iterable[str] = ()) -> str:
    """A name that no document of the kind has."""
    used = {page.heading.name for page in book.of(kind)} | set(taken)
    wanted = stem(title)
    return next(name for number in range(1, len(used) + 2) if (name := _numbered(wanted, number)) not in used)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"
