"""The example for GitLab on an engine, from a merge request to drift, on a snapshot that stands for the cluster."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.model.state import ClusterState
from reconciler.parts.local.tour import BINDINGS, TOPICS
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.ci.gitlab import GitLab, Pipeline
from tests.integration.ci.player import ROOT, git

_GUARD = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guardrails}
spec:
  tests:
    - name: nobody but payments settles
      principals: ["User:*"]
      except: [User:svc-payments]
      mustNot: WRITE
      topics: payments.settled
"""
_SPY = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: spy}
spec: {principal: User:svc-spy, rules: [{allow: WRITE, topics: [payments.settled]}]}
"""


@dataclass
class Project:
    """A project on GitLab, whose cluster is a snapshot."""

    gitlab: GitLab
    snapshot: Path

    def commit(self, files: dict[str, str], message: str = "a change") -> str:
        origin = self.gitlab.origin
        for name, text in files.items():
            (origin / name).parent.mkdir(parents=True, exist_ok=True)
            (origin / name).write_text(text, encoding="utf-8")
        git(origin, "add", "--all")
        git(origin, "commit", "--quiet", "-m", message)
        return git(origin, "rev-parse", "HEAD")

    def merged(self, commit: str, before: str, *manual: str) -> Pipeline:
        return self.gitlab.run(commit, "push", *manual, CI_COMMIT_BRANCH="main", CI_COMMIT_BEFORE_SHA=before)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    origin, snapshot = tmp_path / "origin", tmp_path / "live.json"
    shutil.copytree(ROOT / "examples" / "acls", origin / "manifests")
    cluster = origin / "manifests" / "cluster.yaml"
    cluster.write_text(cluster.read_text(encoding="utf-8").replace("name: demo", "name: prod"), encoding="utf-8")
    git(origin, "init", "--quiet")
    state = ClusterState("prod", frozenset(BINDINGS), {topic.name: topic for topic in TOPICS})
    snapshot.write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    facts = (ROOT / "examples" / "operator.yaml").read_text(encoding="utf-8").replace("name: demo", "name: prod")
    secrets = {
        where: {"KAFKA_CONNECTIONS": facts, "KAFKA_PASSWORD": f"password-of-{where}"}
        for where in ("kafka-read", "kafka-prod")
    }
    work = tmp_path / "work"
    work.mkdir()
    return Project(GitLab(origin, work, secrets, {"SNAPSHOT": str(snapshot)}), snapshot)


pytestmark = pytest.mark.engines


def _merge_request(project: Project, commit: str, source: str = "1") -> Pipeline:
    variables = {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": source, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    if source != "1":
        variables["SNAPSHOT"] = ""  # a fork's job has no cluster, and nothing that stands for one
    return project.gitlab.run(commit, "merge_request_event", **variables)


@pytest.mark.long
def test_a_merge_request_is_planned_merged_applied_and_then_as_declared(project: Project) -> None:
    base = project.commit({"manifests/guard.yaml": _GUARD})
    planned = _merge_request(project, base)
    assert planned.status == 0, planned.log
    assert planned.jobs == {"plan": "PASS"}
    assert "User:svc-payments ALLOW WRITE" in planned.of("plan")
    live = project.snapshot.read_bytes()
    change = project.commit({"manifests/owner.yaml": _SPY.replace("payments.settled", "orders.spied")})
    waiting = project.merged(change, base)
    assert waiting.jobs == {"merged": "PASS"}, waiting.log
    assert project.snapshot.read_bytes() == live
    drift = project.gitlab.run(change, "schedule", CI_COMMIT_BRANCH="main")
    assert (drift.status, drift.jobs) == (0, {"drift": "WARN"}), drift.log
    applied = project.merged(change, base, "apply")
    assert applied.jobs == {"merged": "PASS", "apply": "PASS"}, applied.log
    assert "orders.spied" in project.snapshot.read_text(encoding="utf-8")
    # Retried after it succeeded, the plan is another one by now; nothing is left to do.
    assert project.merged(change, base, "apply").jobs == {"merged": "PASS", "apply": "PASS"}

    # Reverted, nothing is deleted and apply is red, until somebody runs a pipeline by hand that may delete.
    git(project.gitlab.origin, "rm", "--quiet", "manifests/owner.yaml")
    revert = project.commit({})
    drift = project.gitlab.run(revert, "schedule", CI_COMMIT_BRANCH="main")
    assert "merged and waiting for apply" in drift.of("drift")
    assert project.merged(revert, change, "apply").jobs == {"merged": "PASS", "apply": "FAIL"}
    assert "orders.spied" in project.snapshot.read_text(encoding="utf-8")
    given = {"CI_COMMIT_BRANCH": "main", "OPTIONS": "--allow-deletes"}
    deleted = project.gitlab.run(revert, "web", "apply", **given)
    assert deleted.jobs == {"merged": "PASS", "apply": "PASS"}, deleted.log
    assert "orders.spied" not in project.snapshot.read_text(encoding="utf-8")


def test_a_fork_is_checked_and_sees_no_secret(project: Project) -> None:
    project.commit({"manifests/guard.yaml": _GUARD})
    other = _SPY.replace("payments.settled", "orders.spied").replace("name: spy", "name: other")
    done = _merge_request(project, project.commit({"manifests/other.yaml": other}), source="2")
    assert done.jobs == {"check": "PASS"}, done.log
    done = _merge_request(project, project.commit({"manifests/spy.yaml": _SPY}), source="2")
    assert done.jobs == {"check": "FAIL"}, done.log
    assert "nobody but payments settles" in done.of("check")
    left = (path for path in project.gitlab.work.rglob("*") if path.is_file() and path.name != "variables.yml")
    assert not [path for path in left if b"password-of-" in path.read_bytes()]


def test_a_push_of_two_commits_is_judged_by_the_rules_before_both(project: Project) -> None:
    base = project.commit({"manifests/guard.yaml": _GUARD})
    project.commit({"manifests/guard.yaml": _GUARD.replace("[User:svc-payments]", "[User:svc-payments, User:svc-spy]")})
    tip = project.commit({"manifests/spy.yaml": _SPY})
    live = project.snapshot.read_bytes()
    done = project.merged(tip, base, "apply")
    assert done.status != 0
    assert done.jobs == {"merged": "FAIL"}, done.log
    assert "Guardrails changed: 1 looser" in done.of("merged")
    assert project.snapshot.read_bytes() == live


@pytest.mark.long
def test_the_first_push_has_no_rules_before_it_and_says_what_to_do(project: Project) -> None:
    done = project.merged(project.commit({}), "0" * 40, "apply")
    assert done.jobs == {"merged": "FAIL"}, done.log
    assert "set GUARDRAILS to none, once" in done.of("merged")
