"""SCRAM users as edits of manifests: what is declared of one user changes, and nothing else."""

import os
import secrets
import string
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.app.connections import manifests_below
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.dataclass import dataclass
from reconciler.manifest.write.pages import Book
from reconciler.manifest.write.text import text_problem
from reconciler.model.desired import UNWRITTEN, Declaration, DesiredItem, DesiredState
from reconciler.model.kinds.scram_user import (
    DEFAULT_ITERATIONS,
    DISABLED_ITERATIONS,
    MAX_ITERATIONS,
    SCRAM_CODES,
    PasswordSource,
    ScramUser,
)
from reconciler.model.secrets import is_reference
from reconciler.parts.edit.app.editing import SAME_ACCESS, edit
from reconciler.parts.edit.app.grant import GrantEdit, GrantTerms, on_cluster
from reconciler.system.files import prepared_secret

_USER: Final = "User:"
#: Of a new password: nothing that a shell, a properties file or JAAS reads otherwise. 32 of them are 190 bits.
ALPHABET: Final = string.ascii_letters + string.digits
LENGTH: Final = 32
_DesiredUser = DesiredItem[ScramUser]


def disable(
    path: str,
    cluster: str | None,
    principal: str,
    terms: GrantTerms,
    connection: ConnectionOptions = ConnectionOptions(),
) -> GrantEdit:
    """Declare that nobody can log in as a user; nothing is written, and no cluster is asked.

    Without ``cluster``, wherever the user is declared. One that nobody declares gets an item for the one cluster that
    is meant. Raises a :class:`WorkflowError`.
    """
    name = user_name(principal)
    check_texts(terms)

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        declared = [cluster_name for cluster_name, state in book.desired.items() if name in state.of(ScramUser)]
        if cluster is None and declared:
            states = {cluster_name: _disabled(book.desired[cluster_name], name, terms) for cluster_name in declared}
            return {**book.desired, **states}
        return on_cluster(book, cluster, lambda state: _disabled(state, name, terms))

    edited = edit(path, wanted, SAME_ACCESS, connection=connection)
    return GrantEdit(edited, ("connections that are open stay open: deny its access too",))


@dataclass(frozen=True, slots=True)
class PasswordPlace:
    """Where a new password goes: ``file``, or ``None`` for the caller; and the reference that manifests have to it.

    Without ``reference`` it is that of the file: ``${dir:DIRECTORY:NAME}``.
    """

    file: str | None = None
    reference: str | None = None

    def referred(self) -> str:
        """The reference; raises :class:`RequestError` where there is none."""
        if self.reference is None and self.file is None:
            raise RequestError("a password that goes to no file needs the reference that manifests have to it")
        if self.reference is not None:
            reference, what = self.reference, "that"
        else:
            directory, name = os.path.split(os.path.abspath(self.file or ""))
            reference, what = f"${{dir:{directory}:{name}}}", "the file"
        if not is_reference(reference):
            # Its text may be the secret.
            raise RequestError(f"no reference is of the form of {what}", "give ${env:NAME} or ${dir:DIRECTORY:FILE}")
        return reference


def generate(
    path: str,
    cluster: str | None,
    principal: str,
    place: PasswordPlace,
    terms: GrantTerms,
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    mechanism: str | None = None,
) -> GrantEdit:
    """Declare a user whose password comes from ``place``, with the next version; nothing is written.

    ``mechanism`` is one of ``SCRAM_CODES``; without it, all that are declared, SCRAM-SHA-512 of a new user. Without
    ``cluster``, wherever the user is declared. Raises a :class:`WorkflowError`.
    """
    name, reference = user_name(principal), place.referred()
    check_texts(terms)
    if place.file is not None and _is_among(place.file, path):
        raise RequestError(
            f"{place.file} lies among the manifests, and whoever reads them would read the password",
            "give a file elsewhere",
        )
    declared: list[str] = []

    def wanted(book: Book) -> Mapping[str, DesiredState]:
        declared.extend(cluster_name for cluster_name, state in book.desired.items() if name in state.of(ScramUser))
        if cluster is None and declared:
            states = {
                cluster_name: _with_password(book.desired[cluster_name], name, mechanism, reference, terms)
                for cluster_name in declared
            }
            return {**book.desired, **states}
        return on_cluster(book, cluster, lambda state: _with_password(state, name, mechanism, reference, terms))

    edited = edit(path, wanted, SAME_ACCESS, connection=connection)
    clusters = manifests_below(path, connection).clusters
    concerned = [clusters[cluster_name] for cluster_name in declared if cluster is None] or list(clusters.values())
    objections = {
        declaration.secret_permit.objection(reference)
        for declaration in concerned
        if cluster in (None, declaration.name)
    }
    return GrantEdit(edited, tuple(sorted(filter(None, objections))))


def new_password() -> str:
    """A random password of ``LENGTH`` letters of ``ALPHABET``."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


@contextmanager
def kept_password(password: str, place: PasswordPlace, *, overwrite: bool = False) -> Iterator[Callable[[], None]]:
    """The password written where it goes, next to what is there; what is yielded gives it its name.

    Manifests are written in between: if that fails, the former password is still in the file. Raises a
    :class:`WorkflowError` before anything is written.
    """
    if place.file is None:
        yield lambda: None
        return
    try:
        with prepared_secret(password, place.file, replace=overwrite) as publish:
            yield publish
    except FileExistsError as error:
        raise RequestError(f"{place.file} exists already: no password was written") from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise WorkflowError(f"{place.file}: {why}: no password was written") from error


def _is_among(file: str, manifests: str) -> bool:
    root = Path(os.path.realpath(manifests))
    return Path(os.path.realpath(file)).is_relative_to(root if root.is_dir() else root.parent)


def _with_password(
    state: DesiredState, name: str, mechanism: str | None, reference: str, terms: GrantTerms
) -> DesiredState:
    there = state.of(ScramUser).get(name)
    if there is not None and (there.absent or there.item.disabled):
        what = "absent" if there.absent else "disabled"
        raise RequestError(f"SCRAM user {name} is declared {what} at {there.declaration.origin}", "remove that first")
    before = ScramUser(name) if there is None else there.item
    chosen = [mechanism] if mechanism else list(before.values) or ["SCRAM-SHA-512"]
    values = {**before.values, **{code: _next(before.values.get(code, DEFAULT_ITERATIONS)) for code in chosen}}
    sources = {**before.sources, **dict.fromkeys(chosen, PasswordSource(reference))}
    return with_user(state, DesiredItem(ScramUser(name, values, sources), declaration_of(there, terms)))


def _next(iterations: int) -> int:
    """The iterations of the next version."""
    if iterations + 1 >= DISABLED_ITERATIONS:
        most = f"iterations and passwordVersion are {iterations} together, and Kafka takes {MAX_ITERATIONS} at most"
        raise RequestError(most, "write fewer iterations, and begin with another passwordVersion")
    return iterations + 1


def user_name(principal: str) -> str:
    """The name of the SCRAM user that logs in as a principal."""
    name = principal.removeprefix(_USER)
    if not principal.startswith(_USER) or not name:
        raise RequestError(f"{principal} is not the principal of a SCRAM user", "name it as in User:svc-orders")
    return name


def check_texts(terms: GrantTerms) -> None:
    """Raises :class:`RequestError` for a reason or ticket that no manifest can hold."""
    for text in (terms.reason, terms.ticket):
        if text is not None and (problem := text_problem(text)) is not None:
            raise RequestError(f"{text!a} cannot be written: {problem}")


def with_user(state: DesiredState, desired_user: _DesiredUser) -> DesiredState:
    """What is declared, with one user."""
    users = {**state.of(ScramUser), desired_user.item.name: desired_user}
    return replace(state, listed={**state.listed, ScramUser.KIND: users})


def declaration_of(there: _DesiredUser | None, terms: GrantTerms) -> Declaration:
    """Why it is declared: what was said before, unless something else is said now."""
    before = Declaration(UNWRITTEN) if there is None else there.declaration
    return before._replace(reason=terms.reason or before.reason, ticket=terms.ticket or before.ticket)


def _disabled(state: DesiredState, name: str, terms: GrantTerms) -> DesiredState:
    there = state.of(ScramUser).get(name)
    if there is not None and there.absent:
        raise RequestError(f"SCRAM user {name} is declared absent at {there.declaration.origin}")
    mechanisms = SCRAM_CODES if there is None else there.item.values
    user = ScramUser(name, dict.fromkeys(mechanisms, DISABLED_ITERATIONS))
    return with_user(state, DesiredItem(user, declaration_of(there, terms)))
