"""A file is replaced whole; what is no file is written to, and stays what it is."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.system.files import write_atomically, write_pieces_atomically


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_a_file_is_replaced_as_the_umask_says(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        _replace_twice(tmp_path, mode)
    finally:
        os.umask(before)


def _replace_twice(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "plan.json"
    for text in ("one", "two é"):
        write_atomically(text, str(target))
        assert target.read_text(encoding="utf-8") == text
        assert stat.S_IMODE(target.stat().st_mode) == mode
    assert list(tmp_path.iterdir()) == [target]


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    write_atomically("a plan", str(link))
    reader.join()
    assert received == ["a plan"]
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_an_unnamed_pipe_is_written_to() -> None:
    """As in ``--out >(program)``, or ``--out /dev/stdout`` before a bar."""
    end, start = os.pipe()
    write_atomically("a plan", f"/dev/fd/{start}")
    os.close(start)
    with os.fdopen(end, encoding="utf-8") as received:
        assert received.read() == "a plan"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Also ``/dev/stdout`` is one, which leads to a file where the output goes into one."""
    target, link = tmp_path / "plan.json", tmp_path / "link"
    link.symlink_to(target)
    for text in ("one", "two"):
        write_atomically(text, str(link))
        assert target.read_text(encoding="utf-8") == text
        assert link.is_symlink()


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_atomically("a plan", str(tmp_path))


def test_a_directory_that_is_not_there_is_told_by_the_name_that_was_given(tmp_path: Path) -> None:
    target = str(tmp_path / "nowhere" / "plan.json")
    with pytest.raises(FileNotFoundError) as refused:
        write_atomically("a plan", target)
    assert refused.value.filename == target


def test_a_text_that_cannot_be_made_to_its_end_replaces_nothing(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "the begin"
        raise ValueError("no more")

    target = tmp_path / "snapshot.json"
    target.write_text("before", encoding="utf-8")
    with pytest.raises(ValueError, match="no more"):
        write_pieces_atomically(pieces(), str(target))
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["before"]
    write_pieces_atomically(iter(["in two ", "parts"]), str(target))
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["in two parts"]
