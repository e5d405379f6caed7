"""Plays the reusable workflows as GitHub would: jobs, conditions, outputs, artifacts, rights, and shell steps for real.

Only what has no counterpart here is stood in for: a checkout is a clone, an artifact is a directory, and the action's
installation is the environment that runs the tests (``test_installation.py`` runs it by itself).
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.integration.ci.expressions import filled, formatted
from tests.integration.ci.github import TOKEN, GitHub
from tests.prepared import search_path

ROOT = Path(__file__).parents[3]
REVISION = "f" * 40


def git(directory: Path, *arguments: str) -> str:
    """Runs git, as nobody in particular; no commit of so few looks for what could be packed."""
    words = ("user.name=team", "user.email=team@example.org", "init.defaultBranch=main", "maintenance.auto=false")
    settings = [part for word in words for part in ("-c", word)]
    executable = shutil.which("git")
    assert executable
    done = subprocess.run(
        [executable, *settings, *arguments], cwd=directory, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def caller(workflow: str, revision: str) -> str:
    """The example that calls a reusable workflow, with the repository and the commit filled in."""
    name = {"plan": "pull-request", "apply": "merge"}.get(workflow, workflow)
    text = (ROOT / "examples" / "ci" / "github" / f"{name}.yml").read_text(encoding="utf-8")
    return text.replace("OWNER", "owner").replace("0" * 40, revision)


def calling_job(example: str) -> dict[str, Any]:
    """Its job that calls."""
    [job] = (one for one in yaml.safe_load(example)["jobs"].values() if "uses" in one)
    return dict(job)


def payload(event: Mapping[str, Any]) -> dict[str, Any]:
    """The ``github`` context of an event, of which only what is its own need be given."""
    repository = {"full_name": "team/kafka", "default_branch": "main"}
    # Whoever starts a workflow sends texts; ``inputs`` outside of the event has the declared types.
    strings = {name: str(value).lower() for name, value in event.get("inputs", {}).items()}
    sent = {"repository": repository, "inputs": strings, **event["event"]}
    name = event["ref"].removeprefix("refs/heads/")
    return {"run_attempt": "1", "ref_name": name, **event, "event": sent, "repository": "team/kafka", "token": TOKEN}


@dataclass
class Played:
    """How a job ended, and what is left of it."""

    result: str
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    summary: str = ""
    #: Its name on GitHub, and how each step with a name ended.
    name: str = ""
    steps: dict[str, str] = field(default_factory=dict)


def remembered(github: GitHub, event: Mapping[str, Any], example: str, played: Mapping[str, Played]) -> None:
    """GitHub keeps the run, and how its jobs ended; the example says in which file it lies."""
    file = re.search(r"workflows/([\w-]+\.yml)", example)
    assert file
    jobs = {f"prod / {job.name}": job.steps for job in played.values() if job.result != "skipped"}
    github.ran(event, file[1], jobs)


@dataclass
class Player:
    """One repository of manifests with its secrets, and GitHub beside it."""

    origin: Path
    work: Path
    github: GitHub
    secrets: Mapping[str, str]
    artifacts: dict[str, Path] = field(default_factory=dict)
    runs: int = 0

    def play(self, workflow: str, event: Mapping[str, Any], **inputs: str) -> dict[str, Played]:
        """Runs a reusable workflow's jobs in order, as its example calls it; ``event`` is the ``github`` context."""
        document = yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8"))
        declared, example = document[True]["workflow_call"]["inputs"], caller(workflow, REVISION)
        outer = {"github": payload(event), "inputs": event.get("inputs", {})}
        written = calling_job(example)["with"] | inputs
        given = {name: filled(text, outer, {"format": formatted}) for name, text in written.items()}
        assert given.keys() <= declared.keys()
        assert {name for name, one in declared.items() if one.get("required")} <= given.keys()
        values = {name: one.get("default", "") for name, one in declared.items()} | given
        played: dict[str, Played] = {}
        for name, job in document["jobs"].items():
            needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            context = {
                "github": payload(event),
                "inputs": values,
                "secrets": self.secrets if "environment" in job else {},
                "needs": {need: {"result": played[need].result, "outputs": played[need].outputs} for need in needs},
            }
            ready = all(played[need].result == "success" for need in needs)
            played[name] = self._job(name, job, context, ready=ready)
            played[name].name = filled(job.get("name", name), context, {})
        remembered(self.github, event, example, played)
        return played

    def _job(self, name: str, job: Mapping[str, Any], context: dict[str, Any], *, ready: bool) -> Played:
        functions = {"always": lambda: True, "cancelled": lambda: False, "success": lambda: ready, "format": formatted}
        condition = job.get("if")
        wanted = ready if condition is None else _truth(condition, context, functions)
        if not wanted:
            return Played("skipped")
        self.runs += 1
        directory = self.work / f"{self.runs}-{name}"
        (directory / "temp").mkdir(parents=True)
        (directory / "workspace").mkdir()
        self.github.rights = job["permissions"]
        run = _Run(self, directory, {**context, "runner": {"temp": str(directory / "temp")}, "steps": {}})
        return run.all(job)


@dataclass
class _Run:
    """One job on its machine."""

    player: Player
    directory: Path
    context: dict[str, Any]
    failed: bool = False
    log: str = ""
    steps: dict[str, str] = field(default_factory=dict)

    @property
    def _functions(self) -> dict[str, Any]:
        succeeded = {"success": lambda: not self.failed, "format": formatted}
        return {"always": lambda: True, "cancelled": lambda: False, **succeeded}

    def all(self, job: Mapping[str, Any]) -> Played:
        for step in job["steps"]:
            condition = step.get("if")
            wanted = not self.failed if condition is None else _truth(condition, self.context, self._functions)
            asked = any(word in str(condition) for word in ("cancelled", "always"))
            implicit = condition is not None and not asked and self.failed
            if wanted and not implicit:
                status, outputs = self._step(step)
                self.steps[step.get("name", "")] = "failure" if status else "success"
                if "id" in step:
                    self.context["steps"][step["id"]] = {"outputs": outputs}
                self.failed |= status != 0 and not step.get("continue-on-error", False)
        outputs = {key: self._filled(text) for key, text in job.get("outputs", {}).items()}
        summary = self.directory / "summary.md"
        return Played(
            "failure" if self.failed else "success",
            outputs,
            self.log,
            summary.read_text(encoding="utf-8") if summary.exists() else "",
            steps=self.steps,
        )

    def _filled(self, text: object) -> str:
        return filled(text, self.context, self._functions)

    def _step(self, step: Mapping[str, Any]) -> tuple[int, dict[str, str]]:
        with_ = {key: self._filled(value) for key, value in step.get("with", {}).items()}
        env = {key: self._filled(value) for key, value in step.get("env", {}).items()}
        match str(step.get("uses", "")).partition("@")[0]:
            case "actions/checkout":
                return self._checkout(with_), {}
            case "actions/upload-artifact":
                self.player.artifacts[with_["name"]] = Path(with_["path"])
                return 0, {}
            case "actions/download-artifact":
                if with_["name"] not in self.player.artifacts:
                    return 1, {}
                shutil.copytree(self.player.artifacts[with_["name"]], with_["path"])
                return 0, {}
            case "./reconciler":
                return self._composite(with_, env)
            case "":
                return self._shell(self._filled(step["run"]), env)
            case other:
                raise AssertionError(f"nobody knows {other}")

    def _checkout(self, with_: Mapping[str, str]) -> int:
        target = self.directory / "workspace" / with_["path"]
        assert with_["persist-credentials"] == "False"
        if with_.get("repository") == "owner/reconciler":
            assert with_["ref"] == REVISION
            target.mkdir()
            shutil.copytree(ROOT / "action", target / "action")
            shutil.copy(ROOT / "action.yml", target)
        else:
            assert "repository" not in with_
            git(self.directory, "clone", "--quiet", str(self.player.origin), str(target))
            git(target, "checkout", "--quiet", with_.get("ref") or self.context["github"]["sha"])
        return 0

    def _composite(self, with_: Mapping[str, str], env: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        action = yaml.safe_load((self.directory / "workspace/reconciler/action.yml").read_text(encoding="utf-8"))
        assert with_.keys() <= action["inputs"].keys()
        inputs = {**{name: one.get("default", "") for name, one in action["inputs"].items()}, **with_}
        inner = {"inputs": inputs, "runner": self.context["runner"], "github": self.context["github"]}
        status, outputs = 0, dict[str, str]()
        for step in action["runs"]["steps"]:
            if step["name"] == "Install":
                continue
            own = {key: filled(value, inner, self._functions) for key, value in step.get("env", {}).items()}
            path = {"GITHUB_ACTION_PATH": str(self.directory / "workspace/reconciler")}
            status, found = self._shell(filled(step["run"], inner, self._functions), {**env, **own, **path})
            outputs |= found
        return status, outputs

    def _shell(self, script: str, env: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        told = self.directory / "output"
        told.write_text("", encoding="utf-8")
        variables = {
            "PATH": search_path(),
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTOR": "alice",
            "GITHUB_API_URL": self.player.github.url,
            "GITHUB_OUTPUT": str(told),
            "GITHUB_REPOSITORY": "team/kafka",
            "GITHUB_STEP_SUMMARY": str(self.directory / "summary.md"),
            "RUNNER_TEMP": str(self.directory / "temp"),
            **env,
        }
        bash = shutil.which("bash")
        assert bash
        done = subprocess.run(
            [bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.directory / "workspace",
            env=variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        self.log += done.stdout + done.stderr
        lines = told.read_text(encoding="utf-8").splitlines()
        return done.returncode, dict(line.split("=", 1) for line in lines)


def _truth(condition: object, context: Mapping[str, Any], functions: Mapping[str, Any]) -> bool:
    text = str(condition)
    return filled(text if "${{" in text else f"${{{{ {text} }}}}", context, functions) not in ("", "false")
