"""The pre-commit hooks that the repository offers, run by pre-commit in a repository of manifests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.main import run
from tests.prepared import search_path

_ROOT = Path(__file__).parents[2]
_BIN = Path(sys.executable).parent
_HOOKS: list[dict[str, Any]] = yaml.safe_load((_ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

_BAD_LINT = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: odd}
spec:
  principal: User:odd
  rules: [{allow: ALL, topics: {any: true}}]
"""
_BAD_TEST = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: odd}
spec:
  tests: [{name: nobody reads orders, principals: ["User:*"], mustNot: READ, topics: [orders]}]
"""


def _git(directory: Path, *arguments: str) -> None:
    git = shutil.which("git") or "git"
    subprocess.run([git, *arguments], cwd=directory, check=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Manifests as ``reconciler init`` writes them, and the hooks as a user names them."""
    directory = tmp_path / "repository"
    assert run(["init", str(directory), "--team", "orders=User:odd"]) == 0
    hooks = [{**hook, "language": "system", "args": [*hook["args"]]} for hook in _HOOKS]
    for hook in hooks:
        if hook["args"] == ["."]:
            hook["args"] = ["manifests"]
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (directory / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    _git(directory, "init", "--quiet")
    _git(directory, "add", ".")
    return directory


def _hook(repository: Path, hook: str) -> subprocess.CompletedProcess[str]:
    home = {"PRE_COMMIT_HOME": str(repository.parent / "cache"), "PATH": search_path()}
    command = [str(_BIN / "pre-commit"), "run", hook, "--all-files"]
    return subprocess.run(
        command, cwd=repository, env={**os.environ, **home}, capture_output=True, text=True, check=False, timeout=120
    )


def test_pre_commit_accepts_the_manifest() -> None:
    subprocess.run([str(_BIN / "pre-commit"), "validate-manifest", str(_ROOT / ".pre-commit-hooks.yaml")], check=True)
    assert [hook["id"] for hook in _HOOKS] == [f"reconciler-{name}" for name in ("validate", "lint", "test", "schema")]
    assert all(hook["language"] == "python" and hook["pass_filenames"] is False for hook in _HOOKS)


@pytest.mark.parametrize("hook", ["reconciler-validate", "reconciler-lint", "reconciler-test"])
def test_good_manifests_pass(hook: str, repository: Path) -> None:
    done = _hook(repository, hook)
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


@pytest.mark.parametrize(
    ("hook", "text", "told"),
    [
        ("reconciler-validate", "apiVersion: reconciler/v1\nkind: Nothing\n", "KR022"),
        ("reconciler-lint", _BAD_LINT, "KA025"),
        ("reconciler-test", _BAD_TEST, "nobody reads orders"),
    ],
)
def test_bad_manifests_do_not(hook: str, text: str, told: str, repository: Path) -> None:
    (repository / "manifests" / "odd.yaml").write_text(text, encoding="utf-8")
    _git(repository, "add", ".")
    done = _hook(repository, hook)
    assert done.returncode == 1
    assert told in done.stdout


def test_schemas_are_kept_current(repository: Path) -> None:
    assert _hook(repository, "reconciler-schema").returncode == 0
    _git(repository, "add", ".")
    assert _hook(repository, "reconciler-schema").returncode == 0
    (repository / "schema" / "acls.json").write_text("{}\n", encoding="utf-8")
    _git(repository, "add", ".")
    changed = _hook(repository, "reconciler-schema")
    assert changed.returncode == 1
    assert "files were modified by this hook" in changed.stdout
