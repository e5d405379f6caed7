"""An edit of manifests as a use case: what it changes, what that does to access, and the ways to keep it.

An edit is a proposal like any other: nothing here decides whether it may be merged. But it keeps its :class:`Promise`:
that is decided on the very texts that would be written, on their day and whenever something declared ends after it.
Every edit passes :func:`reviewed`.
"""

import datetime
import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Final

from reconciler.adapters.atomic_write import write_atomically
from reconciler.adapters.git import GitError, NotCommittedError, commit_on_branch
from reconciler.dataclass import dataclass
from reconciler.edit import Book, EditError, Texts, edited, read
from reconciler.manifest import Manifests
from reconciler.model import DesiredState
from reconciler.plan.review.access_review import AccessReview
from reconciler.policy import Breach
from reconciler.workflow.access_checks import breaches_of, ownerships_of
from reconciler.workflow.connections import manifests_below
from reconciler.workflow.manifests import desired, sound
from reconciler.workflow.options import ConnectionOptions, moment
from reconciler.workflow.promise import Promise, broken, reviews
from reconciler.workflow.reasons import RequestError, WorkflowError

Wanted = Callable[[Book], Mapping[str, DesiredState]]
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
            if self._found(path) != self.before.get(path):
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

    def _found(self, path: str) -> str | None:
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
    wanted: Wanted,
    promise: Promise,
    as_of: datetime.date | None = None,
    proposal: Callable[[Book], Mapping[str, str]] | None = None,
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
        known = {_named(breach) for breach in judged[0]}
        breaches += [breach for breach in judged[1] if _named(breach) not in known and breach not in breaches]
    return ManifestEdit(path, texts, files, access, later, tuple(breaches))


def _refuse(promise: Promise, lines: Sequence[str]) -> None:
    if lines:
        said = f"the edit promises {promise.words}, and would change that: nothing was written"
        more = [f"and {len(lines) - _REASONS:,} more"] if len(lines) > _REASONS else []
        raise EditRefusedError("\n  ".join([said, *lines[:_REASONS], *more]), "edit the manifests by hand")


def _named(breach: Breach) -> tuple[object, ...]:
    """What a breach is about, wherever the lines are by now."""
    return breach.origin.file, breach.kind, breach.principal, breach.pattern, breach.operations, breach.subject


def _lines(text: str) -> list[str]:
    """Lines as git counts them."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
