"""A snapshot that is read bit by bit is what the same text is as a whole, in every error too."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.codec.codec import SchemaError
from reconciler.codec.document import UnevenError, load, load_streamed
from reconciler.model.acl import ResourcePattern, ResourceType
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import SnapshotError, parse_document, read_document, read_items, snapshot_text
from tests.property.strategies import states, wild_states

HEAD = '{"formatVersion": "1.0", "clusterId": "c", "aclGap": null, "topicGap": null, "topics": [], "opaque": [],\n'
ROW = '["User:a", "*", "ALLOW", "READ"]'
GROUP = '{{"resourceType": "TOPIC", "patternType": "LITERAL", "name": "{}", "entries": [{}]}}'
_PATTERNS = [ResourcePattern(ResourceType.TOPIC, name) for name in ("t", "u")]
WHOLE = HEAD + f'"acls": [{GROUP.format("t", ROW)}, {GROUP.format("u", ROW)}]}}\n'


def _answer(read: Any, given_text: Any) -> Any:
    try:
        return read(given_text)
    except (SnapshotError, SchemaError) as error:
        return str(error)


def test_patterns_that_are_known_are_these_objects() -> None:
    known = {item: item for item in _PATTERNS}
    bindings = read_document(io.StringIO(WHOLE), known).state.bindings
    assert {id(binding.pattern) for binding in bindings} == set(map(id, _PATTERNS))


def _streamed(text: str, piece: int) -> Any:
    try:
        return load_streamed(io.StringIO(text), "acls", lambda _, items: list(items), piece=piece)
    except UnevenError:
        return None


def _same(text: str) -> None:
    expected = _answer(parse_document, text)
    assert _answer(read_document, io.StringIO(text)) == expected
    # A group of a pattern that manifests name is read by another way, and what is wrong with it is said all the same.
    bindings = [] if isinstance(expected, str) else expected.state.bindings
    known = {item: item for item in (*_PATTERNS, *(ResourcePattern(*one.pattern) for one in bindings))}
    assert _answer(lambda file: read_document(file, known), io.StringIO(text)) == expected


@given(wild_states)
def test_a_state_is_the_same_either_way(state: ClusterState) -> None:
    _same(snapshot_text(state))


@given(states(), st.integers(1, 40))
def test_pieces_of_any_size_give_the_same_object(state: ClusterState, piece: int) -> None:
    text = snapshot_text(state)
    assert _streamed(text, piece) == json.loads(text)


@given(
    st.integers(0, len(WHOLE)),
    st.sampled_from(["", '"', ",", "[", "]", "{", "}", "1", "x", "\\", "\ufeff", "\x00", " "]),
)
def test_whatever_is_wrong_is_said_as_before(at: int, there: str) -> None:
    _same(WHOLE[:at] + there + WHOLE[at + 1 :])
    _same(WHOLE[:at] + there + WHOLE[at:])


@given(st.integers(0, len(WHOLE)), st.integers(1, 40), st.text('"{}[],:1a\\ ', max_size=3))
def test_what_is_taken_bit_by_bit_is_taken_as_a_whole(at: int, piece: int, there: str) -> None:
    text = WHOLE[:at] + there + WHOLE[at:]
    found = _streamed(text, piece)
    assert found is None or found == load(text)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace('"acls"', '"acl"'),
        WHOLE.replace("1.0", "1.7").replace('"name"', '"more": 1, "name"'),
        WHOLE.replace('"name"', '"more": 1, "name"'),
        WHOLE.replace('"u"', '"t"'),
        WHOLE.replace(ROW, f"{ROW}, {ROW}"),
        WHOLE.replace(ROW, '["User:a", [], "ALLOW", "READ"]'),
        WHOLE.replace(ROW, '["User:a", "*", "ALLOW"]'),
        WHOLE.replace(ROW, '["User:a", "*", "ALLOW", "READ", {"a": 1}]'),
        WHOLE.replace(ROW, '"User:a"'),
        WHOLE.replace("[], ", "[1], "),
        HEAD + '"acls": {}}',
        HEAD + '"acls": [], "acls": []}',
        HEAD + '"acls": [NaN]}',
        '{"acls": [], ' + HEAD[1:-2] + "}",
        "[]",
        "",
        WHOLE + "{}",
        HEAD + '"acls": ' + "[" * 100_000 + "}",
    ],
)
def test_each_fault_is_told_with_its_place(text: str) -> None:
    _same(text)


def test_a_file_that_is_no_utf_8_is_told_by_the_byte(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_bytes(WHOLE.encode().replace(b'"u"', b'"\xff"'))
    with file.open(encoding="utf-8") as opened, pytest.raises(UnicodeDecodeError) as raised:
        read_document(opened)
    assert raised.value.start == WHOLE.index('"u"') + 1


def test_what_cannot_be_read_twice_is_read_once() -> None:
    class Pipe(io.StringIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

    assert read_document(Pipe(WHOLE)) == parse_document(WHOLE)
    assert _answer(read_document, Pipe(WHOLE[:-9])) == _answer(parse_document, WHOLE[:-9])


def test_equal_rows_are_one_object() -> None:
    first, second = read_document(io.StringIO(WHOLE)).state.bindings
    assert first.entry is second.entry


def test_items_that_say_one_thing_twice_are_refused() -> None:
    item = json.loads(GROUP.format("t", ROW))
    with pytest.raises(SchemaError):
        read_items(iter([item, item]), closed=True)
