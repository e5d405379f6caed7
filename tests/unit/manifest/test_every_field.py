"""Every field of every document: another value is another declaration; one of a wrong shape is refused in its place."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from reconciler.manifest.documents import KINDS_BY_NAME
from reconciler.manifest.guardrail_set import rule_key
from reconciler.manifest.manifests import load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from tests.worlds import at_place, with_value

Place = tuple[str | int, ...]


class _Texts(yaml.SafeLoader):
    """Every value is the text that is written."""


_Texts.yaml_implicit_resolvers = {}
_FILE: Final = Path(__file__).parent / "every_field.yaml"
DOCUMENTS: Final[list[dict[str, Any]]] = [*yaml.load_all(_FILE.read_text(encoding="utf-8"), _Texts)]


def _text(document: Mapping[str, Any]) -> str:
    """JSON is YAML, and soon written: each value on a line of its own."""
    return json.dumps(document, indent=1)


_ROLE_TEXT: Final = _text(next(one for one in DOCUMENTS if one["kind"] == "Role"))


def _read(document: Mapping[str, Any]) -> Any:
    """What it declares, wherever it stands; raises :class:`ManifestError`."""
    others = () if document["kind"] != "Acls" else (Source("role.yaml", _ROLE_TEXT),)
    found = load([Source("a.yaml", _text(document)), *others])
    return rule_key((found.documents, found.templates))


def _places(node: Any, place: Place = ()) -> Iterator[Place]:
    """Of all values, those that have values in them among them."""
    if place:
        yield place
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in entries:
        yield from _places(inner, (*place, key))


#: Words of which one is written, for each of which there are others.
_WORDS: Final = (
    ("true", "false"),
    ("error", "warning"),
    ("acl", "identity", "flow"),
    ("READ", "DESCRIBE"),
    ("WRITE", "DESCRIBE"),
    ("ALL", "DESCRIBE_TOKENS", "CREATE_TOKENS"),
    ("DELETE", "DESCRIBE"),
    ("DESCRIBE", "ALL"),
    ("x", "plain"),
    ("4.0", "4.1"),
    ("topics", "groups"),
    ("segment.ms", "flush.ms"),
    ("partitions", "segment.bytes"),
    ("replicationFactor", "segment.bytes"),
    ("$names", "$topics"),
    ("$topics", "$names"),
    ("ALLOW", "DENY"),
    ("apache", "redpanda"),
    ("topics", "users"),
    ("quotas", "users"),
    ("KT004", "KT005"),
    ("KA008", "KA010"),
    ("KA007", "KA001"),
    ("2027-01-31", "2027-02-01"),
    ("10.0.0.7", "10.0.0.8"),
    ("compact", "delete"),
    ("delete", "compact"),
    ("t", "everybody", "r"),
    ("r", "other"),
    ("retention.ms", "retention.bytes", "segment.bytes"),
    ("limit", "protected"),
    ("maxDeletes", "maxDeletePercent"),
)


def _others(text: str) -> Iterator[str]:
    """Texts that the field may take instead."""
    for words in _WORDS:
        if text in words:
            yield from (word for word in words if word != text)
    number = re.search(r"[0-9]+", text)
    if number:
        for more in (1, -1):
            yield f"{text[: number.start()]}{int(number[0]) + more}{text[number.end() :]}"
    yield f"{text}x"
    yield re.sub(r"^User:", "User:x", text)


#: Fields that take one value, whatever it is written for; and names by which other fields know an item.
_ALONE: Final = ("any", "cluster", "default", "absent", "disabled", "forbidden")
_REFERRED: Final = ("name", "check", "team", "to", "role", "parameters", "password", "salt", "saltedPassword")
#: Those of which no declaration has the value, and why.
_NOT_DECLARED: Final = {
    "Fleet metadata.labels.team": "nothing is chosen by the labels of a fleet",
}


def _named(document: Mapping[str, Any], place: Place) -> str:
    return f"{document['kind']} {'.'.join(map(str, place))}"


def _differs(document: dict[str, Any], place: Place, base: Any) -> bool:
    """Whether another text in this place is another declaration; ``False`` too where each is refused."""
    for other in _others(at_place(document, place)):
        try:
            if _read(with_value(document, place, other)) != base:
                return True
        except ManifestError:
            continue
    return False


@pytest.mark.parametrize("kind", KINDS_BY_NAME)
def test_another_value_is_another_declaration(kind: str) -> None:
    """None is dropped, none is read from the field beside it: nobody would see that in a plan that is small."""
    for document in (one for one in DOCUMENTS if one["kind"] == kind):
        base = _read(document)
        for place in _places(document):
            fixed = {place[-1], *place[-2:-1]} & {*_ALONE, *_REFERRED, "apiVersion", "kind"}
            if fixed or not isinstance(at_place(document, place), str):
                continue
            assert _differs(document, place, base) is (_named(document, place) not in _NOT_DECLARED), place


@pytest.mark.parametrize("kind", KINDS_BY_NAME)
def test_a_value_of_another_shape_is_refused_in_its_place(kind: str) -> None:
    for document in (one for one in DOCUMENTS if one["kind"] == kind):
        text = _text(document).splitlines()
        for place in _places(document):
            changed = with_value(document, place, [["a"]])
            pairs = itertools.zip_longest(text, _text(changed).splitlines())
            line = next(number for number, (old, new) in enumerate(pairs, 1) if old != new)
            with pytest.raises(ManifestError) as refused:
                _read(changed)
            places = [one.origin for one in refused.value.problems if one.severity == "error"]
            assert any(one.file == "a.yaml" and one.line in (line, line + 1) for one in places), place
