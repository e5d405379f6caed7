"""The action's scripts, run by bash as any pipeline would."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from reconciler.app.approvals import approve
from reconciler.cli.main import run
from reconciler.model.state import ClusterState
from reconciler.parts.local.tour import BINDINGS, TOPICS
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.ci.player import ROOT, git
from tests.prepared import search_path

_REPORTS = {"comment.md", "summary.md", "reconciler.sarif", "junit.xml", "report.html"}
_GITLAB = {"gitlab-terraform.json", "gitlab-codequality.json"}


class Pipeline:
    """A checkout with the first example in ``kafka/prod``, a snapshot beside it, and a place for results."""

    def __init__(self, directory: Path) -> None:
        self.checkout, self.out, self.directory = directory / "checkout", directory / "out", directory
        shutil.copytree(ROOT / "examples" / "acls", self.checkout / "kafka" / "prod")
        git(self.checkout, "init", "--quiet")
        self.base = self.commit()
        state = ClusterState("demo", frozenset(BINDINGS), {topic.name: topic for topic in TOPICS})
        self.snapshot = directory / "live.json"
        self.snapshot.write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")

    def commit(self) -> str:
        """Commits everything; the commit's id."""
        git(self.checkout, "add", "--all")
        git(self.checkout, "commit", "--quiet", "--allow-empty", "-m", "a change")
        return git(self.checkout, "rev-parse", "HEAD")

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": search_path(),
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "CI": "true",
            "MANIFESTS": "kafka/prod",
            "OUT": str(self.out),
            "GUARDRAILS": "none",
            "GITHUB_OUTPUT": str(self.directory / "output"),
            **variables,
        }
        return subprocess.run(
            [str(ROOT / "action" / f"{script}.sh")],
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.directory / "output").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def here(self) -> dict[str, str]:
        facts = str(ROOT / "examples" / "operator.yaml")
        where = {"CLUSTER": "demo", "SNAPSHOT": str(self.snapshot), "CONNECTIONS": facts}
        return {**where, "OPTIONS": "--allow-deletes\n\n"}


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path)


def test_a_plan_leaves_results_reports_and_outputs(pipeline: Pipeline) -> None:
    summary = pipeline.directory / "summary"
    done = pipeline.run("plan", GITHUB_STEP_SUMMARY=str(summary), GITLAB_CI="true", **pipeline.here)
    assert done.returncode == 0, done.stderr
    assert _REPORTS | _GITLAB | {"plan.json", "result.json", "validate.json", "lint.json"} == {
        path.name for path in pipeline.out.iterdir()
    }
    plan = json.loads((pipeline.out / "plan.json").read_text(encoding="utf-8"))
    assert (pipeline.outputs["status"], pipeline.outputs["valid"]) == ("0", "true")
    assert (pipeline.outputs["plan-id"], pipeline.outputs["change-id"]) == (plan["planId"], plan["changeId"])
    assert plan["planId"] in (pipeline.out / "comment.md").read_text(encoding="utf-8")
    assert (pipeline.out / "comment.md").read_text(encoding="utf-8").startswith("<!-- reconciler:demo -->")
    assert plan["planId"] in summary.read_text(encoding="utf-8")
    assert "kafka/prod/analytics.yaml" in (pipeline.out / "reconciler.sarif").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", ["plan", "apply", "drift"])
def test_what_could_not_be_found_out_looks_like_nothing_good(script: str, pipeline: Pipeline) -> None:
    approved = {"PLAN_ID": "plan-" + "0" * 64}
    assert pipeline.run("plan", **pipeline.here).returncode == 0
    pipeline.snapshot.write_text("{}", encoding="utf-8")
    assert pipeline.run(script, **pipeline.here, **approved).returncode == 1
    comment = (pipeline.out / "comment.md").read_text(encoding="utf-8")
    command = "drift" if script == "drift" else "plan"
    assert comment.startswith("<!-- reconciler:demo -->\n### 🛑 ")
    assert f"{command} ended with 1" in comment
    assert '<failure type="failed"' in (pipeline.out / "junit.xml").read_text(encoding="utf-8")
    assert '"run-failed"' in (pipeline.out / "reconciler.sarif").read_text(encoding="utf-8")
    assert not (pipeline.out / "plan.json").exists()


def test_an_apply_that_failed_is_not_reported_as_its_plan(pipeline: Pipeline) -> None:
    done = pipeline.run("apply", PLAN_ID="plan-" + "0" * 64, **pipeline.here)
    assert done.returncode == 4
    assert "apply ended with 4" in (pipeline.out / "comment.md").read_text(encoding="utf-8")


def test_options_of_plan_that_change_its_status_do_not_keep_what_was_approved_from_being_applied(
    pipeline: Pipeline,
) -> None:
    here = {**pipeline.here, "OPTIONS": "--allow-deletes\n--detailed-exitcode\n"}
    assert pipeline.run("plan", **here).returncode == 2
    done = pipeline.run("apply", PLAN_ID=pipeline.outputs["plan-id"], **here)
    assert done.returncode == 0, done.stderr
    assert pipeline.run("drift", **pipeline.here).returncode == 0


class _Signed(NamedTuple):
    """A plan file with as many signatures as asked, and the variables that demand two."""

    plan: Path
    variables: dict[str, str]


def _signed(pipeline: Pipeline, *people: str) -> _Signed:
    assert pipeline.run("plan", **pipeline.here).returncode == 0
    place = pipeline.directory / "approved"
    place.mkdir()
    plan = Path(shutil.copy(pipeline.out / "plan.json", place / "plan.json"))
    signers = pipeline.directory / "allowed_signers"
    with signers.open("w", encoding="utf-8") as file:
        for name in ("alice", "bob"):
            key = Ed25519PrivateKey.generate()
            private = place / name
            private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
            public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
            file.write(f'{name}@example.com namespaces="kafka-reconciler-plan" {public}\n')
            if name in people:
                approve(str(plan), str(private))
    variables = {"PLAN": str(plan), "REQUIRE_APPROVALS": "2", "ALLOWED_SIGNERS": str(signers)}
    return _Signed(plan, {**pipeline.here, **variables})


def test_a_plan_that_two_people_signed_is_applied(pipeline: Pipeline) -> None:
    signed = _signed(pipeline, "alice", "bob")
    done = pipeline.run("apply", **signed.variables)
    assert done.returncode == 0, done.stderr
    assert pipeline.run("drift", **pipeline.here).returncode == 0
    assert (pipeline.out / "comment.md").exists()


@pytest.mark.parametrize(
    ("people", "more"),
    [
        (("alice",), {}),
        (("alice", "bob"), {"NOT_AUTHOR": "bob@example.com\n"}),
        (("alice", "bob"), {"PLAN_ID": "plan-" + "0" * 64}),
    ],
    ids=["one", "an author", "another id"],
)
def test_a_plan_that_too_few_people_signed_is_not_applied(
    pipeline: Pipeline, people: tuple[str, ...], more: dict[str, str]
) -> None:
    signed = _signed(pipeline, *people)
    before = pipeline.snapshot.read_text(encoding="utf-8")
    assert pipeline.run("apply", **{**signed.variables, **more}).returncode in (4, 5)
    assert pipeline.snapshot.read_text(encoding="utf-8") == before


def test_approvals_that_could_not_hold_are_refused(pipeline: Pipeline) -> None:
    signed = _signed(pipeline, "alice", "bob")
    own = shutil.copy(pipeline.directory / "allowed_signers", pipeline.checkout / "allowed_signers")
    kept = shutil.copy(signed.plan, pipeline.out / "signed.json")
    for change in (
        {"ALLOWED_SIGNERS": str(own)},
        {"ALLOWED_SIGNERS": ""},
        {"REQUIRE_APPROVALS": ""},
        {"REQUIRE_APPROVALS": "0"},
        {"PLAN": ""},
        {"PLAN": str(kept)},
    ):
        done = pipeline.run("apply", **{**signed.variables, "PLAN_ID": "plan-" + "0" * 64, **change})
        assert done.returncode == 64, (change, done.stderr)
        assert signed.plan.exists()


def test_without_a_cluster_only_what_needs_none_is_checked(pipeline: Pipeline) -> None:
    done = pipeline.run("plan")
    assert done.returncode == 0, done.stderr
    assert not (pipeline.out / "plan.json").exists()
    assert "plan-id" not in pipeline.outputs


def test_manifests_that_cannot_be_read_stop_before_the_plan(pipeline: Pipeline) -> None:
    (pipeline.checkout / "kafka" / "prod" / "odd.yaml").write_text("kind: [\n", encoding="utf-8")
    done = pipeline.run("plan", **pipeline.here)
    assert done.returncode == 1
    assert pipeline.outputs == {"valid": "false", "status": "1"}
    assert "kafka/prod/odd.yaml" in (pipeline.out / "reconciler.sarif").read_text(encoding="utf-8")


def test_a_refused_plan_is_reported_and_not_saved(pipeline: Pipeline) -> None:
    cluster = pipeline.checkout / "kafka" / "prod" / "cluster.yaml"
    text = cluster.read_text(encoding="utf-8")
    assert "{maxDeletes: 20}" in text
    cluster.write_text(text.replace("{maxDeletes: 20}", "{maxDeletes: 1}"), encoding="utf-8")
    done = pipeline.run("plan", **pipeline.here)
    assert done.returncode == 5
    assert not (pipeline.out / "plan.json").exists()
    assert "limit" in (pipeline.out / "comment.md").read_text(encoding="utf-8")


def test_what_a_guard_refuses_keeps_the_check_red_and_the_rest_is_applied(pipeline: Pipeline) -> None:
    cluster = pipeline.checkout / "kafka" / "prod" / "cluster.yaml"
    protect = "  protect: [{topics: [orders.returned]}]\n"
    cluster.write_text(cluster.read_text(encoding="utf-8") + protect, encoding="utf-8")
    assert pipeline.run("plan", **pipeline.here).returncode == 5
    comment = (pipeline.out / "comment.md").read_text(encoding="utf-8")
    assert "orders.returned" in comment
    assert "### 🛑 Refused" in comment
    approved = pipeline.outputs["plan-id"]
    before = pipeline.run("plan", BEFORE_APPLY="true", **pipeline.here)
    assert before.returncode == 0, before.stderr
    assert pipeline.outputs["plan-id"] == approved
    done = pipeline.run("apply", PLAN_ID=approved, **pipeline.here)
    assert done.returncode == 5, done.stdout + done.stderr
    applied = (pipeline.out / "applied.txt").read_text(encoding="utf-8")
    assert "Applied and verified" in applied
    assert "refused: " in applied
    assert "apply ended with" not in (pipeline.out / "comment.md").read_text(encoding="utf-8")
    live = pipeline.snapshot.read_text(encoding="utf-8")
    assert "orders.returned" not in live
    assert "svc-reports" in live
    # All that is left is refused: red, as long as it is.
    assert pipeline.run("plan", **pipeline.here).returncode == 5
    assert pipeline.run("drift", **pipeline.here).returncode == 2


@pytest.mark.parametrize("variables", [{}, {"BEFORE_APPLY": "true"}])
def test_where_more_speaks_against_it_than_what_a_guard_refuses_nothing_is_applied(
    pipeline: Pipeline, variables: dict[str, str]
) -> None:
    cluster = pipeline.checkout / "kafka" / "prod" / "cluster.yaml"
    protect = "  protect: [{topics: [orders.returned]}]\n"
    cluster.write_text(cluster.read_text(encoding="utf-8") + protect, encoding="utf-8")
    here = {**pipeline.here, "OPTIONS": "--allow-deletes\n--fail-on\nnew-access\n"}
    assert pipeline.run("plan", **variables, **here).returncode == 3
    before = pipeline.snapshot.read_bytes()
    assert pipeline.run("apply", PLAN_ID=pipeline.outputs["plan-id"], **variables, **here).returncode == 3
    assert pipeline.snapshot.read_bytes() == before


def test_what_was_approved_is_applied_and_nothing_else(pipeline: Pipeline) -> None:
    pipeline.run("plan", **pipeline.here)
    approved = pipeline.outputs["plan-id"]
    other = "plan-" + "0" * 64
    before = pipeline.snapshot.read_bytes()
    assert pipeline.run("apply", PLAN_ID=other, **pipeline.here).returncode == 4
    assert pipeline.snapshot.read_bytes() == before
    done = pipeline.run("apply", PLAN_ID=approved, **pipeline.here)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Applied and verified" in (pipeline.out / "applied.txt").read_text(encoding="utf-8")
    assert (pipeline.out / "audit.jsonl").exists()
    assert pipeline.run("drift", **pipeline.here).returncode == 0
    # Once more, the approved plan is another one by now: there is nothing left to do.
    assert pipeline.run("apply", PLAN_ID=approved, **pipeline.here).returncode == 4


def test_drift_is_told_with_metrics_for_a_collector(pipeline: Pipeline) -> None:
    metrics = pipeline.directory / "collector" / "reconciler.prom"
    metrics.parent.mkdir()
    done = pipeline.run("drift", METRICS=str(metrics), **pipeline.here)
    assert done.returncode == 2
    assert pipeline.outputs == {"status": "2"}
    assert 'reconciler_drift{cluster="demo",difference="missing",kind="acl"}' in metrics.read_text(encoding="utf-8")
    kept = metrics.read_bytes()
    pipeline.snapshot.write_text("{}", encoding="utf-8")
    assert pipeline.run("drift", METRICS=str(metrics), **pipeline.here).returncode == 1
    assert metrics.read_bytes() == kept


@pytest.mark.parametrize(
    ("script", "variables", "told"),
    [
        ("plan", {"CLUSTER": "demo", "CONNECTIONS": "kafka/prod/cluster.yaml"}, "lies in the checkout"),
        ("plan", {"CLUSTER": "demo", "SNAPSHOT": "kafka/prod/cluster.yaml"}, "lies in the checkout"),
        ("plan", {"CLUSTER": "demo", "CONNECTIONS": "../nowhere.yaml"}, "there is no file"),
        ("plan", {"SNAPSHOT": "../live.json"}, "SNAPSHOT needs CLUSTER"),
        ("plan", {"MANIFESTS": "nowhere"}, "there is no directory"),
        ("apply", {"CLUSTER": "demo", "SNAPSHOT": "../live.json"}, "PLAN_ID has to be"),
        ("apply", {"CLUSTER": "demo", "SNAPSHOT": "../live.json", "PLAN_ID": "--yes"}, "PLAN_ID has to be"),
        ("apply", {"PLAN_ID": "plan-" + "0" * 64}, "CLUSTER is missing"),
        ("drift", {}, "CLUSTER is missing"),
    ],
)
def test_what_would_be_unsafe_or_senseless_is_refused(
    script: str, variables: dict[str, str], told: str, pipeline: Pipeline
) -> None:
    done = pipeline.run(script, **variables)
    assert done.returncode == 64
    assert told in done.stderr


def test_a_link_into_the_checkout_is_no_way_out(pipeline: Pipeline) -> None:
    link = pipeline.directory / "connections.yaml"
    link.symlink_to(pipeline.checkout / "kafka" / "prod" / "cluster.yaml")
    done = pipeline.run("plan", CLUSTER="demo", CONNECTIONS=str(link))
    assert done.returncode == 64


def test_reports_into_several_files_name_a_format_and_a_file(pipeline: Pipeline) -> None:
    pipeline.run("plan", **pipeline.here)
    result = str(pipeline.out / "result.json")
    for wrong in ("pdf=x", "pdf", "html="):
        assert run(["report", result, "-o", wrong]) == 64
    made = pipeline.directory / "made.html"
    assert run(["report", result, "-o", f"html={made}"]) == 0
    assert made.read_text(encoding="utf-8").startswith("<!doctype html>")


#: A directory that git takes for a repository of its own, with settings that run a command.
_BARE = {
    "HEAD": "ref: refs/heads/main\n",
    "config": '[core]\nbare = false\nworktree = .\nfsmonitor = "touch {mark}; false"\n',
    "objects/keep": "",
    "refs/keep": "",
}


@pytest.mark.parametrize("script", ["plan", "drift"])
def test_nothing_in_the_checkout_is_run(script: str, pipeline: Pipeline) -> None:
    mark = pipeline.directory / "ran"
    for name in ("json", "venv", "pip", "re", "reconciler"):
        code = f"open({str(mark)!r}, 'w').close()\n"
        (pipeline.checkout / f"{name}.py").write_text(code, encoding="utf-8")
        (pipeline.checkout / "kafka" / "prod" / f"{name}.py").write_text(code, encoding="utf-8")
    done = pipeline.run(script, **pipeline.here)
    assert done.returncode in (0, 2), done.stderr
    assert not mark.exists()


def test_a_repository_inside_the_manifests_is_not_believed(pipeline: Pipeline) -> None:
    mark = pipeline.directory / "ran"
    for name, text in _BARE.items():
        file = pipeline.checkout / "kafka" / "prod" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace("{mark}", str(mark)), encoding="utf-8")
    done = pipeline.run("plan", **pipeline.here)
    assert done.returncode == 64
    assert "a repository of its own" in done.stderr
    assert (
        run(["plan", str(pipeline.checkout / "kafka" / "prod"), "--cluster", f"demo=snapshot:{pipeline.snapshot}"]) == 0
    )
    assert not mark.exists()


def test_an_edit_is_pushed_as_a_branch_of_its_own_and_replaced(pipeline: Pipeline) -> None:
    remote = pipeline.directory / "remote.git"
    git(pipeline.checkout, "init", "--quiet", "--bare", str(remote))
    git(pipeline.checkout, "remote", "add", "origin", str(remote))
    hook = pipeline.checkout / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch ran\n", encoding="utf-8")
    hook.chmod(0o755)
    grant = "User:svc-audit\nREAD\ntopic/payments.settled\n--until\n2099-01-31"
    for name in ("payments.settled", "orders.placed"):
        done = pipeline.run("edit", EDIT="grant", OPTIONS=grant.replace("payments.settled", name))
        assert done.returncode == 0, done.stderr
        assert pipeline.outputs["changed"] == "true"
        change = git(remote, "log", "--format=%s", "-p", f"{pipeline.base}..reconciler/grant")
        assert change.count("Grant User:svc-audit") == 1
        assert f"topics: [{name}]" in change
    assert (pipeline.out / "edit.md").read_text(encoding="utf-8").startswith("<!-- reconciler:edit-grant -->\n")
    assert not (pipeline.checkout / "ran").exists(), "no hook of the checkout is run"
    assert git(pipeline.checkout, "status", "--porcelain") == ""
    assert "reconciler/ and a name" in pipeline.run("edit", EDIT="grant", OPTIONS=grant, BRANCH="main").stderr


def test_drift_is_proposed_as_an_edit_and_none_is_none(pipeline: Pipeline) -> None:
    remote = pipeline.directory / "remote.git"
    git(pipeline.checkout, "init", "--quiet", "--bare", str(remote))
    git(pipeline.checkout, "remote", "add", "origin", str(remote))
    done = pipeline.run("edit", EDIT="adopt", **{**pipeline.here, "OPTIONS": "--only\nprincipals=User:svc-batch"})
    assert done.returncode == 0, done.stderr
    assert "User:svc-batch" in git(remote, "log", "-p", f"{pipeline.base}..reconciler/adopt")
    done = pipeline.run("edit", EDIT="adopt", **{**pipeline.here, "OPTIONS": "--only\nprincipals=User:nobody"})
    assert done.returncode == 0, done.stderr
    assert pipeline.outputs["changed"] == "false"


def test_why_a_plan_could_not_be_made_and_how_far_an_apply_came_are_told_to_people(pipeline: Pipeline) -> None:
    pipeline.snapshot.write_text("{}", encoding="utf-8")
    assert pipeline.run("plan", **pipeline.here).returncode == 1
    comment = (pipeline.out / "comment.md").read_text(encoding="utf-8")
    assert "plan ended with 1 (" in comment
    assert "formatVersion" in comment


def test_an_apply_that_was_cut_short_goes_on_with_its_plan(pipeline: Pipeline) -> None:
    """The state has a part of the plan: planned again it is another one, the file that was approved is applied."""
    assert pipeline.run("plan", **pipeline.here).returncode == 0
    approved, before = pipeline.outputs["plan-id"], pipeline.snapshot.read_bytes()
    plan = pipeline.directory / "merged-plan.json"
    shutil.copy(pipeline.out / "plan.json", plan)
    assert pipeline.run("apply", PLAN_ID=approved, **pipeline.here).returncode == 0
    whole = json.loads(pipeline.snapshot.read_text(encoding="utf-8"))
    part = json.loads(before)
    there = [(one["name"], one["resourceType"]) for one in part["acls"]]
    part["acls"] += [one for one in whole["acls"] if (one["name"], one["resourceType"]) not in there][:1]
    assert len(part["acls"]) > len(there)
    pipeline.snapshot.write_text(json.dumps(part), encoding="utf-8")
    assert pipeline.run("apply", PLAN_ID="plan-" + "0" * 64, PLAN=str(plan), **pipeline.here).returncode == 4
    done = pipeline.run("apply", PLAN_ID=approved, PLAN=str(plan), OPERATOR="alice", **pipeline.here)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(pipeline.snapshot.read_text(encoding="utf-8"))["acls"] == whole["acls"]
    assert '"operator": "alice"' in (pipeline.out / "audit.jsonl").read_text(encoding="utf-8").replace('":"', '": "')
    assert (pipeline.out / "plan.json.journal").exists()


def test_what_an_earlier_run_did_is_not_told_of_one_that_sent_nothing(pipeline: Pipeline) -> None:
    pipeline.run("plan", **pipeline.here)
    approved = pipeline.outputs["plan-id"]
    assert pipeline.run("apply", PLAN_ID=approved, **pipeline.here).returncode == 0
    assert (pipeline.out / "plan.json.journal").stat().st_size
    assert pipeline.run("apply", PLAN_ID=approved, **pipeline.here).returncode == 4
    comment = (pipeline.out / "comment.md").read_text(encoding="utf-8")
    assert "apply ended with 4, so its findings are unknown" in comment


def test_a_base_that_cannot_be_planned_makes_no_change_look_done(tmp_path: Path) -> None:
    result, base = tmp_path / "result.json", tmp_path / "base.json"
    result.write_text('{"left": [{"reason": "held-back", "subject": "delete x"}]}', encoding="utf-8")
    base.write_text("", encoding="utf-8")
    command = [sys.executable, "-I", str(ROOT / "action" / "undone.py"), str(result), str(base)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "the base cannot be planned" in said
    assert said.endswith("delete x\n")


def test_a_note_of_a_killed_apply_counts_what_its_journal_has(tmp_path: Path) -> None:
    lines = [
        {"record": "run", "steps": 5},
        {"record": "outcomes", "outcomes": [{"step": "a", "outcome": "done"}, {"step": "b", "outcome": "unknown"}]},
        {"record": "outcomes", "outcomes": [{"step": "b", "outcome": "done"}]},
    ]
    journal = tmp_path / "plan.json.journal"
    journal.write_text("\n".join(map(json.dumps, lines)) + '\n{"record": "outc', encoding="utf-8")
    command = [sys.executable, "-I", str(ROOT / "action" / "failed.py"), "apply", "130", "prod", str(journal)]
    note = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert (note["kind"], note["status"], note["message"]) == ("Failed", 130, "2 done of 5 steps")


def test_a_change_that_takes_away_is_not_done_while_deletions_need_a_word(pipeline: Pipeline) -> None:
    """A revert is merged and applied without --allow-deletes: red, with what is still there; nothing else is named."""
    given = {**pipeline.here, "GUARDRAILS": "base", "BASE": pipeline.base, "OPTIONS": ""}
    pipeline.run("plan", **pipeline.here)
    assert pipeline.run("apply", PLAN_ID=pipeline.outputs["plan-id"], **pipeline.here).returncode == 0
    orders = pipeline.checkout / "kafka" / "prod" / "analytics.yaml"
    orders.unlink()
    pipeline.commit()
    assert pipeline.run("plan", **given).returncode == 0
    summary = pipeline.directory / "summary"
    done = pipeline.run("apply", PLAN_ID=pipeline.outputs["plan-id"], GITHUB_STEP_SUMMARY=str(summary), **given)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "\n    this change removes them" in summary.read_text(encoding="utf-8")
    assert "this change removes them, and they are still there" in done.stderr
    assert "User:svc-analytics" in done.stderr
    # What nobody declared before either is none of this change.
    again = pipeline.commit()
    pipeline.run("plan", **{**given, "BASE": again})
    assert pipeline.run("apply", PLAN_ID=pipeline.outputs["plan-id"], **{**given, "BASE": again}).returncode == 0


def test_drift_tells_what_was_merged_from_what_was_changed_by_hand(pipeline: Pipeline) -> None:
    """By the branch that apply moves, which a rerun for an older commit does not move back."""
    remote, applied = pipeline.directory / "remote.git", "refs/heads/reconciler/applied/demo"
    git(pipeline.checkout, "init", "--quiet", "--bare", str(remote))
    git(pipeline.checkout, "remote", "add", "origin", str(remote))
    given = {**pipeline.here, "APPLIED": applied}
    assert pipeline.run("drift", **given).returncode == 2
    unknown = (
        "nothing was applied yet, so what was merged and waits for apply is not told from what was changed by hand"
    )
    comment = pipeline.out / "comment.md"
    assert unknown in "".join(comment.read_text(encoding="utf-8").splitlines()[:4])
    pipeline.run("plan", GUARDRAILS="none", **given)
    assert pipeline.run("apply", PLAN_ID=pipeline.outputs["plan-id"], GUARDRAILS="none", **given).returncode == 0
    assert pipeline.outputs["applied"] == "true"
    assert git(remote, "rev-parse", applied) == pipeline.base

    topics = pipeline.checkout / "kafka" / "prod" / "topics.yaml"
    text = topics.read_text(encoding="utf-8")
    topics.write_text(text.replace("retention.ms: 7d", "retention.ms: 6d"), encoding="utf-8")
    merged = pipeline.commit()
    assert pipeline.run("drift", **given).returncode == 2
    assert "all merged and waiting for apply" in comment.read_text(encoding="utf-8").splitlines()[1]
    document = json.loads(pipeline.snapshot.read_text(encoding="utf-8"))
    whole = json.dumps(document)
    document["acls"] = document["acls"][1:]
    [returned] = [one for one in document["topics"] if one["name"] == "orders.returned"]
    returned["configs"]["retention.ms"] = "5"
    pipeline.snapshot.write_text(json.dumps(document), encoding="utf-8")
    assert pipeline.run("drift", **given).returncode == 2
    causes = json.loads((pipeline.out / "result.json").read_text(encoding="utf-8"))["causes"].values()
    assert {*causes} == {"merged", "by-hand", "both"}
    # What somebody else writes into the branch is not believed, and keeps nothing from being reported.
    stray = git(pipeline.checkout, "commit-tree", "-m", "stray", f"{merged}^{{tree}}")
    git(pipeline.checkout, "push", "--quiet", "--force", "origin", f"{stray}:{applied}")
    assert pipeline.run("drift", **given).returncode == 2
    assert "is not in the history of this commit" in comment.read_text(encoding="utf-8")
    assert "causes" not in json.loads((pipeline.out / "result.json").read_text(encoding="utf-8"))
    refused = pipeline.run("plan", **{**given, "GUARDRAILS": "base"})
    assert refused.returncode == 64
    assert "is not in the history of this commit" in refused.stderr

    git(pipeline.checkout, "push", "--quiet", "--force", "origin", f"{merged}:{applied}")
    pipeline.snapshot.write_text(whole, encoding="utf-8")
    git(pipeline.checkout, "checkout", "--quiet", pipeline.base)
    pipeline.run("plan", GUARDRAILS="none", **given)
    done = pipeline.run("apply", PLAN_ID=pipeline.outputs["plan-id"], GUARDRAILS="none", **given)
    assert done.returncode == 0, done.stderr
    assert git(remote, "rev-parse", applied) == merged
