"""The workflows and the action are well formed, and keep the rules that docs/ci.md promises."""

import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.ci.expressions import filled

_ROOT = Path(__file__).parents[3]
_BIN = Path(sys.executable).parent
_OURS = sorted((_ROOT / ".github" / "workflows").glob("*.yml"))
_CALLERS = sorted((_ROOT / "examples" / "ci" / "github").glob("*.yml"))
_REUSABLE = [path for path in _OURS if path.stem in ("plan", "apply", "drift")]


def _name(path: Path) -> str:
    return str(path.relative_to(_ROOT))


def _document(path: Path) -> dict[Any, Any]:
    document: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The callers where a user puts them, and everything else where it is here."""
    directory = tmp_path_factory.mktemp("workflows")
    shutil.copytree(_ROOT / ".github", directory / ".github")
    shutil.copytree(_ROOT / "action", directory / "action")
    shutil.copy(_ROOT / "action.yml", directory)
    for caller in _CALLERS:
        shutil.copy(caller, directory / ".github" / "workflows" / f"caller-{caller.name}")
    return directory


def _lint(*command: str, directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actionlint_finds_nothing(repository: Path) -> None:
    workflows = sorted(str(path) for path in (repository / ".github" / "workflows").glob("*.yml"))
    assert len(workflows) == len(_OURS) + len(_CALLERS)
    _lint(str(_BIN / "actionlint"), "-shellcheck", str(_BIN / "shellcheck"), *workflows, directory=repository)


def test_zizmor_finds_nothing(repository: Path) -> None:
    _lint(str(_BIN / "zizmor"), "--offline", "--strict-collection", ".", directory=repository)


@pytest.mark.parametrize("path", _OURS, ids=_name)
def test_the_key_of_a_cache_is_the_hash_of_a_file_that_is_there(path: Path) -> None:
    for name in re.findall(r"hashFiles\('([^'*]+)'\)", path.read_text(encoding="utf-8")):
        assert (_ROOT / name).is_file(), name


@pytest.mark.parametrize("path", [*_OURS, *_CALLERS], ids=_name)
def test_nothing_is_permitted_that_no_job_asks_for(path: Path) -> None:
    document = _document(path)
    assert document["permissions"] == {}
    assert all("permissions" in job for job in document["jobs"].values())


@pytest.mark.parametrize("path", [*_OURS, *_CALLERS], ids=_name)
def test_no_trigger_runs_a_strangers_branch_with_rights(path: Path) -> None:
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(_document(path)[True])


@pytest.mark.parametrize("path", _OURS, ids=_name)
def test_everything_used_is_pinned_and_says_its_version(path: Path) -> None:
    for used in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8")):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./reconciler # zizmor: ignore\[.*", used), used


@pytest.mark.parametrize("path", _OURS, ids=_name)
def test_files_that_a_workflow_names_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = [*re.findall(r"hashFiles\('([^']+)'\)", text), *re.findall(r"run: (\.\S+)$", text, re.M)]
    named += [f"action/{found}" for found in re.findall(r"reconciler/action/(\w+\.\w+)", text)]
    assert [found for found in named if not (_ROOT / found).is_file()] == []


def test_what_is_released_has_its_provenance_and_its_bill_of_materials() -> None:
    jobs = _document(_ROOT / ".github/workflows/publish.yml")["jobs"]
    assert {"assets", "image"} <= {
        name for name, job in jobs.items() if "attest-build-provenance@" in str(job["steps"])
    }
    assert "sbom" in str(jobs["assets"]["steps"])
    assert "rm " not in str([step.get("run") for job in jobs.values() for step in job["steps"] if "dist" in str(step)])
    assert set(jobs["major"]["needs"]) == jobs.keys() - {"build", "major"}


def test_what_is_tested_and_kept_new_is_what_the_package_says() -> None:
    """Each Python that the package names is tested, and Dependabot looks after actions and Python packages."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    jobs = _document(_ROOT / ".github/workflows/ci.yml")["jobs"]
    assert jobs["check"]["strategy"]["matrix"]["python"] == named == ["3.11", "3.12", "3.13", "3.14"]
    assert project["requires-python"] == f">={named[0]}"
    updates = _document(_ROOT / ".github/dependabot.yml")["updates"]
    assert {one["package-ecosystem"] for one in updates} == {"github-actions", "pip"}


def test_the_long_tests_run_every_night() -> None:
    """What a cheaper test holds in every run is held by the whole of it somewhere."""
    workflow = _document(_ROOT / ".github/workflows/ci.yml")
    nights = workflow[True]["schedule"]  # "on" is a truth value in YAML 1.1
    assert [one["cron"].split()[2:] for one in nights] == [["*", "*", "*"]]
    steps = workflow["jobs"]["long"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["make test-long"]


@dataclass
class _Release:
    """Shell steps of the workflow that publishes, with programs that only note how they are called."""

    directory: Path

    def run(self, job: str, name: str, **programs: str) -> list[str]:
        """The calls, and what the step says to later ones; ``programs`` are lines of shell, by name."""
        [step] = [
            one
            for one in _document(_ROOT / ".github/workflows/publish.yml")["jobs"][job]["steps"]
            if one.get("name") == name
        ]
        tools = self.directory / "bin"
        tools.mkdir(exist_ok=True)
        for program, lines in programs.items():
            text = f'#!/bin/bash\necho {program} "$@" >>{self.directory}/calls\n{lines}\n'
            (tools / program).write_text(text, encoding="utf-8")
            (tools / program).chmod(0o755)
        event = {"release": {"tag_name": "v1.4.2"}}
        github = {"token": "t", "repository": "Owner/reconciler", "sha": "c" * 40, "event": event}
        context = {
            "github": github,
            "steps": {"provenance": {"outputs": {"bundle-path": str(self.directory / "bundle")}}},
        }
        env = {key: filled(value, context, {}) for key, value in step["env"].items()}
        own = {"PATH": f"{tools}:/usr/bin:/bin", "GITHUB_REPOSITORY": "Owner/reconciler", "GITHUB_ACTOR": "alice"}
        own["GITHUB_OUTPUT"] = str(self.directory / "calls")
        bash = shutil.which("bash")
        assert bash
        subprocess.run([bash, "-eo", "pipefail", "-c", step["run"]], cwd=self.directory, env={**own, **env}, check=True)
        return (self.directory / "calls").read_text(encoding="utf-8").splitlines()


def test_the_assets_of_a_release_are_its_files_with_their_provenance(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    for name in ("dist/r.whl", "dist/r.tar.gz", "dist/r.cdx.json", "bundle"):
        (tmp_path / name).write_text("", encoding="utf-8")
    [call] = _Release(tmp_path).run("assets", "Upload", gh="")
    assert call == "gh release upload v1.4.2 dist/provenance.sigstore.json dist/r.cdx.json dist/r.tar.gz dist/r.whl"


@pytest.mark.parametrize("there", [True, False])
def test_the_tag_of_a_major_version_moves_to_the_release(tmp_path: Path, *, there: bool) -> None:
    calls = _Release(tmp_path).run("major", "Move the tag", gh="" if there else '[ "$3" != PATCH ]')
    moved = f"gh api --method PATCH repos/Owner/reconciler/git/refs/tags/v1 -f sha={'c' * 40} -F force=true"
    made = f"gh api --method POST repos/Owner/reconciler/git/refs -f ref=refs/tags/v1 -f sha={'c' * 40}"
    assert calls == ([moved] if there else [moved, made])


def test_the_image_is_pushed_with_the_version_and_signed_by_its_digest(tmp_path: Path) -> None:
    # As the original does, `login` reads the password: a writer to a pipe that nobody reads may fail.
    docker = 'case "$1" in login) cat >/dev/null;; inspect) echo "ghcr.io/x@sha256:abc";; esac'
    calls = _Release(tmp_path).run("image", "Build and push", docker=docker)
    assert "docker push ghcr.io/owner/reconciler:1.4.2" in calls
    assert {"name=ghcr.io/owner/reconciler", "digest=sha256:abc"} <= set(calls)


@pytest.mark.parametrize("path", _REUSABLE, ids=_name)
def test_credentials_and_the_right_to_write_never_meet_in_one_job(path: Path) -> None:
    jobs = _document(path)["jobs"].values()
    assert any("environment" in job for job in jobs)
    for job in jobs:
        secret = "secrets." in yaml.safe_dump(job)
        assert secret is ("environment" in job)
        assert not (secret and "write" in job["permissions"].values())


@pytest.mark.parametrize("path", _REUSABLE, ids=_name)
def test_connections_come_from_secrets_and_lie_outside_the_checkout(path: Path) -> None:
    own, settings = "${{ runner.temp }}/connections.yaml", "${{ steps.base.outputs.facts }}"
    uses = [(name, step) for name, job in _document(path)["jobs"].items() for step in job["steps"]]
    action = [(name, step["with"]) for name, step in uses if str(step.get("uses")).startswith("./reconciler")]
    assert action
    for name, given in action:
        # A fork's job logs in nowhere: the base branch may say what is known about the cluster.
        assert given["connections"] == (settings if name == "offline" else own)


def test_a_fork_gets_no_environment_no_secret_and_a_snapshot_of_the_base() -> None:
    jobs = _document(_ROOT / ".github/workflows/plan.yml")["jobs"]
    own, fork = jobs["plan"]["if"], jobs["offline"]["if"]
    ours = "github.event.pull_request.head.repo.full_name == github.repository"
    assert own == f"github.event_name == 'merge_group' || {ours}"
    assert fork == f"github.event_name == 'pull_request' && {ours.replace('==', '!=')}"
    assert jobs["offline"]["permissions"] == {"contents": "read"}
    assert "environment" not in jobs["offline"]
    checkouts = [step.get("with", {}).get("ref") for step in jobs["offline"]["steps"] if "checkout@" in str(step)]
    assert "${{ github.event.pull_request.base.sha }}" in checkouts


@pytest.mark.parametrize("path", _OURS, ids=_name)
def test_artifacts_are_kept_for_days_and_checkouts_keep_no_token(path: Path) -> None:
    for job in _document(path)["jobs"].values():
        for step in job["steps"]:
            if "upload-artifact@" in str(step.get("uses")):
                assert step["with"]["retention-days"] <= 7
            if "checkout@" in str(step.get("uses")):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", _CALLERS, ids=_name)
def test_callers_grant_what_the_called_jobs_ask_for(path: Path) -> None:
    for job in _document(path)["jobs"].values():
        if "uses" not in job:
            continue
        called = job["uses"].partition("@")[0].rpartition("/")[2]
        asked: dict[str, str] = {}
        for inner in _document(_ROOT / ".github" / "workflows" / called)["jobs"].values():
            for subject, right in inner["permissions"].items():
                asked[subject] = "write" if "write" in (right, asked.get(subject)) else right
        assert job["permissions"] == asked


def test_inputs_of_the_action_reach_its_scripts_by_the_environment_only() -> None:
    action = _document(_ROOT / "action.yml")
    steps = action["runs"]["steps"]
    assert all("${{" not in step["run"] for step in steps)
    passed = " ".join(value for step in steps for value in step.get("env", {}).values())
    assert all(f"inputs.{name}" in passed for name in action["inputs"])


@pytest.mark.parametrize(
    ("inputs", "event", "base"),
    [
        ({}, {"pull_request": {"base": {"sha": "of-the-branch"}}, "before": "pushed-before"}, "of-the-branch"),
        ({}, {"merge_group": {"base_sha": "of-the-queue"}}, "of-the-queue"),
        ({}, {"before": "pushed-before"}, "pushed-before"),
        ({"base": "given"}, {"merge_group": {"base_sha": "of-the-queue"}}, "given"),
        ({}, {}, ""),
    ],
)
def test_each_event_names_the_commit_before_the_change(
    inputs: dict[str, str], event: dict[str, Any], base: str
) -> None:
    step = next(step for step in _document(_ROOT / "action.yml")["runs"]["steps"] if step.get("id") == "run")
    assert filled(step["env"]["BASE"], {"inputs": inputs, "github": {"event": event}}, {}) == base
