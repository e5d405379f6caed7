"""GitLab's pipelines on ``gitlab-ci-local``, an engine for them: one file of npm, so Python is all a machine needs.

Jobs run on this machine, each in a copy of the checkout. Variables belong to environments, as a project's do. The
engine knows no merge requests, protected branches and approvals: what GitLab says of them is given as its variables.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.browser.npm import NODE, Package, script
from tests.integration.ci.player import ROOT, git
from tests.prepared import search_path

ENGINE: Final = Package(
    "gitlab-ci-local",
    "4.75.1",
    "ArmGX576uKqTgs4PMCH3FNPED+JhxDLb2Ocb893+aY88RA2sx9gP6L7GvpuHQJkFJRvA5KSq9fD0yyRLaLEydw==",
)
#: It copies by rsync, which a machine need not have: directories, or with -R files with their path.
_RSYNC: Final = """\
#!/bin/bash
set -euo pipefail
relative=() from=()
without=()
while (($#)); do
  case $1 in
    --exclude) without+=(--exclude "${2%/}"); shift ;;
    --exclude*=*) without+=("$1") ;;
    --*) ;;
    -*R*) relative=(yes) ;;
    -*) ;;
    *) from+=("$1") ;;
  esac
  shift
done
into=${from[-1]}
unset 'from[-1]'
mkdir -p "$into"
for one in "${from[@]}"; do
  base=. what=$one
  if ((!${#relative[@]})); then base=$one what=.; fi
  if ((${#relative[@]})) && [[ "$one" == */./* ]]; then base=${one%%/./*} what=${one#*/./}; fi
  tar -C "$base" -c "${without[@]}" -- "$what" | tar -C "$into" -x
done
"""


@dataclass
class Pipeline:
    """How one ended, and what it wrote."""

    status: int
    log: str

    @property
    def jobs(self) -> dict[str, str]:
        """How each job ended: PASS, WARN where it may fail, or FAIL."""
        return {name: end for end, name in re.findall(r"^ (PASS|WARN|FAIL) +(\w+)", self.log, re.M) if name != "Avoid"}

    def of(self, job: str) -> str:
        """What a job wrote."""
        return "\n".join(line.partition(" ")[2] for line in self.log.splitlines() if line.startswith(f"{job} "))


@dataclass
class GitLab:
    """A project with the example as its ``.gitlab-ci.yml``; ``secrets`` are its variables, by environment."""

    origin: Path
    work: Path
    secrets: Mapping[str, Mapping[str, str]]
    variables: Mapping[str, str]
    runs: int = 0

    def run(self, commit: str, source: str, *words: str, **variables: str) -> Pipeline:
        """The pipeline of a commit, as an event of the kind ``source`` would start it; ``words`` name manual jobs.

        In the first one of a project, GitLab's schema judges the file.
        """
        self.runs += 1
        directory = self.work / f"{self.runs}-gitlab"
        checkout = directory / "checkout"
        git(self.work, "clone", "--quiet", str(self.origin), str(checkout))
        git(checkout, "checkout", "--quiet", "-B", variables.get("CI_COMMIT_BRANCH", "proposal"), commit)
        git(checkout, "remote", "add", "gcl-origin", "https://gitlab.example.org/team/kafka.git")
        (checkout / ".gitlab-ci.yml").write_bytes((ROOT / "examples" / "ci" / "gitlab-ci.yml").read_bytes())
        (directory / "variables.yml").write_text(yaml.safe_dump(self._variables()), encoding="utf-8")
        (directory / "bin").mkdir()
        (directory / "bin" / "rsync").write_text(_RSYNC, encoding="utf-8")
        (directory / "bin" / "rsync").chmod(0o755)
        (directory / "engine.mjs").write_text(script(ENGINE, "dist/index.js"), encoding="utf-8")
        command = [str(NODE / "bin" / "node"), str(directory / "engine.mjs")]
        command += ["--variables-file", str(directory / "variables.yml"), "--force-shell-executor", "--shell-isolation"]
        given = {
            "CI_PIPELINE_SOURCE": source,
            "CI_PROJECT_ID": "1",
            "RECONCILER": str(ROOT),
            "CI_DEFAULT_BRANCH": "main",
        }
        for name, text in {**given, **self.variables, **variables}.items():
            command += ["--variable", f"{name}={text}"]
        for job in words:
            command += ["--manual", job]
        done = subprocess.run(
            command,
            cwd=checkout,
            env={
                "PATH": f"{directory / 'bin'}{os.pathsep}{search_path()}",
                "HOME": str(directory),
                "LANG": "C.UTF-8",
                "NO_COLOR": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=180,
        )
        (directory / "log").write_text(done.stdout, encoding="utf-8")
        return Pipeline(done.returncode, done.stdout)

    def _variables(self) -> dict[str, object]:
        names = sorted({name for secrets in self.secrets.values() for name in secrets})
        return {
            name: {
                "type": "file" if name == "KAFKA_CONNECTIONS" else "variable",
                "values": {where: secrets[name] for where, secrets in self.secrets.items()},
            }
            for name in names
        }
