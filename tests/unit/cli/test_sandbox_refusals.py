"""What sandbox commands refuse before anything is started or ended, each in a sentence."""

import pwd
from pathlib import Path

import pytest

from reconciler.cli.console import Exit
from reconciler.cli.main import run


@pytest.mark.parametrize("command", [["status"], ["down", "--all"], ["up"]])
def test_a_user_without_a_home(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(_number: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert run(["sandbox", *command]) == Exit.ERROR
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: There is no home directory")
    assert "XDG_" in shown.err


def test_a_home_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.write_text("")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert run(["sandbox", "up"]) == Exit.ERROR
    assert f"error: {home}" in (shown := capsys.readouterr()).err
    assert "name directories that can be written to" in shown.err


def test_one_and_all_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sandbox", "down", "--all", "--name", "mine"]) == Exit.USAGE
    assert capsys.readouterr().out == ""
