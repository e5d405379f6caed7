"""Files to lines: parts that lose and double nothing, packed files by how they begin, and files that end too soon."""

import bz2
import gzip
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.parts.evidence.usage.scan import MAX_LINE
from reconciler.parts.fleet.tasks.logs import LogPart, directories, find_parts, line_batches


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, "zstd", asbytes=True)
    return packed


def lines(part: LogPart) -> list[bytes]:
    return [line for batch in line_batches(part) for line in batch]


def whole(file: Path) -> LogPart:
    return LogPart("c", str(file), 0, None, file.stat().st_size)


def text_lines(data: bytes) -> list[bytes]:
    found = data.split(b"\n")
    return found[:-1] if not found[-1] else found


@given(st.binary(max_size=60).map(lambda data: data.replace(b"a", b"\n")), st.sets(st.integers(1, 59), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_lose_and_double_nothing(tmp_path: Path, data: bytes, cuts: set[int]) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"\0\0\0\0" + data)
    places = [0, *sorted(cut for cut in cuts if cut < len(data) + 4), None]
    parts = [LogPart("c", str(file), start or 0, end, 1) for start, end in pairwise(places)]
    assert [line for part in parts for line in lines(part)] == text_lines(file.read_bytes())


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstd])
def test_packed_files_are_known_by_how_they_begin(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    data = b"\n".join(b"line %d" % number for number in range(100_000))
    file = tmp_path / "kafka-authorizer.log.2026-11-01-07"
    file.write_bytes(pack(data[:250_000]) + pack(data[250_000:]))
    assert lines(whole(file)) == data.split(b"\n")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstd])
def test_a_packed_file_that_was_cut_gives_what_it_has_and_says_so(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    data = b"\n".join(os.urandom(30).hex().encode() for _ in range(40_000))
    packed, file, found = pack(data), tmp_path / "log", list[bytes]()
    file.write_bytes(packed[: len(packed) * 2 // 3])

    def read() -> None:
        for batch in line_batches(whole(file)):
            found.extend(batch)

    with pytest.raises(OSError, match="Truncated"):
        read()
    assert 10_000 < len(found) < 40_000
    assert found == data.split(b"\n")[: len(found)]


def test_a_line_of_megabytes_is_not_kept_whole(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"a\n" + b"x" * 20_000_000 + b"\nb\n" + b"\0" * 9_000_000)
    found = lines(whole(file))
    assert [found[0], found[2]] == [b"a", b"b"]
    assert MAX_LINE < len(found[1]) < 5_000_000
    assert len(found[3]) == MAX_LINE + 1


def test_places_are_files_directories_and_patterns(tmp_path: Path) -> None:
    for name in ("c1/kafka-authorizer.log", "c1/old/kafka-authorizer.log.1", "c1/.hidden", "c1/server.log", "c2/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    def names(place: str, *, deep: bool = True) -> list[str]:
        found = find_parts("c", str(tmp_path / place), deep=deep)
        return [str(Path(part.file).relative_to(tmp_path)) for part in found]

    assert names("c1") == ["c1/kafka-authorizer.log", "c1/old/kafka-authorizer.log.1", "c1/server.log"]
    assert names("c1", deep=False) == ["c1/kafka-authorizer.log", "c1/server.log"]
    assert names("c1/server.log") == ["c1/server.log"]
    assert names("c*/kafka-authorizer.log*") == ["c1/kafka-authorizer.log", "c1/old/kafka-authorizer.log.1"]
    assert names(".", deep=False) == []
    assert directories(str(tmp_path)) == ["c1", "c2"]
    address = find_parts("c", f"file://{tmp_path}/c2")
    assert [lines(part) for part in address] == [[b"x"]]
    for missing in ("c3", "c3/*"):
        with pytest.raises(FileNotFoundError):
            names(missing)


def test_large_files_are_read_in_parts_and_packed_ones_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.parts.fleet.tasks.logs.PART_BYTES", 100)
    (tmp_path / "plain").write_bytes(b"0123456789\n" * 30)
    (tmp_path / "packed").write_bytes(gzip.compress(os.urandom(300)))
    parts = find_parts("c", str(tmp_path))
    assert [(part.start, part.end, part.size) for part in parts if part.file.endswith("plain")] == [
        (0, 100, 100),
        (100, 200, 100),
        (200, 300, 100),
        (300, None, 30),
    ]
    assert len([part for part in parts if part.file.endswith("packed")]) == 1
