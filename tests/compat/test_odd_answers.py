"""Answers that a broker of another make gave, or could: none is taken for success, and none for an empty cluster."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.apply import run
from reconciler.kafka.cluster import KafkaCluster, connect
from reconciler.kafka.listing import AclReader
from reconciler.model.acl import AccessControlEntry, AclBinding, AclOperation, AclPermissionType, ResourcePattern
from reconciler.model.acl import ResourceType as Kind
from reconciler.model.topic import Topic
from reconciler.ports import AnswerStatus, ClusterError, ReadRequest
from tests.compat.jobs import PLAIN_TEAM, job
from tests.compat.kfake import running, settings_for
from tests.verbs import creations, deletions

ONLY_ACLS = ReadRequest(all_topics=False)
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS, CREATE_TOPICS = 29, 30, 31, 19


def binding(name: str, principal: str = "User:a") -> AclBinding:
    entry = AccessControlEntry(principal, "*", AclOperation.READ, AclPermissionType.ALLOW)
    return AclBinding(ResourcePattern(Kind.TOPIC, name), entry)


@contextmanager
def cluster(kfake: Path, *flags: str, **settings: str) -> Iterator[KafkaCluster]:
    with running(kfake, *flags) as servers, connect(settings_for(servers, **settings)) as found:
        yield found


def test_a_broker_that_says_yes_and_does_nothing(
    kfake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "VISIBLE_SECONDS", 1.0)
    with running(kfake, "-login", "-mechanisms", "-acls", "nothing") as servers:
        team = job(tmp_path, servers, capsys)
        team.write("team.yaml", PLAIN_TEAM)
        applied = team.run("apply", "--yes")
    assert applied.status == 1
    for operation in ("READ", "WRITE"):
        shown = [line for line in applied.out.splitlines() if "the cluster does not show it" in line]
        assert any(operation in line for line in shown), applied.out
    assert "verified: 2 steps" not in applied.out


def test_a_change_that_shows_late_is_waited_for(
    kfake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(kfake, "-login", "-mechanisms", "-acls", "open", "-delay", "3s") as servers:
        team = job(tmp_path, servers, capsys)
        team.write("team.yaml", PLAIN_TEAM)
        began = time.monotonic()
        applied = team.run("apply", "--yes")
        assert time.monotonic() - began > 3
        assert team.run("drift").status == 0
    assert applied.status == 0, applied.out
    assert "Applied and verified: 2 steps." in applied.out


@pytest.mark.parametrize("key", [CREATE_ACLS, CREATE_TOPICS])
def test_of_a_lost_answer_the_outcome_is_unknown(kfake: Path, key: int) -> None:
    wanted = Topic("lost", 1, 1) if key == CREATE_TOPICS else binding("lost")
    with running(kfake, "-lose", f"{key}:1") as servers:
        with connect(settings_for(servers, request_timeout_ms="2000")) as found:
            (answer,) = found.send(creations([wanted]))
        assert answer.status is AnswerStatus.UNKNOWN
        with connect(settings_for(servers)) as found:
            state = found.read(ReadRequest(principal="User:ANONYMOUS", super_users=("User:ANONYMOUS",)))
    assert "lost" in {one.pattern.name for one in state.bindings} | set(state.topics)


def test_a_listing_whose_answer_is_lost_is_an_error_or_whole(kfake: Path) -> None:
    lost = f"{DESCRIBE_ACLS}:9"
    with (
        cluster(kfake, "-acls", "open", "-lose", lost, request_timeout_ms="1000") as found,
        pytest.raises(ClusterError, match="no reader could read the ACLs"),
    ):
        found.read(ONLY_ACLS)


def test_an_answer_that_comes_twice_is_no_other_request_s_answer(kfake: Path) -> None:
    with cluster(kfake, "-double", f"{CREATE_ACLS}:9", request_timeout_ms="5000") as found:
        first = found.send(creations([binding("double-1")]))
        second = found.send(creations([binding("double-2")]))
        state = found.read(ONLY_ACLS)
    # The second copy answers no request: the client may close the connection over it, and then says that it lost it.
    for (answer,), name in ((first, "double-1"), (second, "double-2")):
        there = binding(name) in state.bindings
        assert there or answer.status is not AnswerStatus.DONE


def test_throttled_answers_are_answers(kfake: Path) -> None:
    with cluster(kfake, "-throttle", "200ms") as found:
        assert [one.status for one in found.send(creations([binding("slow")]))] == [AnswerStatus.DONE]
        assert found.read(ONLY_ACLS).bindings == {binding("slow")}
        assert [one.status for one in found.send(deletions([binding("slow")]))] == [AnswerStatus.DONE]
        assert found.read(ONLY_ACLS).bindings == frozenset()


def test_more_resources_than_the_client_can_read(kfake: Path) -> None:
    with running(kfake, "-acls", "open", "-huge", "100001") as servers:
        with connect(settings_for(servers)) as found:
            assert len(found.read(ONLY_ACLS).bindings) == 100_001
        with (
            connect(settings_for(servers), readers=(AclReader.CLIENT,)) as found,
            pytest.raises(ClusterError, match="no reader could read the ACLs"),
        ):
            found.read(ONLY_ACLS)


def test_codes_that_nobody_knows_are_kept_and_counted(kfake: Path) -> None:
    with cluster(kfake, "-acls", "open", "-odd") as found:
        found.send(creations([binding("known")]))
        state = found.read(ONLY_ACLS)
    assert state.bindings == {binding("known")}
    (odd,) = state.opaque
    assert (odd.resource_type, odd.pattern_type, odd.operation, odd.permission_type) == (99, 9, 99, 9)


@pytest.mark.parametrize("key", [CREATE_ACLS, DELETE_ACLS])
def test_an_unknown_error_code_for_a_write_is_not_success(kfake: Path, key: int) -> None:
    verb = creations if key == CREATE_ACLS else deletions
    with cluster(kfake, "-acls", "open", "-fail", f"{key}:9999:1") as found:
        (answer,) = found.send(verb([binding("odd-error")]))
    assert answer.status is AnswerStatus.UNKNOWN


def test_an_unknown_error_code_for_a_listing_is_no_empty_one(kfake: Path) -> None:
    with cluster(kfake, "-acls", "open", "-fail", f"{DESCRIBE_ACLS}:9999:99") as found, pytest.raises(ClusterError):
        found.read(ONLY_ACLS)


def test_confluent_cloud_names_principals_by_integers_but_for_its_own_filter(kfake: Path) -> None:
    """The emulation itself, by kafka-python: what the flavor's listing is held against."""
    with cluster(kfake, "-acls", "cloud") as found:
        made = binding("cloud", "User:sa-abc123")
        found.send(creations([made]))
        (listed,) = found.read(ONLY_ACLS).bindings
        assert listed.entry.principal.removeprefix("User:").isdigit()
        # Either form deletes the one binding there is.
        found.send(deletions([made]))
        assert found.read(ONLY_ACLS).bindings == frozenset()
        found.send(creations([made]))
        found.send(deletions([listed]))
        assert found.read(ONLY_ACLS).bindings == frozenset()
