"""Records in a file: safe when written, cut off where torn, refused where altered."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.audit import LogIdentity, verify
from reconciler.apply.records import JournalError, past_runs
from reconciler.ports import RecordError
from reconciler.system.journal import AuditLog, InUseError, RecordFile, read_locked, read_records

RUN = {
    "record": "run",
    "format": 1,
    "run": "r",
    "operator": "o",
    "planId": "p",
    "changeId": "x",
    "fileDigest": None,
    "approvals": None,
    "proposer": None,
    "url": None,
    "toolVersion": "0",
    "steps": 3,
    "cluster": {"id": "c", "name": "n"},
    "commit": None,
    "time": "t",
}


END = {
    "record": "end",
    "run": "r",
    "succeeded": True,
    "verified": True,
    "interrupted": False,
    "stopped": "",
    "differences": [],
    "counts": {"done": 1},
    "time": "t",
}


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    path = str(tmp_path / "j")
    records: list[dict[str, Any]] = [{"a": 1}, {"b": "é\n\u2028"}, {"c": ["x"]}]
    with RecordFile(path) as file:
        file.write(records[0])
        file.write(*records[1:])
    assert list(read_records(path)) == records
    assert Path(path).stat().st_mode & 0o077 == 0


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """The kernel takes no byte of a file beyond its first ``size``, as a disk does that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("taken", [0, 1, 9, 40, 150])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_record_that_the_disk_cuts_short_is_not_in_the_journal(tmp_path: Path, taken: int, batch: int) -> None:
    path = str(tmp_path / "j")
    with RecordFile(path) as file:
        file.write(RUN)
        whole = Path(path).stat().st_size
        with full_after(whole + taken), pytest.raises(RecordError, match="too large"):
            file.write(*[RUN] * batch)
        assert Path(path).stat().st_size == whole
        file.write(END)
    assert list(read_records(path)) == [RUN, END]


@pytest.mark.parametrize("taken", [0, 1, 9, 40, 400])
def test_lines_that_the_disk_cuts_short_are_not_in_the_audit_log(tmp_path: Path, taken: int) -> None:
    path = str(tmp_path / "audit.jsonl")
    with AuditLog(LogIdentity("1", "host", path)) as log:
        log.write(RUN)
        whole, head = Path(path).stat().st_size, log.head
        with full_after(whole + taken), pytest.raises(RecordError, match="too large"):
            log.write(*[RUN] * 3)
        assert (Path(path).stat().st_size, log.head) == (whole, head)
        log.write(END)
        head = log.head
    with read_locked(path) as lines:
        found = verify("audit.jsonl", lines, [head])
    assert (found.lines, found.problems, found.notes) == (2, (), ())


def test_only_one_writes_to_a_journal(tmp_path: Path) -> None:
    path = str(tmp_path / "j")
    with RecordFile(path), pytest.raises(InUseError):
        RecordFile(path)
    with RecordFile(path):
        pass


@pytest.mark.parametrize("torn", ["", "{", '{"record":"intent","st', "x" * 200_000])
def test_a_torn_end_is_cut_off(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "j"
    path.write_text('{"a":1}\n' + torn)
    assert list(read_records(str(path))) == [{"a": 1}]
    with RecordFile(str(path)) as file:
        file.write({"b": 2})
    assert list(read_records(str(path))) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("text", ["a word without an end of line", "[1]"])
def test_what_is_no_journal_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "j"
    path.write_text(text)
    with pytest.raises(RecordError, match="not a journal"):
        RecordFile(str(path))
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["", '{"record":"run","for', "\x00" * 100])
def test_a_journal_of_which_nothing_is_whole_begins_anew(tmp_path: Path, text: str) -> None:
    path = tmp_path / "j"
    path.write_text(text)
    with RecordFile(str(path)) as file:
        file.write({"a": 1})
    assert list(read_records(str(path))) == [{"a": 1}]


@pytest.mark.parametrize("line", ["{", "[]", "1", "null", "\udcff", '{"a":' + "[" * 100_000, "\x00"])
def test_an_altered_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "j"
    path.write_bytes(b'{"a":1}\n' + line.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(JournalError, match="line 2"):
        list(read_records(str(path)))


def test_a_line_longer_than_any_record_is_not_taken_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with path.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    with pytest.raises(JournalError, match="longer"):
        list(read_records(str(path)))


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "j").symlink_to(tmp_path / "target")
    with pytest.raises(RecordError, match="symbolic link"):
        RecordFile(str(tmp_path / "j"))


def test_a_place_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="No such file"):
        RecordFile(str(tmp_path / "no" / "j"))


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(JournalError, match="newer"):
        past_runs([{**RUN, "format": 2}])


def test_a_record_of_a_kind_that_a_newer_version_added_is_ignored() -> None:
    (run,) = past_runs([RUN, {"record": "pause", "run": "r"}])
    assert run.run == "r"


@pytest.mark.parametrize(
    ("record", "place"),
    [
        ({"record": "end", "run": "r", "succeeded": 1}, "succeeded"),
        ({"record": "pause", "run": "other"}, "record"),
        ({"record": "outcomes", "run": "r", "batch": None, "outcomes": [{"step": 1}]}, r"outcomes\[0\].step"),
        ({"record": "intent", "run": "other", "batch": 1, "phase": 1, "steps": [], "time": "t"}, "run"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(record: dict[str, Any], place: str) -> None:
    with pytest.raises(JournalError, match=f"record 2 .*: {place}: "):
        past_runs([RUN, record])


def test_a_later_record_about_a_step_counts_more() -> None:
    intent = {"record": "intent", "run": "r", "batch": 1, "phase": 2, "steps": ["a", "b", "c"], "time": "t"}
    about = {"record": "outcomes", "run": "r", "batch": 1, "time": "t"}
    unknown = {**about, "outcomes": [{"step": "a", "outcome": "unknown"}]}
    done = {**about, "outcomes": [{"step": "a", "outcome": "done"}]}
    (run,) = past_runs([RUN, intent, unknown])
    assert (set(run.performed), set(run.doubtful), run.ended) == (set[str](), {"a", "b", "c"}, False)
    (run,) = past_runs([RUN, intent, unknown, done, END])
    assert (set(run.performed), set(run.doubtful), run.ended) == ({"a"}, {"b", "c"}, True)


_keys = st.sampled_from([*RUN, "steps", "outcomes", "batch"])
_words = st.sampled_from(["run", "intent", "outcomes", "r"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=5),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(_keys, _json) | st.just(RUN), max_size=4))
def test_no_record_makes_the_reader_fail_otherwise(records: list[dict[str, Any]]) -> None:
    try:
        runs = past_runs(json.loads(json.dumps(records)))
    except JournalError:
        return
    assert all(isinstance(run.run, str) for run in runs)
