"""What --out and --snapshot name is written, whatever is printed beside it."""

import io
import json
import sys
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text

_LISTED = """\
Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`:
  (principal=User:a, host=*, operation=WRITE, permissionType=ALLOW)
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("live.json").write_text(snapshot_text(ClusterState("id", topics={"orders": Topic("orders", 3, 1)})))
    Path("acls.txt").write_text(_LISTED)


@pytest.mark.parametrize(
    "command", [["export", "--cluster", "snapshot:live.json"], ["convert", "--from", "kafka-acls", "acls.txt"]]
)
def test_json_says_what_was_written(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--out", "out", "--output", "json"]) == Exit.OK
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == {str(file.relative_to("out")): file.read_text() for file in Path("out").rglob("*.yaml")}
    assert files


def test_json_of_a_snapshot_that_was_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", "--cluster", "snapshot:live.json", "--snapshot", "copy.json", "--output", "json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {
        "kind": "ExportSnapshot",
        "snapshot": "copy.json",
        "bindings": 0,
        "topics": 1,
    }
    assert Path("copy.json").read_text() == Path("live.json").read_text()


def test_two_places_are_refused() -> None:
    assert run(["export", "--cluster", "snapshot:live.json", "--snapshot", "copy.json", "--out", "out"]) == Exit.USAGE
    assert not Path("copy.json").exists()


def test_input_in_another_encoding_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(_LISTED.encode() + b"\xff\n"), encoding="utf-8"))
    assert run(["convert", "--from", "kafka-acls", "-"]) == Exit.ERROR
    assert capsys.readouterr() == ("", "error: -: the text is not UTF-8\n")
