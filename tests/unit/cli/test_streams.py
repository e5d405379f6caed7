"""What a command does where its standard streams are closed, full, of another encoding, or where nobody listens."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli import console
from reconciler.results import OutputKind

_NAMES = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {principal: "User:r", allowEveryoneIfNoAclFound: false}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: names}
spec:
  principal: User:José
  rules:
    - {allow: READ, groups: ["größe-日本"]}
    - {deny: READ, groups: [other]}
"""
_EMPTY = """\
{"formatVersion": "1.0", "clusterId": "x", "aclGap": null, "topicGap": null,
"acls": [], "topics": [], "opaque": [], "unreadableTopics": {}}
"""
_APPLY = "apply manifests.yaml --cluster snapshot:live.json --yes"
_PLAN = "plan manifests.yaml --cluster snapshot:live.json --output json"
_DONE = 2


def _run(command: str, where: Path, redirection: str = "", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What a shell does with ``reconciler command redirection``, started in ``where``."""
    (where / "manifests.yaml").write_text(_NAMES, encoding="utf-8")
    (where / "live.json").write_text(_EMPTY, encoding="utf-8")
    (where / "program.py").write_text("from reconciler.cli.main import main; main()\n", encoding="utf-8")
    root = Path(__file__).parents[3]
    return subprocess.run(
        ["/bin/bash", "-c", f"set -o pipefail; {sys.executable} program.py {command} {redirection}"],
        cwd=where,
        env=os.environ | {"PYTHONPATH": str(root)} | environment,
        capture_output=True,
        check=False,
        timeout=60,
    )


def _live(where: Path) -> int:
    return (where / "live.json").read_text(encoding="utf-8").count('["User:José"')


@pytest.mark.parametrize(
    "command",
    ["validate manifests.yaml", *(pytest.param(one, marks=pytest.mark.long) for one in ("--help", _PLAN, "schema"))],
)
def test_a_full_disk_is_one_sentence(command: str, tmp_path: Path) -> None:
    done = _run(command, tmp_path, ">/dev/full")
    assert (done.returncode, done.stderr.decode().count("\n")) == (1, 1)
    assert b"No space left on device" in done.stderr


@pytest.mark.parametrize("redirection", [pytest.param(">&-", marks=pytest.mark.long), "<&- >&- 2>&-"])
def test_closed_streams_are_nobody_listening(redirection: str, tmp_path: Path) -> None:
    done = _run(f"{_APPLY} --journal journal", tmp_path, redirection)
    assert (done.returncode, done.stdout) == (0, b"")
    assert _live(tmp_path) == _DONE
    assert b"Traceback" not in done.stderr + (tmp_path / "journal").read_bytes()


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2> >(head -n 14 >/dev/null)"])
def test_an_apply_that_nobody_listens_to_any_more_goes_on_to_its_end(redirection: str, tmp_path: Path) -> None:
    done = _run(_APPLY, tmp_path, redirection)
    assert done.returncode == 0
    assert b"Applied and verified" in done.stdout
    assert _live(tmp_path) == _DONE


@pytest.mark.parametrize(
    "command",
    [
        "access --path manifests.yaml --output json",
        pytest.param("plan manifests.yaml --cluster snapshot:live.json --as-of 2026-11-01", marks=pytest.mark.long),
    ],
)
def test_the_same_bytes_whatever_the_locale(tmp_path: Path, command: str) -> None:
    expected = _run(command, tmp_path).stdout
    assert "größe-日本".encode() in expected
    assert _run(command, tmp_path, PYTHONIOENCODING="latin-1").stdout == expected
    assert _run(command, tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").stdout == expected


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for command in ("init file/below", "schema --out file/below"):
        done = _run(command, tmp_path)
        assert (done.returncode, done.stderr.decode()) == (1, "error: file/below: Not a directory\n")


def test_a_program_that_is_started_finds_its_streams_too(tmp_path: Path) -> None:
    """Else the first file that it opens takes the place of its standard output."""
    (tmp_path / "parent.py").write_text(
        "import subprocess, sys\n"
        "from reconciler.cli.console import steady\n"
        "steady()\n"
        "sys.exit(subprocess.call([sys.executable, '-c', 'import os; [os.fstat(number) for number in range(3)]']))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["/bin/bash", "-c", f"{sys.executable} parent.py <&- >&- 2>&-"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        check=False,
        timeout=60,
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("preparation", "expected"),
    [
        ("atexit.register(print, 'told')", "status\ntold\n"),
        ("threading.Thread(target=lambda: (time.sleep(0.3), print('finished'))).start()", "status\nfinished\n"),
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "status\n"),
    ],
)
def test_the_end_is_python_s_own(preparation: str, expected: str) -> None:
    """What waits for it is told, threads that must end are waited for, and nothing that was printed is lost."""
    program = f"import atexit, threading, time; from reconciler.cli.console import leave; {preparation}"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print('status'); leave(5)"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert (done.returncode, done.stdout, done.stderr) == (5, expected, "")


def test_a_long_document_is_written_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"b": [{"name": f"größe-{n}\u202e", "n": n, "x": [], "y": {}, "z": None} for n in range(30)], "a": 1.5}
    pieces: list[str] = []
    monkeypatch.setattr(console, "_TOKENS", 10)
    monkeypatch.setattr(console, "write", pieces.append)
    console.out_json(OutputKind.ACCESS, document)
    text = json.dumps({**document, "kind": OutputKind.ACCESS.value}, ensure_ascii=False, indent=2, sort_keys=True)
    assert "".join(pieces) == text.replace("\u202e", "\\u202e") + "\n"
    assert max(map(len, pieces)) < 200
