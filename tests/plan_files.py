"""Any document in the form of a plan file, sealed as a forger would seal it."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reconciler.codec.document import canonical
from reconciler.model.characters import escape_invisible_json
from reconciler.plan.file import PlanDigest, ids, parse_plan, seal


def sealed(document: Mapping[str, Any], texts: Mapping[int, str] = MappingProxyType({})) -> str:
    """The fields in their order, lists with an item a line, and a digest that fits; ``texts`` as in :func:`ids_of`."""
    return seal("{\n" + ",\n".join(_fields(document, texts)))


def sealed_with_ids(document: Mapping[str, Any], texts: Mapping[int, str] = MappingProxyType({})) -> str:
    """As :func:`sealed`, with the ids that belong to what it says."""
    change, whole = ids_of(document, texts)
    return sealed({**document, "changeId": change, "planId": whole}, texts)


def ids_of(document: Mapping[str, Any], texts: Mapping[int, str] = MappingProxyType({})) -> tuple[str, str]:
    """The ids of a document that need not be a plan; ``texts`` are the canonical ones of its parts, by their ``id``."""
    digest = PlanDigest()
    for name, value in document.items():
        if isinstance(value, list):
            digest.begin(name)
            for item in value:
                digest.item(name, item, texts.get(id(item)) or canonical(item))
        else:
            digest.field(name, value, texts.get(id(value)) or canonical(value))
    return digest.ids()


def texts_of(document: Mapping[str, Any]) -> dict[int, str]:
    """What :func:`ids_of` takes for documents that have most parts of this one, for as long as it is there."""
    parts = chain.from_iterable(value if isinstance(value, list) else (value,) for value in document.values())
    return {id(part): canonical(part) for part in parts}


def plan_id_of(file: str) -> str:
    """What ``--require-id`` takes for a saved plan."""
    return ids(parse_plan(Path(file).read_text(encoding="utf-8")))[1]


def _fields(document: Mapping[str, Any], texts: Mapping[int, str]) -> Iterator[str]:
    for name, value in document.items():
        if isinstance(value, list) and value:
            lines = ",\n".join(f" {_text(item, texts)}" for item in value)
            yield f"{_text(name, texts)}:[\n{lines}\n]"
        else:
            yield f"{_text(name, texts)}:{_text(value, texts)}"


def _text(value: Any, texts: Mapping[int, str]) -> str:
    return escape_invisible_json(texts.get(id(value)) or canonical(value))
