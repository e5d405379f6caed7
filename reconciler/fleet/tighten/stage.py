"""A proposal that waits for its day: a file of whoever makes it, and no word that counts.

It says what is to be narrowed and from which day on that may be proposed. Nothing is believed of it: on its day it only
chooses among what a new run proposes, so that a forged file can take nothing that could not be taken without it.
"""

import datetime
from typing import Final, NamedTuple

from reconciler.codec import DATE, TEXT, Record, array, field, record
from reconciler.codec.document import canonical, known_minor, load
from reconciler.codec.interface import SchemaError
from reconciler.codec.values import BINDING
from reconciler.fleet.tighten.narrowing import Narrowing
from reconciler.model import AclBinding, AclPermissionType

VERSION: Final = "1.0"
_BINDINGS: Final = array(BINDING)


class Stage(NamedTuple):
    """Narrowings for one cluster, watched since a day and proposed not before another."""

    cluster: str
    since: datetime.date
    not_before: datetime.date
    narrowings: tuple[Narrowing, ...]
    format_version: str = VERSION


def _narrowing(bindings: tuple[AclBinding, ...], into: tuple[AclBinding, ...]) -> Narrowing:
    if not bindings or any(one.entry.permission_type is not AclPermissionType.ALLOW for one in (*bindings, *into)):
        raise ValueError("only ALLOWs are narrowed")
    return Narrowing(tuple(bindings), tuple(into))


#: By a table: it is checked while it is read, and its use is not in the file.
_NARROWING: Final[Record[Narrowing]] = record(
    _narrowing,
    field("bindings", _BINDINGS, "What goes."),
    field("into", _BINDINGS, "What takes its place."),
)
STAGE: Final[Record[Stage]] = record(
    Stage,
    field("formatVersion", TEXT, "The version of this file's format.", VERSION),
    field("cluster", TEXT, "The cluster.", "prod"),
    field("since", DATE, "The day of the proposal.", "2026-11-23"),
    field("notBefore", DATE, "The first day on which the edit may be proposed.", "2026-12-23"),
    field("narrowings", array(_NARROWING), "What is to be narrowed."),
)


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
