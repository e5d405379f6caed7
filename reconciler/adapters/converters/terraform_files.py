"""Terraform's own files (``.tf``) where no state is at hand: what they say in so many words.

Only Terraform evaluates ``for_each``, ``count``, modules and variables. A resource that needs more than texts, numbers,
locals and attributes of other resources is named, never guessed. Needs the extra ``terraform`` (python-hcl2).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.adapters.converters.conversion import Conversion
from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.tree import SourceError, Tree

_EXTRA: Final = "files of Terraform need python-hcl2: pip install './reconciler[terraform]', or pass a state"
_MANY: Final = frozenset(("count", "for_each", "dynamic"))
#: Of Terraform itself, about how it treats a resource.
_META: Final = frozenset(("provider", "depends_on", "lifecycle", "provisioner", "connection"))
_EVALUATES: Final = "only Terraform evaluates this: convert what `terraform show -json` prints of its state or plan"
_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}")
_LOCAL: Final = re.compile(r"local\.([\w-]+)")
_ATTRIBUTE: Final = re.compile(r"([\w-]+)\.([\w-]+)\.([\w-]+)")
#: References can go in circles.
_MOST_STEPS: Final = 20
#: Longer than any name; what refers to itself many times over grows without an end.
_LONGEST: Final = 8_192


class _NotPlainError(Exception):
    """An expression that this module does not evaluate."""


@dataclass(frozen=True, slots=True)
class Written:
    """A resource as written, with its attributes evaluated, and the alias of its provider."""

    kind: str
    address: str
    attributes: Tree
    provider: str


@dataclass(frozen=True, slots=True)
class _Directory:
    """What the files of one directory can refer to: each directory is a module of its own."""

    locals: Mapping[str, Any]
    resources: Mapping[tuple[str, str], Mapping[str, Any]]
    known: dict[str, str | None] = field(default_factory=dict)


def written_resources(files: SourceFiles, conversion: Conversion) -> Iterator[Written]:
    """Every resource of the ``.tf`` files that can be told; the others get a remark. Raises :class:`SourceError`."""
    parsed = {name: _parsed(name, files.text(name)) for name in files.ending(".tf")}
    directories: dict[str, list[str]] = {}
    for name in parsed:
        directories.setdefault(name.rpartition("/")[0], []).append(name)
    for names in directories.values():
        directory = _directory([parsed[name] for name in names])
        for name in names:
            yield from _of_file(name, files.text(name), parsed[name], directory, conversion)


def _parsed(name: str, text: str) -> Mapping[str, Any]:
    try:
        import hcl2  # noqa: PLC0415 - an extra, for sources without a state only
    except ImportError as error:
        raise SourceError(f"{name}: {_EXTRA}") from error
    try:
        options = hcl2.SerializationOptions(with_comments=False)
        found: Mapping[str, Any] = hcl2.loads(text + "\n", serialization_options=options)
    except RecursionError:
        raise SourceError(f"{name}: the nesting is too deep") from None
    except Exception as error:
        # The parser has no class of its own for what it refuses.
        reason = str(error).partition("\n")[0]
        raise SourceError(f"{name}: this is not Terraform's language: {reason}") from error
    return found


def _blocks(found: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The blocks with two labels, such as resources, with their labels."""
    for outer in found.get(kind, ()):
        for first, inner in outer.items():
            if isinstance(inner, Mapping) and not first.startswith("__"):
                yield from (
                    (_label(first), _label(second), body) for second, body in inner.items() if isinstance(body, Mapping)
                )


def _label(text: str) -> str:
    return text.strip('"')


def _directory(found: list[Mapping[str, Any]]) -> _Directory:
    names: dict[str, Any] = {}
    for file in found:
        for block in file.get("locals", ()):
            names |= block
    resources = {(kind, name): body for file in found for kind, name, body in _blocks(file, "resource")}
    return _Directory(names, resources)


def _of_file(
    name: str, text: str, found: Mapping[str, Any], directory: _Directory, conversion: Conversion
) -> Iterator[Written]:
    for module in found.get("module", ()):
        for label in module:
            if not label.startswith("__"):
                conversion.skip(name, f"module.{_label(label)}", f"a module: {_EVALUATES}")
    for kind, label, body in _blocks(found, "resource"):
        where = f"{name}:{_line(text, kind, label)}"
        address = f"{kind}.{label}"
        try:
            if many := sorted(_MANY & body.keys()):
                raise _NotPlainError(many[0])
            inside = {key: item for key, item in body.items() if key not in _META}
            yield Written(kind, address, _tree(where, inside, directory), _provider(body))
        except _NotPlainError as error:
            if _is_about_kafka(kind):
                conversion.skip(where, address, f"{error}: {_EVALUATES}")
            else:
                conversion.add_unmanaged(where, address, "neither an ACL nor a topic nor a quota of Kafka")


def _line(text: str, kind: str, label: str) -> int:
    """The line where a resource begins; the parser does not tell it."""
    found = re.search(rf'^[ \t]*resource\s+"?{re.escape(kind)}"?\s+"?{re.escape(label)}"?\s*\{{', text, re.M)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _is_about_kafka(kind: str) -> bool:
    return any(word in kind for word in ("kafka", "redpanda", "confluent", "msk"))


def _provider(body: Mapping[str, Any]) -> str:
    return str(body.get("provider", "the default provider")).strip('"${}')


def _tree(where: str, value: Any, directory: _Directory) -> Tree:
    if isinstance(value, Mapping):
        fields = {_label(key): item for key, item in value.items() if not key.startswith("__")}
        return Tree(where, {key: _tree(where, item, directory) for key, item in fields.items()}, set())
    if isinstance(value, list):
        return Tree(where, tuple(_tree(where, item, directory) for item in value), set())
    return Tree(where, _text(value, directory, 0))


def _text(value: Any, directory: _Directory, steps: int) -> str | None:
    """A plain value as text; raises :class:`_NotPlainError` for an expression."""
    if value is None or value == "null":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str) or steps > _MOST_STEPS:
        raise _NotPlainError(str(value)[:80])
    if value in ("true", "false"):
        return value
    if value.startswith('"') and value.endswith('"') and len(value) > 1:
        return _string(value, directory, steps)
    whole = _REFERENCE.fullmatch(value)
    return _referred((whole[1] if whole else value).strip(), directory, steps)


def _string(value: str, directory: _Directory, steps: int) -> str:
    if "%{" in value or "$${" in value or value.startswith('"<<'):
        raise _NotPlainError(value[:80])
    parts, position = [], 0
    inside = value[1:-1]
    for found in _REFERENCE.finditer(inside):
        parts += [_unescaped(inside[position : found.start()])]
        parts += [_referred(found[1].strip(), directory, steps) or ""]
        position = found.end()
    rest = inside[position:]
    if "${" in rest:
        raise _NotPlainError(value[:80])
    text = "".join([*parts, _unescaped(rest)])
    if len(text) > _LONGEST:
        raise _NotPlainError(f"{text[:20]}…")
    return text


def _unescaped(text: str) -> str:
    try:
        plain: str = json.loads(f'"{text}"')
    except ValueError as error:
        raise _NotPlainError(text[:80]) from error
    return plain


def _referred(expression: str, directory: _Directory, steps: int) -> str | None:
    """What a local, or an attribute of a resource, says in so many words; each is evaluated once."""
    if expression not in directory.known:
        directory.known[expression] = _text(_meant(expression, directory), directory, steps + 1)
    return directory.known[expression]


def _meant(expression: str, directory: _Directory) -> Any:
    if (found := _LOCAL.fullmatch(expression)) and found[1] in directory.locals:
        return directory.locals[found[1]]
    found = _ATTRIBUTE.fullmatch(expression)
    body = directory.resources.get((found[1], found[2])) if found else None
    if found and body is not None and not _MANY & body.keys() and found[3] in body:
        return body[found[3]]
    raise _NotPlainError(expression[:80])
