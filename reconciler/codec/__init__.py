"""One definition for each value that this program writes as JSON: reader, writer, schema and the places of errors.

Built on plain closures: reading a plan of 150,000 steps is bound by this code, and pydantic would need a mirror class
for each value whose JSON is not its fields (``benchmarks/codecs.py``).
"""

from reconciler.codec.choice import single, tagged
from reconciler.codec.containers import TEXTS, array, mapping, nullable
from reconciler.codec.document import canonical, compact, known_minor, load, schema_text
from reconciler.codec.interface import Codec, SchemaError, same, unexpected
from reconciler.codec.lines import Lines, document_text, in_lines
from reconciler.codec.record import Field, Record, derived, field, flat, group, record
from reconciler.codec.scalars import (
    BOOLEAN,
    COUNT,
    DATE,
    NUMBER,
    TEXT,
    constant,
    converted,
    integer,
    names,
    numbers,
    text,
    values,
    words,
)

__all__ = [
    "BOOLEAN",
    "COUNT",
    "DATE",
    "NUMBER",
    "TEXT",
    "TEXTS",
    "Codec",
    "Field",
    "Lines",
    "Record",
    "SchemaError",
    "array",
    "canonical",
    "compact",
    "constant",
    "converted",
    "derived",
    "document_text",
    "field",
    "flat",
    "group",
    "in_lines",
    "integer",
    "known_minor",
    "load",
    "mapping",
    "names",
    "nullable",
    "numbers",
    "record",
    "same",
    "schema_text",
    "single",
    "tagged",
    "text",
    "unexpected",
    "values",
    "words",
]
