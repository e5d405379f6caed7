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
from tests.integration.ci.github import GitHub, github
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

    def __init__(self, directory: Path, broker: Sandbox, hub: GitHub) -> None:
        self.origin, self.hub = directory / "origin", hub
        settings = broker.settings("reconciler")
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
        self.player = Player(self.origin, directory / "runs", hub, secrets)
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

    def proposed(
        self, head: str, *, by: str = "team/kafka", snapshot: str = "snapshots/prod.json"
    ) -> dict[str, Played]:
        pull = {"number": 7, "head": {"repo": {"full_name": by}}, "base": {"sha": self.base}}
        event = {"sha": head, "ref": "refs/pull/7/merge", "event_name": "pull_request", "event": {"pull_request": pull}}
        return self.player.play("plan", event, cluster="prod", environment="kafka-read", snapshot=snapshot)

    def pushed(self, commit: str) -> dict[str, object]:
        before = git(self.origin, "rev-parse", f"{commit}^1")
        return {"sha": commit, "ref": "refs/heads/main", "event": {"before": before}}

    def queued(self, head: str) -> dict[str, Played]:
        """The merge queue's group at ``head`` is checked."""
        group = {"merge_group": {"base_sha": self.base}}
        event = {"sha": head, "ref": "refs/heads/gh-readonly-queue/main", "event_name": "merge_group", "event": group}
        return self.player.play("plan", event, cluster="prod", environment="kafka-read")

    def merged(self, commit: str, options: str = "", attempt: int = 1) -> dict[str, Played]:
        event = {**self.pushed(commit), "run_attempt": str(attempt)}
        environments = {"plan-environment": "kafka-read", "environment": "kafka-prod"}
        return self.player.play("apply", event, cluster="prod", options=options, **environments)

    def watched(self, commit: str) -> dict[str, Played]:
        event = {"sha": commit, "ref": "refs/heads/main"}
        return self.player.play("drift", event, cluster="prod", environment="kafka-read")

    def cluster(self) -> KafkaCluster:
        return connect(client_settings(self._servers, dict(self._settings), SecretSource()))

    def live(self) -> set[AclBinding]:
        with self.cluster() as cluster:
            found = cluster.read(ReadRequest(all_topics=False)).bindings
        return {binding for binding in found if binding.entry.principal.startswith("User:story-")}


@pytest.fixture
def story(tmp_path: Path, broker: Sandbox) -> Iterator[Story]:
    with github() as hub:
        told = Story(tmp_path, broker, hub)
        yield told
        with told.cluster() as cluster:
            cluster.send(deletions(sorted(told.live())))


def _results(played: dict[str, Played]) -> dict[str, str]:
    return {name: job.result for name, job in played.items()}


def _failed(played: dict[str, Played]) -> str:
    return "\n".join(job.log for job in played.values())


@pytest.mark.broker
def test_from_a_proposal_to_the_fix_of_a_change_by_hand(story: Story) -> None:
    # A pull request is planned with credentials, and told in one comment however often it changes.
    first = story.proposed(story.commit({"manifests/acls.yaml": _ACLS}, "grant"))
    assert _results(first) == {"plan": "success", "tell": "success", "offline": "skipped"}, _failed(first)
    [comment] = story.hub.comments[7]
    assert comment["body"].startswith("<!-- reconciler:prod -->")
    before = set(_PLAN.findall(comment["body"]))
    story.proposed(story.commit({"manifests/reader.yaml": _READER}, "grant"))
    [comment] = story.hub.comments[7]
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

    # A clean cluster opens no issue; a change by hand opens one.
    assert _results(story.watched(merged)) == {"drift": "success", "tell": "success"}
    assert story.hub.issues == []
    with story.cluster() as cluster:
        cluster.send(creations([_BY_HAND]))
    assert _results(story.watched(merged)) == {"drift": "success", "tell": "success"}
    [issue] = story.hub.issues
    assert issue["state"] == "open"
    assert "User:story-guest" in issue["body"]

    # Fixed by the manifests, the issue closes by itself.
    story.hub.merged[merged] = 7
    story.hub.comments[7].clear()
    refused = story.merged(merged, options="--allow-deletes")
    assert _results(refused) == {"plan": "failure", "apply": "skipped"}
    assert "its pull request showed no plan" in refused["plan"].log
    fixed = _applied_by_hand(story, merged)
    assert fixed == 0
    assert story.live() == granted
    story.watched(merged)
    assert story.hub.issues[0]["state"] == "closed"


def _applied_by_hand(story: Story, commit: str) -> int:
    event = story.pushed(commit)
    environments = {"plan-environment": "kafka-read", "environment": "kafka-prod", "parity": ""}
    played = story.player.play("apply", event, cluster="prod", options="--allow-deletes", **environments)
    return 0 if _results(played) == {"plan": "success", "apply": "success"} else 1


@pytest.mark.broker
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
def test_a_fork_without_a_snapshot_gets_the_checks_that_need_no_cluster(story: Story) -> None:
    played = story.proposed(story.commit({"manifests/acls.yaml": _ACLS}, "fork"), by="x/kafka", snapshot="nowhere.json")
    assert _results(played)["offline"] == "success", _failed(played)
    assert story.hub.comments == {}


@pytest.mark.broker
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
def test_a_pull_request_cannot_choose_where_credentials_go(story: Story) -> None:
    elsewhere = _CLUSTER + "  bootstrapServers: [evil.example:9092]\n"
    played = story.proposed(story.commit({"manifests/cluster.yaml": elsewhere, "manifests/acls.yaml": _ACLS}, "evil"))
    assert _results(played)["plan"] == "success", _failed(played)
    assert "evil.example" not in played["plan"].log
    assert run(["validate", str(story.origin / "manifests")]) == 0
