"""What pydantic found, in our own words and at the place of the value."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError

from reconciler.manifest.parts.fields import LIST_TAG, MAPPING_TAG, TEXT_TAG
from reconciler.manifest.parts.names import FIELDS
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, SequenceNode
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean, one_of

Path = tuple[str | int, ...]

_TAGS: Final = (TEXT_TAG, LIST_TAG, MAPPING_TAG)
_MAPPINGS: Final = ("dict_type", "model_type")
#: So many fields of a mapping are named where one is expected.
_NAMED: Final = 8


def report_invalid(model: type[BaseModel], root: MappingNode, error: ValidationError, findings: Findings) -> None:
    """Reports each of pydantic's errors once, except where the reader has reported something already."""
    number = error.error_count()
    for done, found in enumerate(error.errors(include_url=False, include_input=False)):
        if findings.is_full:
            # Words are dear (the nearest field, the place), and would only be counted.
            findings.count_more(findings.origin(root), number - done)
            return
        path = tuple(part for part in found["loc"] if part not in _TAGS)
        node, key = _find(root, path, at_key=found["type"] == "extra_forbidden")
        known = findings.marks(node) or (key is not None and findings.marks(key))
        if path != ("apiVersion",) and (found["type"] == "missing" or not known):
            findings.add(_trouble(model, found["type"], path, found.get("ctx", {}), node), node)


def _find(root: MappingNode, path: Path, *, at_key: bool) -> tuple[Node, Node | None]:
    """The node at ``path`` and its key; where the last part is missing, the key (or item) that should hold it."""
    node: Node = root
    key: Node | None = None
    for part in path:
        if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.items):
            node, key = node.items[part], None
        elif isinstance(node, MappingNode) and isinstance(part, str) and part in node.values:
            key, node = node.keys[part], node.values[part]
        else:
            return (key or node), key
    return (key if at_key and key is not None else node), key


def _trouble(model: type[BaseModel], sort: str, path: Path, context: dict[str, Any], node: Node) -> Trouble:
    if sort == "manifest":
        return Trouble(context["code"], context["message"], context["advice"])
    if sort == "missing":
        return _missing(model, path)
    if sort == "extra_forbidden":
        return _unknown_field(model, path)
    if sort == "literal_error":
        expected = context["expected"].replace("'", "").replace(" or ", ", ")
        return Trouble(
            Code.WRONG_VALUE, "this is none of the values that the field takes", one_of(expected.split(", "))
        )
    if sort == "list_type":
        advice = (
            "begin each of its items with '- '" if isinstance(node, MappingNode) else "write it in brackets: [a, b]"
        )
        return Trouble(Code.WRONG_SHAPE, "a list is expected here", advice)
    if sort in _MAPPINGS:
        return Trouble(Code.WRONG_SHAPE, "a mapping is expected here", _mapping_advice(fields_at(model, path), node))
    if sort == "string_type":
        return Trouble(
            Code.WRONG_SHAPE, "a single value is expected here", "write one, without '- ', brackets or fields"
        )
    if sort == "too_short":
        return Trouble(Code.WRONG_SHAPE, "the list is empty", _empty_advice(path))
    return Trouble(Code.WRONG_VALUE, "this value does not fit here")


def _mapping_advice(fields: list[str], node: Node) -> str:
    """How to write a mapping where a list or a single value was written."""
    known = ", ".join(fields[:_NAMED]) + (" …" if len(fields) > _NAMED else "")
    how = "write its fields without '- '" if isinstance(node, SequenceNode) else "write it as fields with values"
    return f"{how}: {known}" if known else f"{how}, as name: value"


def _empty_advice(path: Path) -> str:
    """A field may go only where its absence says no more than it did: without hosts a rule holds for every host."""
    may_go = "rules" in path and path[-1] in FIELDS
    return f"name at least one, or remove {path[-1]}" if may_go else "name at least one"


def _unknown_field(model: type[BaseModel], path: Path) -> Trouble:
    field = str(path[-1])
    known = fields_at(model, path[:-1])
    return Trouble(
        Code.UNKNOWN_FIELD, f"there is no field {quoted(field)} here", did_you_mean(field, known, one_of(known))
    )


def fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """The fields that a mapping at ``path`` in a document of that model can have, those that it must have first."""
    found = _model_at(model, path)
    known = sorted(found.model_fields.items(), key=lambda item: not item[1].is_required()) if found else []
    return [field.alias or name for name, field in known]


def _model_at(model: type[BaseModel], path: Path) -> type[BaseModel] | None:
    by_name = False
    for part in path:
        # The key of a mapping by name, such as a config's, is no field.
        if isinstance(part, str) and not by_name and part not in _TAGS:
            annotation = {field.alias: field.annotation for field in model.model_fields.values()}.get(part)
            inner = next(_models_in([annotation]), None)
            if inner is None:
                return None
            model, by_name = inner, get_origin(annotation) is dict
        else:
            by_name = False
    return model


def _missing(model: type[BaseModel], path: Path) -> Trouble:
    """A field that has to be there, with what its description says of it."""
    field, holder = str(path[-1]), _model_at(model, path[:-1])
    fields = holder.model_fields.values() if holder else ()
    told = next((known.description or "" for known in fields if known.alias == field), "").rstrip(".")
    advice = f"add it: {told[:1].lower()}{told[1:]}" if told else "add it"
    return Trouble(Code.MISSING_FIELD, f"the field {quoted(field)} is missing here", advice)


def _models_in(annotations: Iterable[Any]) -> Iterator[type[BaseModel]]:
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        else:
            yield from _models_in(get_args(annotation))
