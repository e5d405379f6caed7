"""What an edit does to the text of each shape of a rule: no more than a person would do. The cases: ``shapes.txt``."""

import re
from pathlib import Path

import pytest

from reconciler.cli.main import run

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"], allowEveryoneIfNoAclFound: false}
"""
_CASES = re.split(r"^=== (.*)\n", (Path(__file__).parent / "shapes.txt").read_text(encoding="utf-8"), flags=re.M)[1:]


@pytest.mark.parametrize(("newline", "end"), [("\n", "\n"), ("\r\n", "")])
@pytest.mark.parametrize(("name", "case"), [*zip(_CASES[::2], _CASES[1::2], strict=True)], ids=_CASES[::2])
def test_an_edit_reads_as_a_person_would_write_it(name: str, case: str, newline: str, end: str, tmp_path: Path) -> None:
    """Also where another editor breaks lines otherwise, and does not end the last one."""
    given, after = case.removeprefix("--- ").split("--- after\n")
    words, _, before = given.partition("\n")
    (tmp_path / "c.yaml").write_text(_CLUSTER, encoding="utf-8")
    text = before.rstrip("\n").replace("\n", newline) + end
    (tmp_path / "a.yaml").write_bytes(text.encode())
    assert run([*words.split(), "--path", str(tmp_path), "--write"]) == 0, name
    found = (tmp_path / "a.yaml").read_bytes().decode()
    assert found.rstrip("\r\n") == after.rstrip("\n").replace("\n", newline)
    assert len([*tmp_path.iterdir()]) == 2
