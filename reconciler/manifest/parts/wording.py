"""What pydantic found, in our own words and at the place of the value."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from reconciler.manifest.parts.fields import LIST_TAG, MAPPING_TAG, TEXT_TAG
from reconciler.manifest.reader.codes import Code
from reconciler.manifest.reader.findings import Findings, Trouble
from reconciler.manifest.reader.nodes import MappingNode, Node, SequenceNode
from reconciler.manifest.reader.source import quoted
from reconciler.manifest.reader.suggest import did_you_mean, one_of

Path = tuple[str | int, ...]

_TAGS: Final = (TEXT_TAG, LIST_TAG, MAPPING_TAG)
_SHAPES: Final = {
    "list_type": "a list is expected here",
    "dict_type": "a mapping is expected here",
    "model_type": "a mapping is expected here",
    "string_type": "a single value is expected here",
    "too_short": "the list is empty",
}


def report_invalid(model: type[BaseModel], root: MappingNode, error: ValidationError, findings: Findings) -> None:
    """Reports each of pydantic's errors once, except where the reader has reported something already."""
    for found in error.errors(include_url=False, include_input=False):
        path = tuple(part for part in found["loc"] if part not in _TAGS)
        node, key = _find(root, path, at_key=found["type"] == "extra_forbidden")
        known = findings.marks(node) or (key is not None and findings.marks(key))
        if path != ("apiVersion",) and (found["type"] == "missing" or not known):
            findings.add(_trouble(model, found["type"], path, found.get("ctx", {})), node)


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


def _trouble(model: type[BaseModel], sort: str, path: Path, context: dict[str, Any]) -> Trouble:
    if sort == "manifest":
        return Trouble(context["code"], context["message"], context["advice"])
    if sort == "missing":
        return Trouble(Code.MISSING_FIELD, f"the field {quoted(str(path[-1]))} is missing here")
    if sort == "extra_forbidden":
        return _unknown_field(model, path)
    if sort == "literal_error":
        expected = context["expected"].replace("'", "").replace(" or ", ", ")
        return Trouble(
            Code.WRONG_VALUE, "this is none of the values that the field takes", one_of(expected.split(", "))
        )
    if sort in _SHAPES:
        return Trouble(Code.WRONG_SHAPE, _SHAPES[sort])
    return Trouble(Code.WRONG_VALUE, "this value does not fit here")


def _unknown_field(model: type[BaseModel], path: Path) -> Trouble:
    field = str(path[-1])
    known = fields_at(model, path[:-1])
    return Trouble(
        Code.UNKNOWN_FIELD, f"there is no field {quoted(field)} here", did_you_mean(field, known, one_of(known))
    )


def fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """The fields that a mapping at ``path`` in a document of that model can have."""
    for part in path:
        if isinstance(part, str):
            by_alias = {field.alias: field.annotation for field in model.model_fields.values()}
            inner = next(_models_in([by_alias.get(part)]), None)
            if inner is None:
                return []
            model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotations: Iterable[Any]) -> Iterator[type[BaseModel]]:
    for annotation in annotations:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
        else:
            yield from _models_in(get_args(annotation))
