"""An edit of manifests as a use case: the texts that it needs, what it does to access, and the ways to keep it.

It works by proposal and proof. Each kind removes what declares too much and writes what is missing; then the result is
read like any manifests and compared with what is wanted by the comparison that plans use. Whatever does not come out
as wanted is not written.

An edit is a proposal like any other: nothing here decides whether it may be merged. But it keeps its :class:`Promise`:
that is decided on the very texts that would be written, on their day and whenever something declared ends after it.
Every edit passes :func:`reviewed`.
"""

import datetime
import difflib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from enum import Enum
from pathlib import Path
from typing import Final

from reconciler.access.difference import AccessDifference, DifferenceRow, compare_access
from reconciler.app.connections import manifests_below
from reconciler.app.manifests import breaches_of, desired, ownerships_of, sound
from reconciler.app.options import ConnectionOptions, moment
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.app.states import authorizer
from reconciler.app.terms import claimed_super_users
from reconciler.codec.kinds import LISTED
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import Manifests
from reconciler.manifest.parts.clusters import ClusterDeclaration
from reconciler.manifest.read.findings import MappingNode
from reconciler.manifest.read.problem import ManifestError
from reconciler.manifest.write.pages import Book, NewDocument, NoPlaceError, Page, cuts_of, read
from reconciler.manifest.write.spans import OverlapError, comments, document, line_break, spliced
from reconciler.model.acl import WILDCARD_PRINCIPAL, AclBinding
from reconciler.model.desired import Declaration, DesiredState, moment_text
from reconciler.model.listing import Listing
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.edit.kinds import KINDS
from reconciler.parts.edit.kinds.interface import Changes, Wanted
from reconciler.plan.difference import DiffRules
from reconciler.plan.kinds import compare, describe
from reconciler.plan.review.access_change import AccessChange
from reconciler.plan.review.access_review import AccessReview, difference_review
from reconciler.policy.ownership import Breach
from reconciler.show.review import access_lines_of, line_words
from reconciler.system.files import write_atomically
from reconciler.system.git import GitError, NotCommittedError, commit_on_branch

# What an edit has to prove: the manifests declare what is wanted, and all that it has no business with is the same.

#: The keys of a spec that the editor writes, by kind of document.
WRITTEN: Final = {kind.DOCUMENT: kind.WRITTEN for kind in KINDS}


def as_live(wanted: DesiredState) -> ClusterState:
    """A cluster that has what is declared."""
    listings = {
        kind: Listing(frozenset(entry.item for entry in wanted.listed.get(kind, {}).values() if not entry.goes))
        for kind in LISTED
    }
    topics = {name: topic.topic for name, topic in wanted.topics.items() if not topic.absent}
    return ClusterState("", frozenset(wanted.bindings), topics, listings=listings)


def differences(after: DesiredState, wanted: DesiredState) -> Iterator[str]:
    """How what is declared differs from what is wanted: by the comparison of plans, then in what that leaves out."""
    rules = DiffRules(prune={Topic.KIND, *LISTED})
    for first, other in ((after, wanted), (wanted, after)):
        comparison = compare(first, as_live(other), Scope(), rules)
        yield from (f"other than wanted, {describe(change.change)}" for change in comparison.changes)
        yield from (f"not as wanted: {skipped.subject}" for skipped in comparison.skipped)
    for kind in KINDS:
        declared, expected = kind.declarations(after), kind.declarations(wanted)
        yield from (
            f"not as wanted: {key}" for key in sorted({*declared, *expected}) if declared.get(key) != expected.get(key)
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """Texts to begin with, which say it better than the editor would; they are as little trusted.

    ``meant`` are documents that the editor does not write and that change all the same, as plain data: exactly so.
    """

    texts: Callable[[Book], Mapping[str, str]]
    meant: Callable[[Book], Mapping[tuple[str, str], object]] = lambda _: {}


def others_changed(before: Book, after: Book, meant: Mapping[tuple[str, str], object]) -> list[str]:
    """Documents of which something changed that no edit may change: kinds, names, labels, clusters, exceptions."""
    old, new = ({page.key: _rest(page) for page in book.pages} for book in (before, after))
    old = {**old, **meant}
    empty = {key for key, rest in old.items() if key[0] in WRITTEN and key not in new}
    added = {key for key in new if key[0] in WRITTEN and key not in old}
    return [
        f"the document {kind} {name} is not the same"
        for kind, name in sorted({*old, *new} - empty - added)
        if old.get((kind, name)) != new.get((kind, name))
    ]


def _rest(page: Page) -> object:
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
    proposal: Proposal | None = None,
) -> Texts:
    """The files that change, so that the manifests declare what is wanted on every cluster, and nothing else.

    ``wanted`` is asked once, with the manifests as they are, which have to be valid (``ManifestError``). Raises
    :class:`EditError` where no edit is proven.
    """
    before = read(texts)
    target = wanted(before)
    try:
        begun, meant = (before, None) if proposal is None else _begun(before, proposal)
        begun_texts = {path: source.text for path, source in begun.manifests.sources.items()}
        after = _steps(begun, begun_texts, target)
        if meant is not None:
            proven(before, read(after), target, meant)
        return changed(texts, after)
    except (NoPlaceError, OverlapError, ManifestError) as error:
        raise EditError(_reasons(error)) from error


def _begun(before: Book, proposal: Proposal) -> tuple[Book, Mapping[tuple[str, str], object] | None]:
    """The manifests as proposed, and what is meant to change besides; as they were, where that is not valid."""
    try:
        return read(proposal.texts(before)), proposal.meant(before)
    except (ManifestError, OverlapError):
        return before, None


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
    proven(before, book, wanted, {})
    return texts


def proven(before: Book, after: Book, wanted: Wanted, meant: Mapping[tuple[str, str], object]) -> None:
    """Raises :class:`EditError` unless the manifests declare what is wanted, and their other documents are the same."""
    wrong = [f"{name}: {line}" for name in wanted for line in differences(after.desired[name], wanted[name])]
    wrong += others_changed(before, after, meant)
    if wrong:
        raise EditError(wrong)


def applied(book: Book, changes: Changes) -> dict[str, str]:
    """The texts with what one step changes."""
    for path, cuts in cuts_of(book, changes.gone).items():
        changes.splices[path] += cuts
    texts = {path: source.text for path, source in book.manifests.sources.items()}
    for path, splices in changes.splices.items():
        texts[path] = spliced(texts[path], splices)
    by_path: dict[str, list[NewDocument]] = defaultdict(list)
    for new in changes.documents:
        by_path[new.path].append(new)
    return texts | {path: _with_documents(texts.get(path, ""), documents) for path, documents in by_path.items()}


def _with_documents(text: str, documents: Iterable[NewDocument]) -> str:
    newline = line_break(text)
    pieces = [text] if not text or text.endswith(("\n", "\r")) or not text.strip() else [text, newline]
    separator = ["---"] if text.strip() else []
    for new in documents:
        lines = document(new.kind, new.name, new.head, new.key, new.items)
        pieces += [line + newline for line in (*separator, *lines)]
        separator = ["---"]
    return "".join(pieces)


def _emptied(before: Book, after: Book) -> list[Page]:
    """The documents that an edit has emptied and that hold no comment."""
    full = {page.key for page in before.pages if not _is_empty(page)}
    return [page for page in after.pages if page.key in full and _is_empty(page) and not comments(page.text, page.span)]


def _without(book: Book, gone: list[Page]) -> dict[str, str]:
    """The texts without some documents; without files of which nothing is left."""
    texts = {path: source.text for path, source in book.manifests.sources.items()}
    for path, cuts in cuts_of(book, gone).items():
        texts[path] = spliced(texts[path], cuts)
        if not texts[path].strip():
            del texts[path]
    return texts


def _is_empty(page: Page) -> bool:
    spec = page.span.get("spec")
    if spec is None:
        return False
    keys = _CONTENT.get(page.heading.kind, ())
    values = [spec.get(key) for key in keys]
    return "exceptions" not in {key.plain for key, _ in spec.entries} and not any(
        value is not None and (value.items or value.entries or value.plain) for value in values
    )


def _reasons(error: Exception) -> list[str]:
    if isinstance(error, ManifestError):
        return [f"{problem.origin}: {problem.message}" for problem in error.problems]
    return [str(error) or "two changes meet at one place"]


# What an edit promises of declared access, and whether it keeps that, on its day and whenever something ends later.


class AssumedDefault(Enum):
    """What ``allow.everyone.if.no.acl.found`` is taken as where a promise is judged."""

    #: As it is stated; where nobody states it, on and off.
    STATED = "stated"
    #: As it is stated; where nobody states it, off: so nobody is kept from taking a last ACL away.
    LIKELY = "likely"
    #: Off: what it opens was proven on the whole state of the cluster, of which manifests declare a part.
    PROVEN = "proven"


@dataclass(frozen=True, slots=True)
class Promise:
    """What an edit does to declared access at most: only ``gaining`` gain, only ``losing`` lose; ``None``: anybody.

    ``words`` say so, after "an edit that promises". ``asked`` are bindings by cluster of which somebody said by name
    that they go, whatever they grant: the promise is about the access that is left without them.
    """

    words: str
    gaining: frozenset[str] | None
    losing: frozenset[str] | None
    assumed: AssumedDefault
    asked: Mapping[str, Collection[AclBinding]] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether it promises nothing of access."""
        return self.gaining is None and self.losing is None

    def broken_by(self, row: DifferenceRow | AccessChange) -> bool:
        """Whether it says that this does not happen."""
        return any(
            bool(operations) and allowed is not None and row.principal not in allowed
            for operations, allowed in ((row.gained, self.gaining), (row.lost, self.losing))
        )


_NOBODY: Final = frozenset[str]()
#: Nobody gains or loses anything.
SAME_ACCESS: Final = Promise("that access stays as it is", _NOBODY, _NOBODY, AssumedDefault.STATED)
#: Rights only get narrower.
NO_GAIN: Final = Promise("that nobody gains access", _NOBODY, None, AssumedDefault.PROVEN)
#: What happens is what somebody asked for, and is shown.
AS_SHOWN: Final = Promise("nothing about access", None, None, AssumedDefault.LIKELY)


def gain_of(*principals: str) -> Promise:
    """Only these gain access; others may lose it, where a DENY or a first ACL comes."""
    words = f"that nobody but {', '.join(principals) or 'nobody'} gains access"
    return Promise(words, _only(principals), None, AssumedDefault.LIKELY)


def loss_of(principal: str) -> Promise:
    """Nobody gains access, and only this principal loses it."""
    words = f"that nobody gains access, and nobody but {principal} loses it"
    return Promise(words, _NOBODY, _only([principal]), AssumedDefault.LIKELY)


def change_of(principal: str) -> Promise:
    """Only the access of this principal changes."""
    only = _only([principal])
    return Promise(f"that only the access of {principal} changes", only, only, AssumedDefault.LIKELY)


def _only(principals: Collection[str]) -> frozenset[str] | None:
    return None if WILDCARD_PRINCIPAL in principals else frozenset(principals)


def instants(states: Iterable[DesiredState], day: datetime.date) -> list[datetime.date]:
    """The day, and each instant after it at which a binding of one of the states ends, in order."""
    ends = {
        declaration.expires
        for state in states
        for declaration in state.bindings.values()
        if declaration.expires is not None
    }
    return [day, *sorted({end.end for end in ends if not end.over(day)})]


def in_force(state: DesiredState, when: datetime.date) -> dict[AclBinding, Declaration]:
    """The bindings that have not ended at an instant, or when a day begins."""
    return {
        binding: declared
        for binding, declared in state.bindings.items()
        if declared.expires is None or not declared.expires.over(when)
    }


def differences_by_day(
    declaration: ClusterDeclaration, states: Sequence[DesiredState], day: datetime.date
) -> Iterator[tuple[datetime.date, AccessDifference]]:
    """What changes on the day and whenever something ends after it, where the two states then differ."""
    for when in instants(states, day):
        before, after = (in_force(state, when) for state in states)
        if before.keys() != after.keys():
            yield when, compare_access(authorizer(declaration, before), authorizer(declaration, after))


def reviews(
    declaration: ClusterDeclaration, states: Sequence[DesiredState], day: datetime.date
) -> Iterator[tuple[datetime.date, AccessReview]]:
    """What changes on the day, and later on what did not change before."""
    reported = set[AccessChange]()
    for when, difference in differences_by_day(declaration, states, day):
        review = difference_review(difference)
        if when == day or not reported.issuperset(review.access_changes):
            yield when, review
        reported |= set(review.access_changes)


def broken(
    promise: Promise, declaration: ClusterDeclaration, states: Sequence[DesiredState], day: datetime.date
) -> Iterator[str]:
    """How the second state breaks the promise, now or later; by the first instant at which it does."""
    if promise.is_any:
        return
    asked = frozenset(promise.asked.get(declaration.name, ())) - states[1].bindings.keys()
    kept = {binding: declared for binding, declared in states[0].bindings.items() if binding not in asked}
    for when, difference in differences_by_day(
        doubted(declaration, promise), [replace(states[0], bindings=kept), states[1]], day
    ):
        if any(promise.broken_by(row) for row in difference.all_rows()):
            since = "" if when == day else f", from {moment_text(when)} on"
            review = difference_review(difference)
            # Of very many whom User:* reaches, the review names the first.
            rows = tuple(row for row in review.access_changes if promise.broken_by(row)) or review.access_changes
            lines = access_lines_of(replace(review, access_changes=rows), expand=False)
            yield from (f"{declaration.name}{since}: {line.sign} {line_words(line)}" for line in lines)
            return


def doubted(declaration: ClusterDeclaration, promise: Promise) -> ClusterDeclaration:
    """The facts by which a promise is judged: no word of the manifests on super users hides what happens to them."""
    judged = replace(declaration, super_users=tuple({*declaration.super_users} - {*claimed_super_users(declaration)}))
    unstated = judged.allow_everyone_if_no_acl_found is None
    off = promise.assumed is AssumedDefault.PROVEN or (promise.assumed is AssumedDefault.LIKELY and unstated)
    return replace(judged, allow_everyone_if_no_acl_found=False) if off else judged


WantedStates = Callable[[Book], Mapping[str, DesiredState]]
#: So many reasons are shown.
_REASONS: Final = 10


class EditRefusedError(WorkflowError):
    """The manifests could not be made to declare what was asked: nothing was written."""


@dataclass(frozen=True, slots=True)
class ManifestEdit:
    """What an edit of the manifests below ``path`` changes: ``files`` by path from there, ``None`` for one that goes.

    ``access`` says by cluster who gains and loses what by declaration; ``later`` the same from instants on at which
    something ends and more changes. ``breaches`` are the rules of Ownership that the result breaks and the manifests
    before did not.
    """

    path: str
    before: Mapping[str, str]
    files: Texts = field(default_factory=dict)
    access: Mapping[str, AccessReview] = field(default_factory=dict)
    later: Mapping[str, Sequence[tuple[datetime.date, AccessReview]]] = field(default_factory=dict)
    breaches: tuple[Breach, ...] = ()

    @property
    def root(self) -> Path:
        """The directory from which the files' paths are."""
        return Path(self.path) if Path(self.path).is_dir() else Path(self.path).parent

    @property
    def after(self) -> dict[str, str]:
        """All manifests as they are with it."""
        return {path: text for path, text in {**self.before, **self.files}.items() if text is not None}

    def patch(self) -> str:
        """A unified diff, for ``git apply`` or ``patch -p1`` where the command ran; empty if nothing changes."""
        return "".join(line for path, text in self.files.items() for line in self._patch_of(path, text))

    def _patch_of(self, path: str, text: str | None) -> Iterator[str]:
        name = os.path.normpath(self.root / path).replace(os.sep, "/").lstrip("/")
        old, new = self.before.get(path), text
        old_name, new_name = ("/dev/null" if side is None else f"{n}/{name}" for n, side in (("a", old), ("b", new)))
        for line in difflib.unified_diff(_lines(old or ""), _lines(new or ""), old_name, new_name):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

    def write(self) -> list[str]:
        """Write the files, unless one has changed since it was read; their paths."""
        for path in self.files:
            if self._resolved(path) != self.before.get(path):
                raise WorkflowError(f"{path} changed while it was edited: nothing was written", "run the command again")
        try:
            for path, text in self.files.items():
                target = self.root / path
                if text is None:
                    target.unlink()
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(text, str(target))
        except OSError as error:
            raise WorkflowError(f"{error.filename}: {error.strerror}") from error
        return [str(self.root / path) for path in self.files]

    def _resolved(self, path: str) -> str | None:
        target = self.root / path
        return target.read_bytes().decode("utf-8", "replace") if target.exists() else None

    def commit(self, branch: str, message: str) -> str:
        """A commit of the files on a new branch from HEAD, and its id; the working tree stays as it is."""
        try:
            return commit_on_branch(self.root, self.before, self.files, branch, message)
        except NotCommittedError as error:
            raise RequestError(str(error), "commit it first") from error
        except GitError as error:
            raise WorkflowError(str(error)) from error


def edit(
    path: str,
    wanted: WantedStates,
    promise: Promise,
    as_of: datetime.date | None = None,
    proposal: Proposal | None = None,
    connection: ConnectionOptions = ConnectionOptions(),
) -> ManifestEdit:
    """Make the manifests below ``path`` declare what ``wanted`` says; nothing is written.

    Raises :class:`EditRefusedError` if no edit does exactly that, or what does it breaks the promise.
    """
    manifests = manifests_below(path, connection)
    texts = texts_of(manifests)
    with refused(), sound():
        files = edited(texts, wanted, proposal)
    return reviewed(path, manifests, files, promise, as_of)


def texts_of(manifests: Manifests) -> dict[str, str]:
    """The manifests' texts by path, without a connections file that lies among them."""
    return {path: source.text for path, source in manifests.sources.items()}


@contextmanager
def refused() -> Iterator[None]:
    """An edit that is not proven, as the reason that says so."""
    try:
        yield
    except EditError as error:
        shown = error.reasons[:_REASONS]
        more = [f"and {len(error.reasons) - len(shown):,} more"] if len(error.reasons) > len(shown) else []
        raise EditRefusedError(
            "\n  ".join(["no edit of these manifests does exactly that: nothing was written", *shown, *more]),
            "edit them by hand",
        ) from error


def reviewed(
    path: str, manifests: Manifests, files: Texts, promise: Promise, as_of: datetime.date | None = None
) -> ManifestEdit:
    """The edit with what it does to access, by the facts that manifests and operator state; and its new breaches.

    Raises :class:`EditRefusedError` where it does more than it promises, now or later.
    """
    texts = texts_of(manifests)
    if not files:
        return ManifestEdit(path, texts)
    day = as_of or moment()
    after = {name: text for name, text in {**texts, **files}.items() if text is not None}
    with sound():
        old, new = read(texts), read(after)
    access: dict[str, AccessReview] = {}
    later: dict[str, list[tuple[datetime.date, AccessReview]]] = {}
    breaches: list[Breach] = []
    for name in new.clusters:
        declaration = manifests.clusters[name]
        states = [book.desired[name] for book in (old, new)]
        if states[0].bindings != states[1].bindings:
            _refuse(promise, list(broken(promise, declaration, states, day)))
            for when, review in reviews(declaration, states, day):
                if when == day:
                    access[name] = review
                else:
                    later.setdefault(name, []).append((when, review))
        sides = [desired(book.manifests, name, day) for book in (old, new)]
        judged = [
            breaches_of(ownerships_of(book.manifests, name, day), side)
            for book, side in zip((old, new), sides, strict=True)
        ]
        # What was forbidden before is not this edit's doing, and would drown what is.
        earlier = {_named(breach) for breach in judged[0]}
        breaches += [breach for breach in judged[1] if _named(breach) not in earlier and breach not in breaches]
    return ManifestEdit(path, texts, files, access, later, tuple(breaches))


def _refuse(promise: Promise, lines: Sequence[str]) -> None:
    if lines:
        message = f"the edit promises {promise.words}, and would change that: nothing was written"
        more = [f"and {len(lines) - _REASONS:,} more"] if len(lines) > _REASONS else []
        raise EditRefusedError("\n  ".join([message, *lines[:_REASONS], *more]), "edit the manifests by hand")


def _named(breach: Breach) -> tuple[object, ...]:
    """What a breach is about, wherever the lines are by now."""
    return breach.origin.file, breach.kind, breach.principal, breach.pattern, breach.operations, breach.subject


def _lines(text: str) -> list[str]:
    """Lines as git counts them."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
