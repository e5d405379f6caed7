"""``apply --throttle``: a rate with a unit, and only with a saved plan, which finds its throttle again after a kill."""

from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run


@pytest.mark.parametrize(
    ("rate", "why"),
    [
        ("50MiB", "--throttle needs a saved plan"),
        ("1024", "--throttle needs a saved plan"),
        ("1023", "1023 is too small: at least 1024"),
        ("50MB", "has no known unit"),
        ("-1", "-1 is too small"),
        ("fast", "is not a whole number"),
    ],
)
def test_a_throttle_that_cannot_be_kept_is_refused(
    rate: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["apply", str(tmp_path), "--cluster", "c", "--yes", f"--throttle={rate}"]
    assert run(words) == Exit.USAGE
    assert why in capsys.readouterr().err.replace("\n", " ")
