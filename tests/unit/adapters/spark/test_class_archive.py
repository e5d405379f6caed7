"""The archive of Spark's classes is code that runs: only a file that nobody else can have written is used."""

import os
from pathlib import Path

import pytest

from reconciler.parts.fleet.spark import jvm as class_archive
from reconciler.parts.fleet.spark.jvm import archive_option, archive_place, is_missing


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is, in a cache of its own; the directory is there, and the archive is not."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = archive_place()
    assert found is not None
    found.parent.mkdir(mode=0o700, parents=True)
    return found


def made(place: Path) -> None:
    place.touch(0o400)


def test_one_of_our_own_is_used(place: Path) -> None:
    assert (archive_option(), is_missing()) == ("", True)
    made(place)
    assert (archive_option(), is_missing()) == (f"-XX:SharedArchiveFile={place}", False)


def test_one_that_others_can_write_is_not_used(place: Path) -> None:
    made(place)
    place.chmod(0o420)
    assert archive_option() == ""
    place.chmod(0o400)
    place.parent.chmod(0o777)
    assert archive_option() == ""


def test_one_that_somebody_else_owns_is_not_used(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(place)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert archive_option() == ""


def test_a_link_is_not_used(place: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    made(elsewhere)
    place.symlink_to(elsewhere)
    assert archive_option() == ""


def test_another_java_or_spark_has_another_archive(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    other = archive_place()
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    monkeypatch.setattr(class_archive, "spark_home", lambda: str(tmp_path / "spark"))
    assert len({place, other, archive_place()}) == 3


def test_without_a_java_or_a_usable_cache_there_is_none(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "with space"))
    assert (archive_place(), archive_option(), is_missing()) == (None, "", False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert (archive_place(), archive_option(), is_missing()) == (None, "", False)
