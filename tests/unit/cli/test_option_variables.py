"""Variables that set options: which, what help says of them, and what comes before them."""

from pathlib import Path

import click
import pytest

from reconciler.cli.commands import TYPED_ONLY, variables
from reconciler.cli.console import Exit
from reconciler.cli.main import run
from tests.unit.cli.test_command_line import COMMANDS, OPTIONS, place, spelled

__all__ = ["place"]

#: What other commands mean by the name is not meant here, so no variable sets it.
MEANS_ANOTHER_THING = {(("report",), "--output"), (("report",), "--path"), (("convert",), "--path")}


def test_an_option_that_a_variable_may_set_has_one_that_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, command, option in OPTIONS:
        flag = spelled(option).removeprefix("--").replace("-", "_").upper()
        own = "_".join(["RECONCILER", *words, flag]).replace("-", "_").upper()
        if spelled(option).removeprefix("--") in TYPED_ONLY or (words, spelled(option)) in MEANS_ANOTHER_THING:
            assert variables(option) == ()
            continue
        assert variables(option)[0] == own
        assert set(variables(option)) <= {own, f"RECONCILER_{flag}"}
        for variable in variables(option):
            with monkeypatch.context() as patched:
                patched.setenv(variable, "1")
                value, source = option.consume_value(click.Context(command, info_name="x"), {})
            assert source is click.ParameterSource.ENVIRONMENT, variable
            assert value in ("1", ["1"], True)


@pytest.mark.parametrize("word", sorted(TYPED_ONLY))
def test_no_variable_says_what_is_meant(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable left in a shell, of the command or of all, sets nothing that widens, deletes, confirms or selects."""
    name = word.replace("-", "_").upper()
    for words, command, option in OPTIONS:
        if spelled(option) == f"--{word}":
            with monkeypatch.context() as patched:
                patched.setenv(f"RECONCILER_{name}", "1")
                patched.setenv("_".join(["RECONCILER", *words, name]).replace("-", "_").upper(), "1")
                _, source = option.consume_value(click.Context(command, info_name="x"), {})
            assert source is not click.ParameterSource.ENVIRONMENT


def test_a_variable_that_sets_an_option_is_told_and_one_that_does_not_too(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECONCILER_CLUSTER", "snapshot:live.json")
    monkeypatch.setenv("RECONCILER_COLOR", "never")
    monkeypatch.setenv("RECONCILER_ALLOW_DELETES", "1")
    monkeypatch.setenv("RECONCILER_PLAN_FAIL_ON", "new-access")
    monkeypatch.setenv("RECONCILER_WRITE", "1")
    assert run(["plan", "manifests"]) == Exit.OK
    told = capsys.readouterr().err.splitlines()
    assert "from the environment: RECONCILER_CLUSTER sets --cluster, RECONCILER_COLOR sets --color" in told
    assert [line for line in told if "ignored" in line] == [
        "warning: RECONCILER_ALLOW_DELETES is ignored: --allow-deletes counts on the command line only",
        "warning: RECONCILER_PLAN_FAIL_ON is ignored: --fail-on counts on the command line only",
    ], "the plan has no --write"
    assert run(["plan", "manifests", "--cluster", "snapshot:live.json", "--color", "never"]) == Exit.OK
    assert "from the environment" not in capsys.readouterr().err
    assert run(["grant", "User:a", "READ", "topic/orders", "--path", "manifests"]) == Exit.OK
    shown = capsys.readouterr()
    assert "RECONCILER_WRITE is ignored" in shown.err
    assert "prefix" not in shown.out


def test_a_variable_of_several_commands_means_the_same_in_each() -> None:
    meanings: dict[str, set[tuple[object, ...]]] = {}
    for _, _, option in OPTIONS:
        if len(variables(option)) > 1:
            words = () if spelled(option) == "--output" else getattr(option.type, "choices", ())  # lists have more
            kind = (option.metavar, option.is_flag, tuple(words))
            meanings.setdefault(variables(option)[-1], set()).add(kind)
    assert {name: kinds for name, kinds in meanings.items() if len(kinds) > 1} == {}
    assert {"RECONCILER_CLUSTER", "RECONCILER_CONNECTIONS", "RECONCILER_OUTPUT", "RECONCILER_PATH"} <= meanings.keys()


def test_help_says_which_variable_sets_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    for words, command in COMMANDS.items():
        own = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
        if words and own:
            assert run([*words, "--help"]) == Exit.OK
            settable = any(variables(one) for one in own)
            assert ("Environment variables set options: RECONCILER_" in capsys.readouterr().out) is settable


def test_an_option_comes_before_the_commands_variable_and_that_before_the_shared_one(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECONCILER_PATH", "manifests")
    monkeypatch.setenv("RECONCILER_CLUSTER", "snapshot:none.json")
    monkeypatch.setenv("RECONCILER_PLAN_CLUSTER", "snapshot:live.json")
    assert run(["plan"]) == Exit.OK
    assert run(["diff", "-c", "snapshot:none.json"]) == Exit.ERROR
    assert run(["status"]) == Exit.ERROR
    assert run(["status", "-c", "snapshot:live.json", "-f", "manifests"]) == Exit.OK
    capsys.readouterr()


def test_a_word_for_path_comes_before_the_variable(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECONCILER_PATH", "nowhere")
    for words in (["plan", "manifests"], ["drift", "manifests"], ["apply", "manifests", "--yes"]):
        assert run([*words, "-c", "snapshot:live.json"]) == Exit.OK, capsys.readouterr().err
    assert run(["apply", "manifests", "--path", "manifests", "-c", "snapshot:live.json", "--yes"]) == Exit.USAGE
    capsys.readouterr()


def test_the_project_file_comes_after_options_and_variables(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "reconciler.yaml").write_text("path: manifests\noutput: json\n", encoding="utf-8")
    assert run(["validate"]) == Exit.OK
    assert capsys.readouterr().out.startswith("{")
    monkeypatch.setenv("RECONCILER_OUTPUT", "text")
    assert run(["validate"]) == Exit.OK
    assert capsys.readouterr().out.startswith("cluster c")
    assert run(["validate", "-o", "json"]) == Exit.OK
    assert capsys.readouterr().out.startswith("{")
