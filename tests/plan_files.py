"""Any document in the form of a plan file, sealed as a forger would seal it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reconciler.codec.document import canonical
from reconciler.model.characters import escape_invisible_json
from reconciler.plan.file import PlanDigest, ids, parse_plan, seal


def sealed(document: Mapping[str, Any]) -> str:
    """The fields in their order, lists with an item a line, and a digest that fits."""
    return seal("{\n" + ",\n".join(_fields(document)))


def sealed_with_ids(document: Mapping[str, Any]) -> str:
    """As :func:`sealed`, with the ids that belong to what it says."""
    change, whole = ids_of(document)
    return sealed({**document, "changeId": change, "planId": whole})


def ids_of(document: Mapping[str, Any]) -> tuple[str, str]:
    """The ids of a document that need not be a plan."""
    digest = PlanDigest()
    for name, value in document.items():
        if isinstance(value, list):
            digest.begin(name)
            for item in value:
                digest.item(name, item, canonical(item))
        else:
            digest.field(name, value, canonical(value))
    return digest.ids()


def plan_id_of(file: str) -> str:
    """What ``--require-id`` takes for a saved plan."""
    return ids(parse_plan(Path(file).read_text(encoding="utf-8")))[1]


def _fields(document: Mapping[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        if isinstance(value, list) and value:
            lines = ",\n".join(f" {_text(item)}" for item in value)
            yield f"{_text(name)}:[\n{lines}\n]"
        else:
            yield f"{_text(name)}:{_text(value)}"


def _text(value: Any) -> str:
    return escape_invisible_json(canonical(value))
