"""One definition for each value that this program writes as JSON: reader, writer, schema and the places of errors.

Built on plain closures: reading a plan of 150,000 steps is bound by this code, and pydantic would need a mirror class
for each value whose JSON is not its fields (``benchmarks/codecs.py``).
"""

from reconciler.codec.annotated import camel, record_of
from reconciler.codec.choice import single, tagged
from reconciler.codec.containers import TEXTS, array, mapping, nullable
from reconciler.codec.document import canonical, compact, known_minor, load, schema_text
from reconciler.codec.interface import Codec, SchemaError, same, unexpected
from reconciler.codec.lines import Lines, document_pieces, document_text, in_lines
from reconciler.codec.objects import Field, Record, derived, field, flat, group, optional, record
from reconciler.codec.scalars import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    DATE,
    NUMBER,
    TEXT,
    by_name,
    by_number,
    by_value,
    constant,
    converted,
    integer,
    text,
    word,
)
from reconciler.model.says import REQUIRED, AnyInteger, AnyText, Apart, FieldGroup, Flat, Name, Says

__all__ = [
    "ANY_TEXT",
    "BOOLEAN",
    "COUNT",
    "DATE",
    "NUMBER",
    "REQUIRED",
    "TEXT",
    "TEXTS",
    "AnyInteger",
    "AnyText",
    "Apart",
    "Codec",
    "Field",
    "FieldGroup",
    "Flat",
    "Lines",
    "Name",
    "Record",
    "Says",
    "SchemaError",
    "array",
    "by_name",
    "by_number",
    "by_value",
    "camel",
    "canonical",
    "compact",
    "constant",
    "converted",
    "derived",
    "document_pieces",
    "document_text",
    "field",
    "flat",
    "group",
    "in_lines",
    "integer",
    "known_minor",
    "load",
    "mapping",
    "nullable",
    "optional",
    "record",
    "record_of",
    "same",
    "schema_text",
    "single",
    "tagged",
    "text",
    "unexpected",
    "word",
]
