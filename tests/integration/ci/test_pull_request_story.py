"""A pull request from first commit to the fix of a change by hand, by the reusable workflows, on a real broker."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.secret_source import SecretSource
from reconciler.kafka.settings import client_settings
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.state import ClusterState
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import ReadRequest
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.ci.act import Act
from tests.integration.ci.github import BOT, GitHub, github
from tests.integration.ci.player import Played, Player, git
from tests.verbs import creations, deletions

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec:
  principal: User:reconciler
  superUsers: [User:admin, User:reconciler]
  allowEveryoneIfNoAclFound: false
  scope: {include: [{principals: {prefix: "User:story-"}}, {topics: {prefix: story.}}]}
  barrier: {wait: 1s}
"""
_ACLS = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: story}
spec:
  principal: User:story-shop
  rules:
    - {role: producer, topics: [story.orders]}
"""
_READER = (
    _ACLS.replace("name: story", "name: reader")
    .replace("story-shop", "story-reader")
    .replace("role: producer, topics: [story.orders]", "role: consumer, topics: [story.orders], groups: [story-reader]")
)
_BY_HAND = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "story.orders"),
    AccessControlEntry("User:story-guest", "*", AclOperation.READ, AclPermissionType.ALLOW),
)
_PLAN = re.compile(r"plan-[0-9a-f]{64}")


class Story:
    """The team's repository, their GitHub, and their cluster."""

    def __init__(self, directory: Path, broker: Sandbox, hub: GitHub, engine: type[Player | Act]) -> None:
        self.origin, self.hub = directory / "origin", hub
        settings = broker.settings("reconciler", "PLAIN")
        servers = settings.pop("bootstrap.servers")
        self._settings, self._servers = settings, servers
        client = {**settings, "sasl.password": "${env:KAFKA_PASSWORD}"}
        document = {
            "apiVersion": "reconciler/v1",
            "kind": "Cluster",
            "metadata": {"name": "prod"},
            "spec": {"bootstrapServers": servers.split(","), "client": client},
        }
        secrets = {"KAFKA_CONNECTIONS": json.dumps(document), "KAFKA_PASSWORD": settings["sasl.password"]}
        self.player = engine(self.origin, directory / "runs", hub, secrets)
        self.player.work.mkdir()
        (self.origin / "manifests").mkdir(parents=True)
        (self.origin / "snapshots").mkdir()
        git(self.origin, "init", "--quiet")
        empty = snapshot_text(ClusterState("prod"), BrokerFacts(broker_ids=(1,)))
        self.base = self.commit({"manifests/cluster.yaml": _CLUSTER, "snapshots/prod.json": empty})

    def commit(self, files: dict[str, str], branch: str = "main") -> str:
        known = git(self.origin, "branch", "--list", branch, "--format=%(refname:short)")
        if git(self.origin, "branch", "--show-current") != branch:
            git(self.origin, "checkout", "--quiet", *([] if known else ["-b"]), branch)
        for name, text in files.items():
            (self.origin / name).write_text(text, encoding="utf-8")
        git(self.origin, "add", ".")
        git(self.origin, "commit", "--quiet", "-m", "a change")
        return git(self.origin, "rev-parse", "HEAD")

    def merge(self, branch: str, number: int) -> str:
        git(self.origin, "checkout", "--quiet", "main")
        git(self.origin, "merge", "--quiet", "--no-ff", "-m", "merge", branch)
        merged = git(self.origin, "rev-parse", "HEAD")
        self.hub.merged[merged] = number
        return merged

    def proposed(self, head: str, *, by: str = "team/kafka", attempt: int = 1, **inputs: str) -> dict[str, Played]:
        pull = {"number": 7, "head": {"sha": head, "repo": {"full_name": by}}, "base": {"sha": self.base}}
        event = {"sha": head, "ref": "refs/pull/7/merge", "event_name": "pull_request", "event": {"pull_request": pull}}
        return self.player.play("plan", {**event, "run_attempt": str(attempt)}, **inputs)

    def queued(self, head: str) -> dict[str, Played]:
        """The merge queue's group at ``head`` is checked."""
        group = {"merge_group": {"base_sha": self.base}}
        event = {"sha": head, "ref": "refs/heads/gh-readonly-queue/main", "event_name": "merge_group", "event": group}
        return self.player.play("plan", event)

    def merged(self, commit: str, attempt: int = 1, before: str = "", **inputs: str) -> dict[str, Played]:
        before = before or git(self.origin, "rev-parse", f"{commit}^1")
        event = {"sha": commit, "ref": "refs/heads/main", "event_name": "push", "event": {"before": before}}
        return self.player.play("apply", {**event, "run_attempt": str(attempt)}, **inputs)

    def by_hand(self, commit: str, *, deletes: bool = False) -> dict[str, Played]:
        event = {"sha": commit, "ref": "refs/heads/main", "event_name": "workflow_dispatch", "event": {}}
        return self.player.play("apply", {**event, "inputs": {"deletes": deletes}})

    def watched(self, commit: str) -> dict[str, Played]:
        event = {"sha": commit, "ref": "refs/heads/main", "event_name": "schedule", "event": {}}
        return self.player.play("drift", event)

    def operators(self) -> set[str]:
        """Whom the audit logs of applies name."""
        logs = (path / "audit.jsonl" for name, path in self.player.artifacts.items() if name.startswith("applied-"))
        lines = (json.loads(line) for log in logs for line in log.read_text(encoding="utf-8").splitlines())
        return {line["operator"] for line in lines if "operator" in line}

    def cluster(self) -> KafkaCluster:
        return connect(client_settings(self._servers, dict(self._settings), SecretSource()))

    def live(self) -> set[AclBinding]:
        with self.cluster() as cluster:
            found = cluster.read(ReadRequest(all_topics=False)).bindings
        return {binding for binding in found if binding.entry.principal.startswith("User:story-")}


#: A test on act, by ``make test-ci``, which builds it.
_ON_ACT = pytest.param(Act, id="act", marks=[pytest.mark.engines, pytest.mark.long])
_on_act = pytest.mark.parametrize("story", [_ON_ACT], indirect=True)
#: The same on the player too, which stands in for an engine.
_each = pytest.mark.parametrize("story", [pytest.param(Player, id="player"), _ON_ACT], indirect=True)
#: The same where scripts alone hold it in every run: tests/integration/ci/test_action_scripts.py, and
#: tests/security/test_pipeline_places.py.
_each_at_night = pytest.mark.parametrize(
    "story", [pytest.param(Player, id="player", marks=pytest.mark.long), _ON_ACT], indirect=True
)


@pytest.fixture
def story(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest) -> Iterator[Story]:
    with github() as hub:
        told = Story(tmp_path, broker, hub, request.param)
        yield told
        with told.cluster() as cluster:
            cluster.send(deletions(sorted(told.live())))


def _results(played: dict[str, Played]) -> dict[str, str]:
    return {name: job.result for name, job in played.items()}


def _failed(played: dict[str, Played]) -> str:
    return "\n".join(job.log for job in played.values())


@pytest.mark.broker
@_each
def test_from_a_proposal_to_the_fix_of_a_change_by_hand(story: Story) -> None:
    # A pull request is planned with credentials, and told in one comment however often it changes.
    first = story.proposed(story.commit({"manifests/acls.yaml": _ACLS}, "grant"))
    assert _results(first) == {"plan": "success", "tell": "success", "offline": "skipped"}, _failed(first)
    [comment] = story.hub.comments[7]
    assert comment["body"].startswith("<!-- reconciler:prod -->")
    before = set(_PLAN.findall(comment["body"]))
    head = story.commit({"manifests/reader.yaml": _READER}, "grant")
    story.proposed(head)
    [comment] = story.hub.comments[7]
    assert comment["body"].endswith(f"Manifests of `{head}`, merged with the base\n")
    [approved] = set(_PLAN.findall(comment["body"]))
    assert approved not in before
    assert "User:story-reader" in comment["body"]
    assert story.hub.sarif[-1]["sarif"]["version"] == "2.1.0"
    assert story.live() == set()

    # Merged, it plans to what was shown, and is applied.
    merged = story.merge("grant", 7)
    applied = story.merged(merged)
    assert _results(applied) == {"plan": "success", "apply": "success"}, _failed(applied)
    assert approved in applied["plan"].summary
    granted = story.live()
    assert len(granted) == 5

    # A clean cluster opens no issue; what is merged and waits opens one, and a change by hand is told from it.
    assert _results(story.watched(merged)) == {"drift": "success", "tell": "success"}
    assert story.hub.issues == []
    waiting = story.commit({"manifests/guest.yaml": _ACLS.replace("story", "waiting").replace("waiting-", "story-")})
    assert _results(story.watched(waiting)) == {"drift": "success", "tell": "success"}
    [issue] = story.hub.issues
    assert "2 differences, all merged and waiting for apply" in issue["body"].splitlines()[1]
    with story.cluster() as cluster:
        cluster.send(creations([_BY_HAND]))
    assert _results(story.watched(waiting)) == {"drift": "success", "tell": "success"}
    assert "2 merged and waiting for apply, 1 changed by hand" in issue["body"].splitlines()[1]
    git(story.origin, "revert", "--no-edit", waiting)
    assert _results(story.watched(merged)) == {"drift": "success", "tell": "success"}
    assert story.hub.issues == [issue]
    assert issue["state"] == "open"
    assert "1 difference, changed by hand" in issue["body"].splitlines()[1]
    assert "User:story-guest" in issue["body"]

    # Fixed by the manifests, the issue closes by itself.
    story.hub.merged[merged] = 7
    story.hub.comments[7].clear()
    refused = story.merged(merged, options="--allow-deletes")
    assert _results(refused) == {"plan": "failure", "apply": "skipped"}
    assert "its pull request showed no plan" in refused["plan"].log
    fixed = story.by_hand(merged, deletes=True)
    assert _results(fixed) == {"plan": "success", "apply": "success"}, _failed(fixed)
    assert story.live() == granted
    story.watched(merged)
    assert story.hub.issues[0]["state"] == "closed"


@pytest.mark.broker
@_each
def test_a_merge_that_plans_to_something_else_is_not_applied(story: Story) -> None:
    story.proposed(story.commit({"manifests/acls.yaml": _ACLS}, "grant"))
    merged = story.merge("grant", 7)
    moved = sorted(story.live() | {binding for binding in _wanted() if binding.entry.operation is AclOperation.WRITE})
    with story.cluster() as cluster:
        cluster.send(creations(moved))
    played = story.merged(merged)
    assert _results(played) == {"plan": "failure", "apply": "skipped"}
    assert "run the workflow by hand" in played["plan"].log
    assert story.live() == set(moved)


def _wanted() -> set[AclBinding]:
    pattern = ResourcePattern(ResourceType.TOPIC, "story.orders")
    operations = (AclOperation.WRITE, AclOperation.DESCRIBE)
    return {
        AclBinding(pattern, AccessControlEntry("User:story-shop", "*", operation, AclPermissionType.ALLOW))
        for operation in operations
    }


@pytest.mark.broker
@_each_at_night
def test_another_merge_does_not_take_an_approval_away_and_a_queue_is_checked(story: Story) -> None:
    """Two pull requests from one base, each with a topic of its own: both are merged and applied as they were shown."""
    story.proposed(story.commit({"manifests/acls.yaml": _ACLS}, "grant"))
    first = story.merge("grant", 7)
    git(story.origin, "checkout", "--quiet", "-b", "second", story.base)
    head = story.commit({"manifests/reader.yaml": _READER.replace("story.orders", "story.events")}, "second")
    shown = story.hub.comments.pop(7)
    story.proposed(head)
    story.hub.comments[8] = story.hub.comments.pop(7)
    story.hub.comments[7] = shown
    assert _results(story.merged(first)) == {"plan": "success", "apply": "success"}
    second = story.merge("second", 8)
    assert _results(story.queued(second)) == {"plan": "success", "tell": "skipped", "offline": "skipped"}
    applied = story.merged(second)
    assert _results(applied) == {"plan": "success", "apply": "success"}, _failed(applied)
    assert len(story.live()) == 5
    # Run again after it succeeded, there is nothing left to approve.
    again = story.merged(second, attempt=2)
    assert _results(again) == {"plan": "success", "apply": "success"}, _failed(again)


@pytest.mark.broker
@_each_at_night
def test_an_apply_that_was_cut_short_is_finished_by_another_attempt(story: Story) -> None:
    """Half of the plan is applied: the jobs that failed go on with the plan they have, and so does the whole run."""
    story.proposed(story.commit({"manifests/acls.yaml": _ACLS, "manifests/reader.yaml": _READER}, "grant"))
    merged = story.merge("grant", 7)
    whole = story.merged(merged)
    assert _results(whole) == {"plan": "success", "apply": "success"}, _failed(whole)
    done = sorted(story.live())
    with story.cluster() as cluster:
        cluster.send(deletions(done[:2]))
    again = story.merged(merged, attempt=2)
    assert _results(again) == {"plan": "success", "apply": "success"}, _failed(again)
    assert "it goes on" in again["plan"].log
    assert sorted(story.live()) == done


@pytest.mark.broker
@_each_at_night
def test_a_fork_without_a_snapshot_gets_the_checks_that_need_no_cluster(story: Story) -> None:
    played = story.proposed(story.commit({"manifests/acls.yaml": _ACLS}, "fork"), by="x/kafka", snapshot="nowhere.json")
    assert _results(played)["offline"] == "success", _failed(played)
    assert story.hub.comments == {}


@pytest.mark.broker
@_each
def test_a_fork_is_planned_against_the_snapshot_of_the_base_and_sees_no_secret(story: Story) -> None:
    evil = json.dumps({"gap": None})
    files = {"manifests/acls.yaml": _ACLS, "snapshots/prod.json": evil}
    played = story.proposed(story.commit(files, "stranger"), by="stranger/kafka")
    assert _results(played) == {"plan": "skipped", "tell": "skipped", "offline": "success"}, _failed(played)
    assert "User:story-shop" in played["offline"].summary
    assert story.hub.comments == {}
    everything = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in (story.player.work).rglob("*")
        if path.is_file() and ".git" not in path.parts
    )
    assert story.player.secrets["KAFKA_PASSWORD"] not in everything


@pytest.mark.broker
@_each
def test_a_pull_request_cannot_choose_where_credentials_go(story: Story) -> None:
    elsewhere = _CLUSTER + "  bootstrapServers: [evil.example:9092]\n"
    played = story.proposed(story.commit({"manifests/cluster.yaml": elsewhere, "manifests/acls.yaml": _ACLS}, "evil"))
    assert _results(played)["plan"] == "success", _failed(played)
    assert "evil.example" not in played["plan"].log
    assert run(["validate", str(story.origin / "manifests")]) == 0


_GUARD = """\
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: guardrails}
spec:
  tests:
    - name: nobody but the shop writes orders
      principals: ["User:*"]
      except: [User:story-shop]
      mustNot: WRITE
      topics: story.orders
"""
_SPY = _ACLS.replace("name: story", "name: spy").replace("story-shop", "story-spy")


@pytest.mark.broker
@_each_at_night
def test_a_push_of_two_commits_is_judged_by_the_rules_before_both(story: Story) -> None:
    before = story.commit({"manifests/guard.yaml": _GUARD})
    story.commit({"manifests/guard.yaml": _GUARD.replace("[User:story-shop]", "[User:story-shop, User:story-spy]")})
    tip = story.commit({"manifests/spy.yaml": _SPY})
    played = story.merged(tip, before=before, parity="")
    assert _results(played) == {"plan": "failure", "apply": "skipped"}
    assert "Guardrails changed: 1 looser" in played["plan"].summary
    assert story.live() == set()


@pytest.mark.broker
@_each
def test_the_first_push_has_no_rules_before_it_and_says_what_to_do(story: Story) -> None:
    played = story.merged(story.base, before="0" * 40)
    assert _results(played) == {"plan": "failure", "apply": "skipped"}
    assert "set GUARDRAILS to none, once" in played["plan"].log


@pytest.mark.broker
@_each
def test_a_revert_is_red_until_somebody_lets_it_delete(story: Story) -> None:
    story.proposed(story.commit({"manifests/acls.yaml": _ACLS, "manifests/reader.yaml": _READER}, "grant"))
    first = story.merge("grant", 7)
    assert _results(story.merged(first)) == {"plan": "success", "apply": "success"}
    assert story.operators() == {"alice"}
    granted = story.live()
    git(story.origin, "checkout", "--quiet", "-b", "revert")
    (story.origin / "manifests" / "acls.yaml").unlink()
    story.hub.comments.clear()
    story.proposed(story.commit({}, "revert"), attempt=1)
    story.proposed(git(story.origin, "rev-parse", "HEAD"), attempt=2)
    second = story.merge("revert", 7)
    reverted = story.merged(second)
    assert _results(reverted) == {"plan": "success", "apply": "failure"}, _failed(reverted)
    assert "this change removes them, and they are still there" in reverted["apply"].log
    assert story.live() == granted
    deleted = story.by_hand(second, deletes=True)
    assert _results(deleted) == {"plan": "success", "apply": "success"}, _failed(deleted)
    assert story.live() == granted - _wanted()


@pytest.mark.broker
@_each
def test_a_connection_that_cannot_be_used_says_why_in_the_comment(story: Story) -> None:
    wrong = json.loads(story.player.secrets["KAFKA_CONNECTIONS"])
    wrong["spec"]["client"]["sasl.mechanism"] = "SCRAM-SHA-1024"
    story.player.secrets = {**story.player.secrets, "KAFKA_CONNECTIONS": json.dumps(wrong)}
    played = story.proposed(story.commit({"manifests/acls.yaml": _ACLS}, "grant"))
    assert _results(played)["plan"] == "failure"
    [comment] = story.hub.comments[7]
    assert "sasl.mechanism" in comment["body"]
    assert "is not supported" in comment["body"]
    assert story.player.secrets["KAFKA_PASSWORD"] not in comment["body"]


def _has_begun(directory: Path) -> bool:
    """Whether an apply in the jobs' directory has sent something."""
    journals = directory.glob("act/*/tmp/reconciler-out/plan.json.journal")
    return any('"outcomes"' in journal.read_text(encoding="utf-8") for journal in journals)


@pytest.mark.broker
@_on_act
def test_a_cancelled_apply_keeps_its_journal_and_another_attempt_ends_it(story: Story) -> None:
    assert isinstance(story.player, Act)  # the player cannot be cancelled
    files = {"manifests/cluster.yaml": _CLUSTER.replace("wait: 1s", "wait: 10s"), "manifests/acls.yaml": _ACLS}
    files["manifests/deny.yaml"] = _SPY.replace("{role: producer,", "{deny: READ,")
    story.proposed(story.commit(files, "grant"))
    merged = story.merge("grant", 7)
    story.player.cancel = _has_begun
    cut = story.merged(merged)
    story.player.cancel = None
    assert cut["apply"].result != "success", _failed(cut)
    left = story.player.artifacts["applied-prod-1"]
    assert (left / "audit.jsonl").read_text(encoding="utf-8")
    assert '"outcomes"' in (left / "plan.json.journal").read_text(encoding="utf-8")
    again = story.merged(merged, attempt=2)
    assert _results(again) == {"plan": "success", "apply": "success"}, _failed(again)
    assert len(story.live()) == 3


@pytest.mark.broker
@_on_act
def test_of_many_clusters_those_that_a_change_touches_are_planned_and_the_others_named(story: Story) -> None:
    of_prod = {"manifests/prod-acls.yaml": _ACLS.replace("spec:\n", "spec:\n  clusters: {matchLabels: {env: prod}}\n")}
    clusters = {
        name: _CLUSTER.replace("name: prod", f"name: {name}, labels: {{env: {name}}}") for name in ("dev", "prod")
    }
    files = {f"manifests/{name}.yaml": text for name, text in clusters.items()}
    (story.origin / "manifests" / "cluster.yaml").unlink()
    base = story.commit(files)
    story.hub.comments[7] = [{"id": 1, "user": {"login": BOT}, "body": "<!-- reconciler:dev -->\nan earlier plan"}]
    pull = {"number": 7, "head": {"repo": {"full_name": "team/kafka"}}, "base": {"sha": base}}
    event = {"ref": "refs/pull/7/merge", "event_name": "pull_request", "event": {"pull_request": pull}}
    assert isinstance(story.player, Act)  # the player plays one reusable workflow
    played = story.player.play_all("clusters", {**event, "sha": story.commit(of_prod, "grant")})
    ended = {name: job.result for name, job in played.items() if "compare" in name or "plan" in name}
    assert all(result == "success" for result in ended.values()), _failed(played)
    assert "plan-prod" in story.player.artifacts
    assert "plan-dev" not in story.player.artifacts
    assert played["kafka clusters/done"].result == "success"
    left, named, planned = (comment["body"] for comment in story.hub.comments[7])
    assert left == "<!-- reconciler:dev -->\n### Not planned: this change does not touch `dev`\n"
    assert "does not touch them: `dev`" in named
    assert "User:story-shop" in planned

    # Merged, those are applied, in the run that drift asks for; the others have no job.
    merged = story.merge("grant", 7)
    push = {"ref": "refs/heads/main", "event_name": "push"}
    applied = story.player.play_all("clusters", {**push, "sha": merged, "event": {"before": base}})
    assert applied["kafka clusters/done"].result == "success", _failed(applied)
    assert [job.name for job in applied.values() if "apply " in job.name and job.steps] == ["apply prod"]
    assert len(story.live()) == 2
    schedule = {**push, "event_name": "schedule", "sha": merged, "event": {}}
    story.player.play("drift", schedule, **{"apply-workflow": "kafka-clusters.yml"})
    assert story.hub.issues == []
    with story.cluster() as cluster:
        cluster.send(creations([_BY_HAND]))
    story.player.play("drift", schedule, **{"apply-workflow": "kafka-clusters.yml"})
    [issue] = story.hub.issues
    assert "1 difference, changed by hand" in issue["body"].splitlines()[1]

    # What is about no cluster has no job for any, and the required check is green all the same.
    (story.origin / "README.md").write_text("Kafka\n", encoding="utf-8")
    nothing = story.player.play_all("clusters", {**push, "sha": story.commit({}), "event": {"before": merged}})
    assert nothing["kafka clusters/done"].result == "success", _failed(nothing)
    assert not [job.name for job in nothing.values() if job.steps and job.name.startswith(("apply", "plan"))]


@pytest.mark.broker
@pytest.mark.timeout(1200)  # five jobs install it
@_on_act
def test_an_empty_repository_needs_the_examples_and_what_the_document_says_of_the_first_change(story: Story) -> None:
    """Reconciler is installed as a runner would, once in each job; the first manifests have no rules before them."""
    assert isinstance(story.player, Act)
    story.player.installs = True
    git(story.origin, "checkout", "--quiet", "--orphan", "empty")
    git(story.origin, "rm", "-r", "--quiet", "--force", ".")
    (story.origin / "README.md").write_text("Kafka\n", encoding="utf-8")
    story.base = story.commit({}, "empty")
    git(story.origin, "branch", "--quiet", "--force", "-M", "main")
    (story.origin / "manifests").mkdir()
    first = story.commit({"manifests/cluster.yaml": _CLUSTER, "manifests/acls.yaml": _ACLS}, "first")
    refused = story.proposed(first)
    assert _results(refused)["plan"] == "failure"
    assert "set GUARDRAILS to none, once" in refused["plan"].log
    assert _results(story.proposed(first, attempt=2, guardrails="none"))["plan"] == "success"
    [comment] = story.hub.comments[7]
    assert "guardrails: none: this change was judged by its own rules alone" in comment["body"]
    story.base = story.merge("first", 7)
    applied = story.merged(story.base, guardrails="none")
    assert _results(applied) == {"plan": "success", "apply": "success"}, _failed(applied)
    assert len(story.live()) == 2
