"""kafka-security-manager's CSV, which Conduktor exports too: an ACL a line, below a heading.

Source: ``CsvAclParser`` (simplesteph/kafka-security-manager): the columns of the heading, in any order.
"""

import csv
from typing import Final

from reconciler.parts.convert.conversion import Conversion, Resource
from reconciler.parts.convert.files import SourceError, SourceFiles

_PRINCIPAL, _KIND, _FORM, _NAME = "KafkaPrincipal", "ResourceType", "PatternType", "ResourceName"
_OPERATION, _PERMISSION, _HOST = "Operation", "PermissionType", "Host"
_COLUMNS: Final = frozenset((_PRINCIPAL, _KIND, _FORM, _NAME, _OPERATION, _PERMISSION, _HOST))
_UNKNOWN: Final = "unknown column, which may matter"
_WIDTH: Final = "it has {} values, and the heading has {} columns"
_NO_FORM: Final = "its heading has no PatternType: add the column, as kafka-security-manager asks since version 0.4"


def is_heading(line: str) -> bool:
    """Whether a line begins such a file, also an old one without ``PatternType``."""
    return {name.strip() for name in line.split(",")} >= _COLUMNS - {_FORM}


def read_kafka_security_manager(files: SourceFiles, conversion: Conversion) -> None:
    """Every line of every file."""
    for name in files.ending(".csv"):
        try:
            _read(name, files.text(name), conversion)
        except csv.Error as error:
            raise SourceError(f"{name}: this is not CSV: {error}") from error


def _read(name: str, text: str, conversion: Conversion) -> None:
    rows = csv.reader(text.split("\n"), strict=True)
    heading = [column.strip() for column in next(rows, [])]
    if not is_heading(",".join(heading)):
        conversion.skip(name, "a file", f"it begins with no heading of {', '.join(sorted(_COLUMNS))}")
        return
    if _FORM not in heading:
        conversion.skip(name, "a file", _NO_FORM)
        return
    for column in heading:
        if column not in _COLUMNS:
            conversion.skip(f"{name}:1", column, _UNKNOWN)
    conversion.recognise()
    for row in rows:
        values, where = [value.strip() for value in row], f"{name}:{rows.line_num}"
        if not any(values):
            continue
        if len(values) != len(heading):
            conversion.skip(where, ",".join(row)[:80], _WIDTH.format(len(values), len(heading)))
            continue
        of = dict(zip(heading, values, strict=True))
        conversion.add_binding(
            of[_PRINCIPAL],
            Resource(of[_KIND], of[_NAME], of[_FORM]),
            (of[_OPERATION],),
            where,
            permission=of[_PERMISSION],
            host=of[_HOST],
        )
