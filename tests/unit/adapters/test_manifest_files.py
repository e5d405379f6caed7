"""Files and directories as sources, and what is refused."""

import os
from pathlib import Path

import pytest

from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.system import files as manifest_files
from reconciler.system.files import read_manifest_files


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(f"# {name}\r\n".encode())


def refused(path: Path) -> list[str]:
    with pytest.raises(ManifestError) as caught:
        read_manifest_files(path)
    return [f"{problem.origin} {problem.code} {problem.message}" for problem in caught.value.problems]


def test_a_directory_is_read_in_order_without_what_is_hidden(tmp_path: Path) -> None:
    write(
        tmp_path, "b.yml", "a/z.yaml", "a/B.YAML", "a.yaml", ".hidden.yaml", ".git/x.yaml", "a/.x/y.yaml", "README.md"
    )
    assert read_manifest_files(tmp_path) == [
        Source(name, f"# {name}\r\n") for name in ("a.yaml", "a/B.YAML", "a/z.yaml", "b.yml")
    ]


def test_a_file_is_read_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "connections.yaml", "other.yaml")
    assert [source.path for source in read_manifest_files(tmp_path / "connections.yaml")] == ["connections.yaml"]


def test_links_inside_are_read_once(tmp_path: Path) -> None:
    """Kubernetes mounts a ConfigMap as links into a hidden directory."""
    write(tmp_path, "a.yaml", "..data/b.yaml", "sub/c.yaml")
    (tmp_path / "again.yaml").symlink_to("a.yaml")
    (tmp_path / "b.yaml").symlink_to("..data/b.yaml")
    (tmp_path / "sub-again").symlink_to("sub")
    assert [source.path for source in read_manifest_files(tmp_path)] == ["a.yaml", "b.yaml", "sub/c.yaml"]


def test_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "root/a.yaml", "outside/b.yaml", "root-not/c.yaml")
    (tmp_path / "root/b.yaml").symlink_to("../outside/b.yaml")
    (tmp_path / "root/c.yaml").symlink_to(tmp_path / "root-not/c.yaml")
    (tmp_path / "root/dir").symlink_to("../outside")
    assert refused(tmp_path / "root") == [
        f"{name}:1:1 KR002 this link leads out of the directory" for name in ("b.yaml", "c.yaml", "dir")
    ]


def test_a_link_to_a_hidden_directory_is_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", ".shared/teams/b.yaml")
    (tmp_path / "teams").symlink_to(".shared/teams")
    assert refused(tmp_path) == ["teams:1:1 KR001 this link leads to a hidden directory, which is not read"]


def test_what_cannot_be_read_is_a_problem_with_a_place(tmp_path: Path) -> None:
    write(tmp_path, "fine.yaml")
    (tmp_path / "latin.yaml").write_bytes("a: 1\nb: ü é".encode() + "é".encode("latin-1"))
    (tmp_path / "gone.yaml").symlink_to("nowhere.yaml")
    (tmp_path / "line\nbreak.yaml").write_text("", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert refused(tmp_path) == [
        "gone.yaml:1:1 KR001 this is a link to nowhere.yaml, where nothing is",
        "latin.yaml:2:7 KR001 byte 0xe9 is not UTF-8",
        "line\\nbreak.yaml:1:1 KR001 the file's name contains unprintable characters",
        "pipe.yaml:1:1 KR001 this is not a regular file",
    ]


@pytest.mark.parametrize("name", ["teams", "gone.yaml", "notes.txt"])
@pytest.mark.parametrize("target", ["nowhere", "itself", "../elsewhere/gone"])
def test_a_link_to_nothing_is_never_passed_over(name: str, target: str, tmp_path: Path) -> None:
    """It may have led to a directory of manifests: without a word, what these declare would be deleted."""
    (tmp_path / "root").mkdir()
    write(tmp_path / "root", "fine.yaml")
    (tmp_path / "root" / name).symlink_to(name if target == "itself" else target)
    (problem,) = refused(tmp_path / "root")
    outside = name.endswith(".yaml") and target.startswith("..")
    words = (
        "KR002 this link leads out" if outside else f"KR001 this is a link to {name if target == 'itself' else target}"
    )
    assert problem.startswith(f"{name}:1:1 {words}")
    (tmp_path / "root" / f".#{name}").symlink_to("who@where")
    assert len(refused(tmp_path / "root")) == 1


def test_a_large_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_files, "MAX_FILE_BYTES", 10)
    (tmp_path / "a.yaml").write_bytes(b"0123456789")
    assert len(read_manifest_files(tmp_path)) == 1
    (tmp_path / "b.yaml").write_bytes(b"0123456789a")
    assert refused(tmp_path) == ["b.yaml:1:1 KR003 the file has 11 bytes, more than 10"]


def test_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("", encoding="utf-8")
    assert refused(tmp_path) == [f"{tmp_path}:1:1 KR004 there are no manifests in this directory"]
    missing = tmp_path / "missing"
    assert refused(missing) == [f"{missing}:1:1 KR004 there is no such directory"]


def test_a_pipe_is_called_what_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "connections")
    assert refused(tmp_path / "connections") == ["connections:1:1 KR001 this is not a regular file"]
