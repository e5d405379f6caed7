"""A proposal that waits for its day: a file of whoever makes it, and no word that counts.

It says what is to be narrowed and from which day on that may be proposed. Nothing is believed of it: on its day it only
chooses among what a new run proposes, so that a forged file can take nothing that could not be taken without it.
"""

import datetime
from typing import Annotated, Final, NamedTuple

from reconciler.codec import REQUIRED, Codec, Record, Says, array, converted, record_of
from reconciler.codec.document import canonical, known_minor, load
from reconciler.codec.interface import SchemaError
from reconciler.fleet.tighten.narrowing import Narrowing
from reconciler.model import AclPermissionType

VERSION: Final = "1.0"


def _only_allows(found: Narrowing) -> Narrowing:
    bindings = (*found.bindings, *found.into)
    if not found.bindings or any(one.entry.permission_type is not AclPermissionType.ALLOW for one in bindings):
        raise ValueError("only ALLOWs are narrowed")
    return found


_READ: Final[Record[Narrowing]] = record_of(Narrowing)
_NARROWING: Final[Codec[Narrowing]] = converted(_READ, _only_allows, _READ.write)


class Stage(NamedTuple):
    """Narrowings for one cluster, watched since a day and proposed not before another."""

    cluster: Annotated[str, Says("The cluster.", "prod")]
    since: Annotated[datetime.date, Says("The day of the proposal.", "2026-11-23")]
    not_before: Annotated[datetime.date, Says("The first day on which the edit may be proposed.", "2026-12-23")]
    narrowings: Annotated[tuple[Narrowing, ...], array(_NARROWING), Says("What is to be narrowed.")]
    format_version: Annotated[str, Says("The version of this file's format.", VERSION, default=REQUIRED)] = VERSION


STAGE: Final[Record[Stage]] = record_of(Stage)


def stage_text(stage: Stage) -> str:
    """The file."""
    return canonical(STAGE.write(stage)) + "\n"


def read_stage(text: str) -> Stage:
    """The file's content; raises :class:`reconciler.codec.interface.SchemaError`."""
    document = load(text)
    known_minor(document, VERSION)
    found = STAGE.read(document)
    if found.not_before < found.since:
        raise SchemaError("it is before since", "notBefore")
    return found._replace(narrowings=tuple(found.narrowings))
