"""Long text of a command that is only read goes to a pager: on a terminal, and nowhere else."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false}
"""
_LINES = 5


def _on_a_terminal(where: Path, *words: str, **variables: str) -> str:
    """What a terminal of a few lines shows of a command."""
    (where / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
    pager = where / "pager"
    pager.write_text("#!/bin/sh\necho paged secret=${KAFKA_PASSWORD:-none}\ncat\n", encoding="utf-8")
    pager.chmod(0o700)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, 80, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "TERM": "xterm", "PAGER": str(pager)}
    done = subprocess.Popen(
        [sys.executable, "-c", "from reconciler.cli.main import main; main()", *words],
        cwd=where,
        env={**environment, "KAFKA_PASSWORD": "hunter2", **variables},
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux says so where the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    done.wait(60)
    return shown.decode()


def test_long_text_is_paged_and_the_pager_gets_no_secret(tmp_path: Path) -> None:
    shown = _on_a_terminal(tmp_path, "help", "KA001")
    assert shown.startswith("paged secret=none")
    assert "KA001" in shown


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (("help", "KA001", "--no-pager"), {}),
        (("help", "KA001"), {"CI": "true"}),
        (("help", "KA001"), {"TERM": "dumb"}),
        (("help", "KA001"), {"PAGER": "no-such-program"}),
        (("access", "-o", "json"), {}),
    ],
)
def test_other_text_is_not(words: tuple[str, ...], variables: dict[str, str], tmp_path: Path) -> None:
    shown = _on_a_terminal(tmp_path, *words, **variables)
    assert shown
    assert "paged" not in shown
