"""The examples for GitLab, Jenkins and cron run the same scripts, with variables that those know."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from reconciler.model.state import ClusterState
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.ci.player import ROOT, git
from tests.prepared import search_path

_EXAMPLES = ROOT / "examples" / "ci"
_TEXTS = [(ROOT / "action" / name).read_text(encoding="utf-8") for name in ("arguments.sh", "guardrails.sh")]
_KNOWN = {name for text in _TEXTS for name in re.findall(r"^#   ([A-Z_]+) +\w", text, re.M)}
_KNOWN |= {"PLAN", "PLAN_ID", "GITHUB_OUTPUT", "CI"}


_PIPELINES = [
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "gitlab-ci.yml",
    "Jenkinsfile",
    "reconciler-drift.sh",
]


@pytest.mark.parametrize("name", _PIPELINES)
def test_an_example_runs_scripts_that_are_there_with_variables_that_they_read(name: str) -> None:
    text = (_EXAMPLES / name).read_text(encoding="utf-8")
    scripts = set(re.findall(r"action/(\w+\.sh)", text))
    assert scripts
    assert all((ROOT / "action" / script).is_file() for script in scripts)
    for line in text.splitlines():
        if re.search(r"action/\w+\.sh", line) and not line.lstrip().startswith(("#", "//")):
            assert set(re.findall(r"\b([A-Z_]{2,})=", line)) <= _KNOWN, line


@pytest.mark.parametrize("name", ["azure-pipelines.yml", "bitbucket-pipelines.yml"])
def test_an_example_is_yaml_and_judges_a_change_by_the_commit_before_it(name: str) -> None:
    text = (_EXAMPLES / name).read_text(encoding="utf-8")
    assert isinstance(yaml.safe_load(text), dict)
    assert "git fetch --quiet origin" in text
    assert "BASE=" in text


def test_jobs_that_fetch_or_push_have_the_right_to_and_keep_what_they_did() -> None:
    """Private repositories ask for a login; a run that was cut short is told by its journal."""
    azure = yaml.safe_load((_EXAMPLES / "azure-pipelines.yml").read_text(encoding="utf-8"))
    for stage in azure["stages"]:
        [job] = stage["jobs"]
        steps = job.get("steps") or job["strategy"]["runOnce"]["deploy"]["steps"]
        [checkout] = [step for step in steps if "checkout" in step]
        assert (checkout["fetchDepth"], checkout["persistCredentials"]) == (0, True)
        assert [step["condition"] for step in steps if "publish" in step] == ["always()"]
    gitlab = yaml.safe_load((_EXAMPLES / "gitlab-ci.yml").read_text(encoding="utf-8"))
    assert gitlab["variables"]["GIT_DEPTH"] == 0
    assert gitlab[".reconciler"]["artifacts"]["when"] == "always"
    assert not [name for name, job in gitlab.items() if "script" in job and "when" in job.get("artifacts", {})]
    stages = re.split(r"(?m)^    stage\('", (_EXAMPLES / "Jenkinsfile").read_text(encoding="utf-8"))[1:]
    for stage in stages:
        runs = "action/" in stage
        assert ("gitUsernamePassword" in stage) is runs
        assert (re.search(r"post \{\s+always \{", stage) is not None) is runs
        assert ("agent {" in stage) is runs, "no agent waits for an approval"


def test_gitlab_gives_credentials_to_jobs_of_the_project_only() -> None:
    jobs = yaml.safe_load((_EXAMPLES / "gitlab-ci.yml").read_text(encoding="utf-8"))
    for name, job in jobs.items():
        if isinstance(job, dict) and "script" in job:
            uses_secret = "KAFKA_" in str(job["script"])
            assert uses_secret is ("environment" in job), name
            forks = "!= $CI_PROJECT_ID" in str(job["rules"])
            assert not (forks and uses_secret)
    assert jobs["apply"]["rules"][0]["when"] == "manual"
    assert "PLAN_ID" in str(jobs["apply"]["script"])


def test_pre_commit_names_hooks_that_are_offered() -> None:
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    [repository] = yaml.safe_load((_EXAMPLES / "pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert {hook["id"] for hook in repository["hooks"]} == offered


def test_cron_leaves_metrics_and_speaks_only_of_what_it_could_not_compare(tmp_path: Path) -> None:
    origin, checkout = tmp_path / "origin", tmp_path / "checkout"
    (origin / "manifests").mkdir(parents=True)
    cluster = (
        "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: NAME}\nspec: {bootstrapServers: [localhost:1]}\n"
    )
    for name in ("prod", "gone"):
        (origin / "manifests" / f"{name}.yaml").write_text(cluster.replace("NAME", name), encoding="utf-8")
    git(origin, "init", "--quiet")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "manifests")
    git(tmp_path, "clone", "--quiet", str(origin), str(checkout))
    for directory in ("collector", "results", "secrets"):
        (tmp_path / directory).mkdir()
    snapshot = tmp_path / "prod.json"
    snapshot.write_text(snapshot_text(ClusterState("prod"), BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    (tmp_path / "connections.yaml").write_text("", encoding="utf-8")
    done = subprocess.run(
        [str(_EXAMPLES / "reconciler-drift.sh"), str(checkout), "prod", "gone"],
        env={
            "PATH": search_path(),
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "CONNECTIONS": str(tmp_path / "connections.yaml"),
            "SECRETS_DIR": str(tmp_path / "secrets"),
            "COLLECTOR": str(tmp_path / "collector"),
            "RESULTS": str(tmp_path / "results"),
            "SNAPSHOT": str(snapshot),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr + (tmp_path / "results" / "prod.log").read_text(encoding="utf-8")
    metrics = (tmp_path / "collector" / "reconciler-prod.prom").read_text(encoding="utf-8")
    assert 'reconciler_last_success_timestamp_seconds{cluster="prod"}' in metrics

    snapshot.write_text("{}", encoding="utf-8")
    environment = {
        "PATH": search_path(),
        "CONNECTIONS": str(tmp_path / "connections.yaml"),
        "SECRETS_DIR": str(tmp_path / "secrets"),
        "COLLECTOR": str(tmp_path / "collector"),
        "RESULTS": str(tmp_path / "results"),
        "SNAPSHOT": str(snapshot),
    }
    command = [str(_EXAMPLES / "reconciler-drift.sh"), str(checkout), "prod"]
    failed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert failed.returncode == 1
    assert "prod: drift ended with status 1" in failed.stderr
    assert (tmp_path / "collector" / "reconciler-prod.prom").read_text(encoding="utf-8") == metrics
