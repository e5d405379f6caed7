"""Digests of rows that do not depend on the engine.

SHA-256 over the columns of the sorted rows, one after the other: of a text column the lengths in bytes (32 bits,
little-endian) and then the UTF-8 bytes, of a code column one byte a row. No two different lists of rows have the same
input. Arrow holds columns in just this form, so its buffers are hashed as they are.
"""

import hashlib
import json
import struct
from collections.abc import Sequence

from reconciler.codec.scope import SCOPE
from reconciler.fleet.rows import COLUMNS, TEXT_COLUMNS, Row
from reconciler.model import Scope


def rows_digest(rows: Sequence[Row]) -> str:
    """The digest of rows that are in order: the definition, in plain Python."""
    found = hashlib.sha256(struct.pack("<q", len(rows)))
    for index, column in enumerate(COLUMNS):
        if column in TEXT_COLUMNS:
            texts = [str(row[index]).encode() for row in rows]
            found.update(struct.pack(f"<{len(texts)}i", *map(len, texts)))
            found.update(b"".join(texts))
        else:
            found.update(struct.pack(f"<{len(rows)}b", *(row[index] for row in rows)))
    return found.hexdigest()


def scope_digest(scope: Scope) -> str:
    """Equal if two readings used the same scope to tell owned, ignored and outside rows apart."""
    text = json.dumps(SCOPE.write(scope), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
