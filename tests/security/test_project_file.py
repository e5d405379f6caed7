"""A pull request edits ``reconciler.yaml``: it sets defaults for people, and nothing that judges or redirects."""

from pathlib import Path

import click
import pytest

from reconciler.app.manifests import NAME
from reconciler.cli.console import Exit
from reconciler.cli.main import program, run
from reconciler.manifest.project import OPERATORS_OPTIONS, PROJECT_FILE, Project, ProjectSpec, read_project
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError
from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, superUsers: [User:admin]}
"""
_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: User:mallory, rules: [{allow: READ, topics: [salaries]}]}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with manifests that grant something, an empty cluster, and a base without the grant."""
    for name in ("here", "base"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / "manifests").mkdir()
        (tmp_path / name / "manifests" / "cluster.yaml").write_text(_CLUSTER, encoding="utf-8")
    (tmp_path / "here" / "manifests" / "acls.yaml").write_text(_ACLS, encoding="utf-8")
    live = snapshot_text(ClusterState("id"), BrokerFacts(broker_ids=(1,)))
    (tmp_path / "live.json").write_text(live, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def _write(repository: Path, text: str, where: str = "here") -> None:
    (repository / where / PROJECT_FILE).write_text(text, encoding="utf-8")


_PLAN = ["plan", "manifests", "--cluster", "snapshot:../live.json"]


def _options() -> set[str]:
    found: set[str] = set()
    commands: list[click.Command] = [program]
    while commands:
        command = commands.pop()
        found |= {max(one.opts, key=len)[2:] for one in command.params if isinstance(one, click.Option)}
        if isinstance(command, click.Group):
            context = click.Context(command)
            below = (command.get_command(context, name) for name in command.list_commands(context))
            commands += [one for one in below if one is not None]
    return found


def test_the_file_sets_these_options_and_no_others() -> None:
    """Whatever else it writes is a problem: the options that it sets are a closed list."""
    fields = {field.alias for field in ProjectSpec.model_fields.values()}
    assert fields == {"path", "cluster", "output", "failOn", "color", "expand", "pager"}
    assert set(OPERATORS_OPTIONS) <= _options()
    assert PROJECT_FILE == NAME


@pytest.mark.parametrize("option", OPERATORS_OPTIONS)
def test_an_option_of_the_operator_is_refused_by_name(option: str) -> None:
    """It sets allowDeletes, guardrails, connections, requireId and the like, in either spelling: each is a problem."""
    camel = option.split("-", maxsplit=1)[0] + "".join(part.title() for part in option.split("-")[1:])
    for key in {option, camel}:
        with pytest.raises(ManifestError) as refused:
            read_project(Source(PROJECT_FILE, f"path: manifests\n{key}: x\n"))
        [problem] = refused.value.problems
        assert (problem.origin.line, f"cannot set --{option}" in problem.message) == (2, True)


@pytest.mark.parametrize(
    "text",
    [
        "path: /etc\n",
        "path: ../base/manifests\n",
        "path: a/../../base\n",
        "path: ~/x\n",
        "cluster: snapshot:live.json\n",
        "cluster: c=snapshot:live.json\n",
        "output: csv\n",
        "failOn: new-access\n",
        "failOn: [none]\n",
        "- path\n",
        "path: a\n---\npath: b\n",
        "path: &x a\n",
    ],
)
def test_a_value_that_leads_elsewhere_or_leaves_something_out_is_refused(text: str) -> None:
    """It names a path outside, or a snapshot in which everything is fine, or an output without the warnings."""
    with pytest.raises(ManifestError):
        read_project(Source(PROJECT_FILE, text))


def test_a_path_that_is_a_link_to_the_outside_is_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It adds a link to another checkout and names it: the link is followed nowhere."""
    (repository / "here" / "link").symlink_to(repository / "base" / "manifests")
    _write(repository, "path: link\n")
    assert run(["validate"]) == Exit.ERROR
    assert "leads out of" in capsys.readouterr().err


def test_in_ci_it_does_not_choose_the_cluster(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names another cluster of the operator's file, or renames its own: a pipeline names the cluster itself."""
    _write(repository, "cluster: prod\n")
    monkeypatch.setenv("CI", "true")
    for command in ("plan", "drift", "apply", "doctor", "export", "cleanup"):
        assert run([command, *(["manifests", "-y"] if command == "apply" else [])]) == Exit.USAGE
        assert "in CI the operator names the cluster" in capsys.readouterr().err


def test_no_word_of_fail_on_is_taken_away(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It empties failOn in the same change that grants access: the command line's words hold, and the base's."""
    _write(repository, "failOn: []\n")
    assert run([*_PLAN, "--fail-on", "new-access"]) == Exit.FAILED_CHECK
    assert run([*_PLAN]) == Exit.OK
    _write(repository, "failOn: [new-access]\n", "base")
    assert run([*_PLAN, "--base", "../base/manifests"]) == Exit.FAILED_CHECK
    assert run([*_PLAN, "--guardrails", "../base/manifests"]) == Exit.FAILED_CHECK
    assert "somebody gains access, or gets a password (--fail-on new-access)" in capsys.readouterr().err
    _write(repository, "failOn: [new-access]\n")
    assert run([*_PLAN, "--fail-on", "truncated"]) == Exit.FAILED_CHECK


def test_a_change_of_it_is_shown_with_the_guardrails(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It drops failOn and moves path to manifests without rules: both stand first in what a reviewer reads."""
    _write(repository, "failOn: [new-access]\npath: manifests\n", "base")
    _write(repository, "path: other\n")
    arguments = ["validate", "manifests", "--base", "../base/manifests"]
    assert run([*arguments, "--fail-on", "guardrails"]) == Exit.FAILED_CHECK
    shown = capsys.readouterr().out
    assert "Project reconciler.yaml, failOn[new-access]: removed: new-access" in shown
    assert "Project reconciler.yaml, path: manifests → other" in shown
    _write(repository, "failOn: [new-access]\npath: manifests\n")
    assert run([*arguments, "--fail-on", "guardrails"]) == Exit.OK
    capsys.readouterr()


def test_a_file_above_the_repository_is_nobodys(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody else puts it into a directory above, such as /tmp: it is not looked at."""
    (repository / PROJECT_FILE).write_text("nonsense: 1\n", encoding="utf-8")
    assert run(["validate", "manifests"]) == Exit.OK
    outside = repository / "elsewhere" / "deep"
    outside.mkdir(parents=True)
    monkeypatch.chdir(outside)
    assert run(["validate", "../../here/manifests"]) == Exit.OK
    capsys.readouterr()


def test_no_manifest_hides_behind_the_name(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It calls a grant reconciler.yaml, so that it were skipped: whatever has a word of a manifest is read as one."""
    for text in (_ACLS, '{"apiVersion": "reconciler/v1", "kind": "Acls", "metadata": {"name": "b"}}\n', "kind: Acls\n"):
        (repository / "here" / "manifests" / PROJECT_FILE).write_text(text, encoding="utf-8")
        assert run(["validate", "manifests"]) == Exit.ERROR
        assert PROJECT_FILE in capsys.readouterr().err
    deeper = repository / "here" / "manifests" / "teams"
    deeper.mkdir()
    (repository / "here" / "manifests" / PROJECT_FILE).rename(deeper / PROJECT_FILE)
    (deeper / PROJECT_FILE).write_text("path: x\n", encoding="utf-8")
    assert run(["validate", "manifests"]) == Exit.ERROR
    assert "teams/reconciler.yaml" in capsys.readouterr().err


def test_nothing_is_said_by_a_file_that_is_not_there() -> None:
    """Without one, nothing has a default: the tool behaves as its help says."""
    assert read_project(Source(PROJECT_FILE, "")) == Project()
