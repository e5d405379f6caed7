"""The editor of manifests, and what an edit has to prove.

The editor: manifests as they are, what they are to declare, and the texts that declare exactly that.

It works by proposal and proof. Each kind removes what declares too much and writes what is missing; then the result is
read like any manifests and compared with what is wanted by the comparison that plans use. Whatever does not come out
as wanted is not written.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from reconciler.codec.kinds import LISTED
from reconciler.manifest.read.findings import MappingNode
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.write.edits import KINDS
from reconciler.manifest.write.edits.interface import Changes, Wanted
from reconciler.manifest.write.pages import Book, NewDocument, NoPlaceError, Page, read
from reconciler.manifest.write.spans import (
    OverlapError,
    Splice,
    comments,
    document,
    line_break,
    line_start,
    next_line,
    spliced,
)
from reconciler.model.desired import DesiredState
from reconciler.model.listing import Listing
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.plan.diff.compare import compare
from reconciler.plan.difference import DiffRules

# What an edit has to prove: the manifests declare what is wanted, and all that it has no business with is the same.

#: The keys of a spec that the editor writes, by kind of document.
WRITTEN: Final = {kind.DOCUMENT: kind.WRITTEN for kind in KINDS}


def as_live(wanted: DesiredState) -> ClusterState:
    """A cluster that has what is declared."""
    listings = {
        kind: Listing(frozenset(one.item for one in wanted.listed.get(kind, {}).values() if not one.goes))
        for kind in LISTED
    }
    topics = {name: one.topic for name, one in wanted.topics.items() if not one.absent}
    return ClusterState("", frozenset(wanted.bindings), topics, listings=listings)


def differences(after: DesiredState, wanted: DesiredState) -> Iterator[str]:
    """How what is declared differs from what is wanted: by the comparison of plans, then in what that leaves out."""
    rules = DiffRules(prune={Topic.KIND, *LISTED})
    for one, other in ((after, wanted), (wanted, after)):
        found = compare(one, as_live(other), Scope(), rules)
        yield from (f"not as wanted: {change.change}" for change in found.changes)
        yield from (f"not as wanted: {skipped.subject}" for skipped in found.skipped)
    for kind in KINDS:
        told, wish = kind.told(after), kind.told(wanted)
        yield from (f"not as wanted: {key}" for key in sorted({*told, *wish}) if told.get(key) != wish.get(key))


def others_changed(before: Book, after: Book) -> list[str]:
    """Documents of which something changed that no edit may change: kinds, names, labels, clusters, exceptions."""
    old, new = ({page.key: _rest(page) for page in book.pages} for book in (before, after))
    empty = {key for key, rest in old.items() if key[0] in WRITTEN and key not in new}
    added = {key for key in new if key[0] in WRITTEN and key not in old}
    return [
        f"the document {kind} {name} is not the same"
        for kind, name in sorted({*old, *new} - empty - added)
        if old.get((kind, name)) != new.get((kind, name))
    ]


def _rest(page: Page) -> dict[str, object]:
    written = WRITTEN.get(page.heading.kind)
    if written is None:
        return dict(page.root.plain)
    spec = page.root.get("spec")
    kept = (
        {key: text for key, text in spec.plain.items() if key not in written} if isinstance(spec, MappingNode) else {}
    )
    return {**page.root.plain, "spec": kept}


_CONTENT: Final = {kind.DOCUMENT: kind.CONTENT for kind in KINDS}
#: So often is everything looked at once more; two are what any manifest has needed.
_ROUNDS: Final = 4


class EditError(Exception):
    """The manifests cannot be made to declare what is wanted; ``reasons`` say why, and nothing is to be written."""

    def __init__(self, reasons: list[str]) -> None:
        """Keeps the reasons."""
        self.reasons = reasons
        super().__init__("; ".join(reasons))


#: Texts by path; ``None`` for a file that goes.
Texts = Mapping[str, str | None]


def edited(
    texts: Mapping[str, str],
    wanted: Callable[[Book], Wanted],
    proposal: Callable[[Book], Mapping[str, str]] | None = None,
) -> Texts:
    """The files that change, so that the manifests declare what is wanted on every cluster, and nothing else.

    ``wanted`` is asked once, with the manifests as they are, which have to be valid (``ManifestError``). ``proposal``
    may give texts to begin with, which say it better than the editor would; they are as little trusted. Raises
    :class:`EditError` where no edit is proven.
    """
    before = read(texts)
    target = wanted(before)
    try:
        begun = _begun(before, proposal) if proposal is not None else before
        begun_texts = {path: source.text for path, source in begun.manifests.sources.items()}
        after = _steps(begun, begun_texts, target)
        if begun is not before:
            proven(before, read(after), target)
        return changed(texts, after)
    except (NoPlaceError, OverlapError, ManifestError) as error:
        raise EditError(_reasons(error)) from error


def _begun(before: Book, proposal: Callable[[Book], Mapping[str, str]]) -> Book:
    """The manifests as proposed; as they were, where that is not valid."""
    try:
        return read(proposal(before))
    except (ManifestError, OverlapError):
        return before


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> Texts:
    """The files that differ."""
    return {path: after.get(path) for path in sorted({*before, *after}) if before.get(path) != after.get(path)}


def _steps(before: Book, texts: dict[str, str], wanted: Wanted) -> dict[str, str]:
    book = before
    # What goes can uncover something: the owner that a document's defaults name, where a topic named another one.
    for _ in range(_ROUNDS):
        count = 0
        for kind in KINDS:
            for step in (kind.reduce, kind.extend):
                changes = Changes()
                step(book, wanted, changes)
                if changes.splices or changes.documents or changes.gone:
                    texts = applied(book, changes)
                    book = read(texts)
                    count += 1
        if not count:
            break
    tidy = _without(book, _emptied(before, book))
    if tidy != texts:
        texts, book = tidy, read(tidy)
    proven(before, book, wanted)
    return texts


def proven(before: Book, after: Book, wanted: Wanted) -> None:
    """Raises :class:`EditError` unless the manifests declare what is wanted, and their other documents are the same."""
    wrong = [f"{name}: {line}" for name in wanted for line in differences(after.desired[name], wanted[name])]
    wrong += others_changed(before, after)
    if wrong:
        raise EditError(wrong)


def applied(book: Book, changes: Changes) -> dict[str, str]:
    """The texts with what one step changes."""
    for path, cuts in _cuts(book, changes.gone).items():
        changes.splices[path] += cuts
    found = {path: source.text for path, source in book.manifests.sources.items()}
    for path, splices in changes.splices.items():
        found[path] = spliced(found[path], splices)
    for new in changes.documents:
        found[new.path] = _with_document(found.get(new.path, ""), new)
    return found


def _with_document(text: str, new: NewDocument) -> str:
    lines = document(new.kind, new.name, new.head, new.key, new.items)
    newline = line_break(text)
    if not text.strip():
        return text + "".join(line + newline for line in lines)
    end = "" if text.endswith(("\n", "\r")) else newline
    return text + end + "".join(line + newline for line in ("---", *lines))


def _emptied(before: Book, after: Book) -> list[Page]:
    """The documents that an edit has emptied and that hold no comment."""
    full = {page.key for page in before.pages if not _is_empty(page)}
    return [page for page in after.pages if page.key in full and _is_empty(page) and not comments(page.text, page.span)]


def _without(book: Book, gone: list[Page]) -> dict[str, str]:
    """The texts without some documents; without files of which nothing is left."""
    texts = {path: source.text for path, source in book.manifests.sources.items()}
    for path, cuts in _cuts(book, gone).items():
        texts[path] = spliced(texts[path], cuts)
        if not texts[path].strip():
            del texts[path]
    return texts


def _cuts(book: Book, gone: list[Page]) -> dict[str, list[Splice]]:
    """What removes documents from their files; their comments stay where they were."""
    found: dict[str, list[Splice]] = {}
    for page in gone:
        pages = [one for one in book.pages if one.path == page.path]
        number = pages.index(page)
        following = pages[number + 1] if number + 1 < len(pages) else None
        stays = None if following in gone else following
        found.setdefault(page.path, []).append(_cut(page, None if number else stays, first=not number))
    return found


def _is_empty(page: Page) -> bool:
    spec = page.span.get("spec")
    if spec is None:
        return False
    keys = _CONTENT.get(page.heading.kind, ())
    found = [spec.get(key) for key in keys]
    return (
        bool(keys)
        and "exceptions" not in {key.plain for key, _ in spec.entries}
        and not any(one is not None and (one.items or one.entries or one.plain) for one in found)
    )


def _cut(page: Page, following: Page | None, *, first: bool) -> Splice:
    """One document, with the line that separates it: that before it, or after the ``first`` one of a file.

    Comments between its values go to where it was. ``following`` is the next document, where that becomes the first.
    """
    text = page.text
    start, end = line_start(text, page.span.start), next_line(text, page.span.end)
    if not first:
        start = page.start
    elif following is not None and not text[end : following.start].strip():
        end = next_line(text, following.start)
    before = text[start : page.span.start].strip().removeprefix("---").strip()
    lines = [*([before] if before else []), *comments(text, page.span)]
    return Splice(start, end, "".join(line + line_break(text) for line in lines))


def _reasons(error: Exception) -> list[str]:
    if isinstance(error, ManifestError):
        return [f"{problem.origin}: {problem.message}" for problem in error.problems]
    return [str(error) or "two changes meet at one place"]
