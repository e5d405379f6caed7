"""The examples for GitHub on ``nektos/act``, an engine for its workflows; ``make test-ci`` builds it, once.

The callers are those of ``examples/ci/github``, with the repository and the commit filled in; they call the reusable
workflows by commit. Jobs run on this machine. What lies on GitHub is stood in for: ``actions/`` here for the
actions, directories for the remotes, and ``tests.integration.ci.github`` for the API. act knows no environments,
approvals, ``concurrency``, ``paths`` and ``permissions``; the API here grants what the caller grants, and to a fork's
token reading alone. Secrets are handed to every run and not masked in its log: what a fork's run leaves must not
have them.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.integration.ci.github import TOKEN, GitHub
from tests.integration.ci.player import ROOT, Played, caller, calling_job, git, payload, remembered
from tests.prepared import search_path

MODULE: Final = "github.com/nektos/act"
VERSION: Final = "v0.2.89"
_ACTIONS: Final = Path(__file__).with_name("actions")
_SECONDS: Final = 300


def kept() -> Path:
    """Where the program is, once it is built."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reconciler"
    return cache / f"act-{VERSION}" / "act"


def build() -> None:
    """Builds the program, unless it is there; it takes one to three minutes."""
    program = kept()
    if program.exists():
        return
    print(f"building {MODULE} {VERSION}", file=sys.stderr)
    scratch = program.parent.with_suffix(f".{os.getpid()}")
    environment = {**os.environ, "GOBIN": str(scratch), "GOFLAGS": ""}
    subprocess.run(["go", "install", "-ldflags=-s -w", f"{MODULE}@{VERSION}"], check=True, env=environment)  # noqa: S607
    with contextlib.suppress(OSError):  # another one was faster
        scratch.rename(program.parent)


@dataclass
class Act:
    """As ``player.Player``: one repository of manifests with its secrets, and GitHub beside it."""

    origin: Path
    work: Path
    github: GitHub
    secrets: Mapping[str, str]
    artifacts: dict[str, Path] = field(default_factory=dict)
    runs: int = 0
    #: Of reconciler, installed by ``action/install.sh``; else jobs find the one that runs the tests.
    installs: bool = False
    #: Cancels a run, when it says so of the jobs' directory.
    cancel: Callable[[Path], bool] | None = None

    def play(self, workflow: str, event: Mapping[str, Any], **inputs: str) -> dict[str, Played]:
        """Runs an example, as its event would start it."""
        text = caller(workflow, self._reconciler()[1])
        if inputs:  # else the example stays as it is
            document = yaml.safe_load(text)
            document["on"] = document.pop(True)  # YAML 1.1 reads it so
            for one in document["jobs"].values():
                one.get("with", {}).update(inputs)
            text = yaml.safe_dump(document)
        log = self._logged(text, event, calling_job(text)["permissions"])
        called = yaml.safe_load((ROOT / ".github/workflows" / f"{workflow}.yml").read_text(encoding="utf-8"))
        played = {name: _played([record for record in log if record.get("jobID") == name]) for name in called["jobs"]}
        remembered(self.github, event, caller(workflow, self._reconciler()[1]), played)
        return played

    def play_all(self, example: str, event: Mapping[str, Any]) -> dict[str, Played]:
        """Runs an example with several jobs; each job that ran, as in ``plan (prod) / plan``."""
        text = caller(example, self._reconciler()[1])
        granted: dict[str, str] = {}
        for job in yaml.safe_load(text)["jobs"].values():
            granted |= {subject: right for subject, right in job["permissions"].items() if right == "write"}
        log = self._logged(text, event, {"contents": "read", "pull-requests": "read", **granted})
        names = dict.fromkeys(record["job"].strip() for record in log if "jobResult" in record)
        played = {name: _played([record for record in log if record.get("job", "").strip() == name]) for name in names}
        remembered(self.github, event, text, played)
        return played

    def _logged(self, text: str, event: Mapping[str, Any], permissions: Mapping[str, str]) -> list[dict[str, Any]]:
        self.runs += 1
        directory = self.work / f"{self.runs}-act"
        checkout = directory / "checkout"
        git(self.work, "clone", "--quiet", str(self.origin), str(checkout))
        git(checkout, "checkout", "--quiet", event["sha"])
        file = checkout / ".github" / "workflows" / "kafka.yml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        head = event["event"].get("pull_request", {}).get("head", {}).get("repo", {}).get("full_name", "team/kafka")
        forked = head != "team/kafka"
        self.github.rights = {subject: "read" if forked else right for subject, right in permissions.items()}
        (directory / "event.json").write_text(json.dumps(payload(event)["event"]), encoding="utf-8")
        reconciler, commit = self._reconciler()
        command = [str(kept()), event["event_name"], "--workflows", str(file), "--eventpath", "../event.json"]
        command += ["--local-repository", f"owner/reconciler@{commit}={reconciler}", *self._options(event, directory)]
        log = self._run(command, checkout, directory)
        self.artifacts = {path.name: path for path in (directory / "artifacts").iterdir()}
        return log

    def _options(self, event: Mapping[str, Any], directory: Path) -> list[str]:
        artifacts = directory / "artifacts"
        artifacts.mkdir()
        if event.get("run_attempt", "1") != "1":  # of another attempt of the run before
            for name, path in self.artifacts.items():
                shutil.copytree(path, artifacts / name)
        variables = {
            "ARTIFACTS": str(artifacts),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_REF": event["ref"],
            "GITHUB_REPOSITORY": "team/kafka",
            "GITHUB_RUN_ATTEMPT": event.get("run_attempt", "1"),
            "REMOTES": str(self.work / "remotes"),
            "SHA_REF": event["sha"],
            # One for all jobs: they find it installed, and install what is not.
            **({"RECONCILER_ENVIRONMENT": str(self.work / "environment")} if self.installs else {}),
        }
        options = ["--platform", "ubuntu-24.04=-self-hosted", "--actor", "alice", "--json", "--insecure-secrets"]
        options += ["--no-skip-checkout", "--use-new-action-cache", "--no-cache-server", "--defaultbranch", "main"]
        for name, text in variables.items():
            options += ["--env", f"{name}={text}"]
        for name, text in {**self.secrets, "GITHUB_TOKEN": TOKEN}.items():
            options += ["--secret", f"{name}={text}"]
        pinned = set[str]()
        for path in (ROOT / ".github" / "workflows").glob("*.yml"):
            words = path.read_text(encoding="utf-8").split()
            pinned |= {word for word in words if word.startswith("actions/") and "@" in word}
        for name in pinned:
            action = _ACTIONS / name.partition("@")[0].removeprefix("actions/")
            if action.is_dir():
                options += ["--local-repository", f"{name}={action}"]
        return options

    def _reconciler(self) -> tuple[Path, str]:
        """The repository that the examples name, and its commit."""
        place = self.work / "remotes" / "owner" / "reconciler"
        if not place.exists():
            (place / ".github").mkdir(parents=True)
            (place.parents[1] / "team").mkdir()
            (place.parents[1] / "team" / "kafka").symlink_to(self.origin)
            git(self.origin, "config", "uploadpack.allowAnySHA1InWant", "true")
            shutil.copytree(ROOT / ".github" / "workflows", place / ".github" / "workflows")
            shutil.copytree(ROOT / "action", place / "action")
            shutil.copy(ROOT / "action.yml", place)
            if self.installs:
                project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
                needed = [*project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"], "/pyproject.toml"]
                for name in (*(one.strip("/") for one in needed), "requirements-runtime.lock"):
                    (place / name).parent.mkdir(parents=True, exist_ok=True)
                    (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place / name)
            else:
                (place / "action" / "install.sh").write_text("#!/bin/sh\n", encoding="utf-8")
            git(place, "init", "--quiet")
            git(place, "add", ".")
            git(place, "commit", "--quiet", "-m", "reconciler")
            git(place, "config", "uploadpack.allowAnySHA1InWant", "true")
        return place, git(place, "rev-parse", "HEAD")

    def _run(self, command: list[str], checkout: Path, directory: Path) -> list[dict[str, Any]]:
        cache = directory / "cache"
        environment = {"PATH": search_path(), "HOME": str(directory), "LANG": "C.UTF-8", "XDG_CACHE_HOME": str(cache)}
        with open(directory / "log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command, cwd=checkout, env=environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
            try:
                if self.cancel is not None:
                    while process.poll() is None and not self.cancel(cache):
                        time.sleep(0.02)
                    process.send_signal(signal.SIGINT)
                process.wait(_SECONDS)
            finally:
                process.kill()
        records = []
        for line in (directory / "log").read_text(encoding="utf-8").splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                records.append({"msg": line})
        return records


def _played(log: list[dict[str, Any]]) -> Played:
    """What a job's part of the log says."""
    result = next((record["jobResult"] for record in log if "jobResult" in record), "skipped")
    said = [
        record["msg"] for record in log if record.get("raw_output") or record.get("command") in ("error", "warning")
    ]
    summary = "".join(record["content"] for record in log if record.get("command") == "summary")
    name = next((record["job"].strip().rpartition("/")[2] for record in log if "job" in record), "")
    # Those of an action's own are below the step that uses it.
    ended = [record for record in log if record.get("stage") == "Main" and len(record.get("stepID") or ()) == 1]
    steps = {record["step"]: record["stepResult"] for record in ended if "stepResult" in record}
    return Played(result, {}, "".join(said), summary, name, steps)


if __name__ == "__main__":
    build()
