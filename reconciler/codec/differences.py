"""What differs between two JSON documents, in a few words for people: an item as it was left, and as it is found."""

from collections.abc import Mapping
from typing import Any, Final

from reconciler.codec.document import compact

#: So many are named, the others counted.
_MOST: Final = 5


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """``configs.flush.ms: 9 → 8, partitions: 2 → 3``, sorted by place; empty where the documents are equal."""
    # It takes a second to load, and few runs find that somebody has changed anything.
    from deepdiff import DeepDiff  # noqa: PLC0415

    found = (one for group in DeepDiff(before, after, view="tree").values() for one in group)
    places = sorted((one.path(output_format="list") for one in found), key=lambda path: [*map(str, path)])
    said = [f"{'.'.join(map(str, path))}: {_side(before, path)} → {_side(after, path)}" for path in places]
    more = f" and {len(said) - _MOST:,} more" if len(said) > _MOST else ""
    return ", ".join(said[:_MOST]) + more


def _side(document: Any, path: list[Any]) -> str:
    """The value at a place of a document; ``not set`` where it has none."""
    for key in path:
        try:
            document = document[key]
        except (KeyError, IndexError):
            return "not set"
    return "not set" if document is None else document if isinstance(document, str) else compact(document)
