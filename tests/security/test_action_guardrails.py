"""The pipeline's scripts and who judges: the base commit, whatever the proposal puts into its checkout."""

import shutil
from pathlib import Path

import pytest

from tests.integration.ci.player import git
from tests.integration.ci.test_action_scripts import Pipeline

_GUARD = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: payroll}
spec:
  tests: [{name: only payroll, onlyReaders: [User:svc-payroll], topics: [payments.salaries]}]
"""
_OPERATOR = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec:
  bootstrapServers: [localhost:1]
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
"""
_ATTACK = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: attack}
spec: {principal: User:mallory, rules: [{allow: READ, topics: [payments.salaries]}]}
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    found = Pipeline(tmp_path)
    (found.checkout / "kafka" / "prod" / "guard.yaml").write_text(_GUARD)
    found.base = found.commit()
    return found


def _here(pipeline: Pipeline) -> dict[str, str]:
    """The snapshot that stands for the cluster, and the operator's word on its facts."""
    operator = pipeline.directory / "operator.yaml"
    operator.write_text(_OPERATOR)
    return {**pipeline.here, "CONNECTIONS": str(operator)}


def _attack(pipeline: Pipeline) -> None:
    manifests = pipeline.checkout / "kafka" / "prod"
    (manifests / "guard.yaml").rename(manifests / ".guard.yaml")
    (manifests / "attack.yaml").write_text(_ATTACK)
    pipeline.commit()


def test_the_base_commit_judges_by_default(pipeline: Pipeline) -> None:
    """A pull request hides the guard and grants what it forbids: plan.sh fails, and says so first."""
    _attack(pipeline)
    done = pipeline.run("plan", GUARDRAILS="", BASE=pipeline.base, **_here(pipeline))
    assert done.returncode == 3, done.stderr
    comment = (pipeline.out / "comment.md").read_text(encoding="utf-8")
    assert "#### Guardrails changed" in comment
    assert "Guardrails changed: 1 looser" in comment.splitlines()[1]
    assert not (pipeline.out / "plan.json").exists()
    assert pipeline.run("plan", GUARDRAILS="", BASE=pipeline.base).returncode == 3


def test_apply_is_judged_as_the_plan_was(pipeline: Pipeline) -> None:
    """The id that was approved is that of a plan under guardrails; apply.sh needs the same ones for it."""
    judged = {**_here(pipeline), "GUARDRAILS": "base", "BASE": pipeline.base}
    pipeline.commit()
    assert pipeline.run("plan", **judged).returncode == 0
    approved = pipeline.outputs["plan-id"]
    done = pipeline.run("apply", PLAN_ID=approved, **judged)
    assert done.returncode == 0, done.stderr


def test_no_guardrails_is_said(pipeline: Pipeline) -> None:
    """A pipeline that is told to take none: whoever reads the comment, the summary or the log knows."""
    _attack(pipeline)
    summary = pipeline.directory / "summary"
    done = pipeline.run("plan", GUARDRAILS="none", GITHUB_STEP_SUMMARY=str(summary), **_here(pipeline))
    assert done.returncode == 0, done.stderr
    words = "guardrails: none: this change was judged by its own rules alone"
    for told in (done.stderr, summary.read_text(), (pipeline.out / "comment.md").read_text()):
        assert words in told


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "BASE is missing"),
        ({"BASE": "main"}, "BASE has to be the whole id of a commit"),
        ({"BASE": "--output=x"}, "BASE has to be the whole id of a commit"),
        ({"BASE": "0" * 40}, "BASE is the id of no commit"),
        ({"BASE": "1" * 40}, "is not in this checkout: fetch it too"),
        ({"GUARDRAILS": "nowhere"}, "there is no directory nowhere"),
        ({"GUARDRAILS": "kafka"}, "lies in the checkout of the manifests"),
    ],
)
@pytest.mark.parametrize("script", ["plan", "apply"])
def test_a_base_that_is_not_there_is_no_base_without_rules(
    pipeline: Pipeline, script: str, variables: dict[str, str], words: str
) -> None:
    """No commit, none that was fetched, a directory of the proposal's own: refused, with what to do."""
    given = {**_here(pipeline), "GUARDRAILS": "base", "PLAN_ID": "plan-" + "0" * 64, **variables}
    done = pipeline.run(script, **given)
    assert done.returncode == 64
    assert words in done.stderr


def test_a_shallow_checkout(pipeline: Pipeline) -> None:
    """A checkout of depth 1 has no base: refused, with the depth to ask for."""
    pipeline.commit()
    whole = pipeline.checkout.rename(pipeline.directory / "whole")
    git(pipeline.directory, "clone", "--quiet", "--depth", "1", f"file://{whole}", str(pipeline.checkout))
    done = pipeline.run("plan", GUARDRAILS="base", BASE=pipeline.base, **_here(pipeline))
    assert done.returncode == 64
    assert "fetch-depth: 0" in done.stderr


@pytest.mark.parametrize(
    "attributes",
    ["*.yaml export-ignore", "*.yaml working-tree-encoding=UTF-16 filter=evil eol=crlf ident"],
)
def test_settings_of_the_checkout_do_not_change_the_base(pipeline: Pipeline, attributes: str) -> None:
    """A pull request's .gitattributes would leave files of the base out, convert them, or run a program on them."""
    mark = pipeline.directory / "ran"
    git(pipeline.checkout, "config", "filter.evil.smudge", f"touch {mark}; cat")
    (pipeline.checkout / ".gitattributes").write_text(f"{attributes}\n", encoding="utf-8")
    (pipeline.checkout / "kafka" / "prod" / ".gitattributes").write_text(f"{attributes}\n", encoding="utf-8")
    manifests = pipeline.checkout / "kafka" / "prod"
    (manifests / "attack.yaml").write_text(_ATTACK)
    (manifests / "guard.yaml").unlink()
    done = pipeline.run("plan", GUARDRAILS="base", BASE=pipeline.base, **_here(pipeline))
    assert done.returncode == 3, done.stderr
    assert not mark.exists()


def test_a_base_without_manifests_judges_nothing_unless_the_operator_says_so(pipeline: Pipeline) -> None:
    """The commit before has no manifests: refused, with what to set for the first proposal of a repository."""
    git(pipeline.checkout, "checkout", "--quiet", "--orphan", "empty")
    git(pipeline.checkout, "rm", "-r", "--quiet", "--cached", ".")
    git(pipeline.checkout, "commit", "--quiet", "--allow-empty", "-m", "nothing")
    empty = git(pipeline.checkout, "rev-parse", "HEAD")
    pipeline.commit()
    done = pipeline.run("plan", GUARDRAILS="base", BASE=empty, **_here(pipeline))
    assert done.returncode == 64
    assert "has no manifests in kafka/prod, so this change would be judged by its own rules alone" in done.stderr
    assert "set GUARDRAILS to none, once" in done.stderr
    done = pipeline.run("plan", GUARDRAILS="none", BASE=empty, **_here(pipeline))
    assert done.returncode == 0, done.stderr
    assert "guardrails: none: this change was judged by its own rules alone" in done.stderr


def test_a_directory_of_the_security_team(pipeline: Pipeline) -> None:
    """Rules of another repository judge, and the base is compared with where it is given."""
    rails = pipeline.directory / "security"
    shutil.copytree(pipeline.checkout / "kafka" / "prod", rails)
    _attack(pipeline)
    done = pipeline.run("plan", GUARDRAILS=str(rails), BASE=pipeline.base, **_here(pipeline))
    assert done.returncode == 3, done.stderr
    assert "Guardrails changed" in (pipeline.out / "comment.md").read_text(encoding="utf-8")


def test_a_base_that_is_broken_judges_nothing_and_says_so(pipeline: Pipeline) -> None:
    """A base whose rules cannot be read is an error: else it would judge as if it had none."""
    guard = pipeline.checkout / "kafka" / "prod" / "guard.yaml"
    guard.write_text(_GUARD.replace("AccessTests", "AccessTest"))
    broken = pipeline.commit()
    guard.write_text(_GUARD)
    pipeline.commit()
    done = pipeline.run("plan", GUARDRAILS="base", BASE=broken, **_here(pipeline))
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
