"""ACL listings on real brokers: honest when refused, whole when odd entries are there, alive when a reader dies."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.kafka.cluster import connect
from reconciler.kafka.listing import SHARDS_GAP, AclListing, AclReader
from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import AnswerStatus, ClusterError, ReadRequest
from tests.integration.kafka.conftest import Connect, RawAcl, settings_of
from tests.verbs import creations, deletions

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("new_readers")]

ONLY_ACLS = ReadRequest(all_topics=False)
EVERY_READER = [*((reader,) for reader in AclReader), tuple(AclReader)]
USER, TOKEN, TRANSACTIONAL_ID, LITERAL, ALLOW = 7, 6, 5, 3, 3
TOPIC, READ, CREATE_TOKENS, DESCRIBE, TWO_PHASE_COMMIT = 2, 3, 13, 8, 15

ODD: list[RawAcl] = [
    (USER, "User:carol", LITERAL, "User:odd", "*", CREATE_TOKENS, ALLOW),
    (TOKEN, "odd-token", LITERAL, "User:odd", "*", DESCRIBE, ALLOW),
    (TRANSACTIONAL_ID, "odd-id", LITERAL, "User:odd", "*", TWO_PHASE_COMMIT, ALLOW),
]


def binding(name: str, principal: str, operation: AclOperation = AclOperation.READ) -> AclBinding:
    pattern = ResourcePattern(ResourceType.TOPIC, name, PatternType.PREFIXED)
    return AclBinding(pattern, AccessControlEntry(principal, "*", operation, AclPermissionType.ALLOW))


@pytest.mark.parametrize("readers", EVERY_READER)
def test_without_the_right_to_list_it_is_refused_and_not_empty(
    broker: Sandbox, connected: Connect, readers: Sequence[AclReader]
) -> None:
    with pytest.raises(ClusterError, match="not authorized to list ACLs") as refused:
        connected(broker, "nobody", readers=readers).read(ONLY_ACLS)
    assert refused.value.code == "CLUSTER_AUTHORIZATION_FAILED"
    assert "DESCRIBE" in refused.value.advice


@pytest.mark.parametrize("readers", EVERY_READER)
def test_a_cluster_without_an_authorizer_says_so(
    broker_no_authorizer: Sandbox, connected: Connect, readers: Sequence[AclReader]
) -> None:
    with pytest.raises(ClusterError, match="this cluster has no authorizer") as refused:
        connected(broker_no_authorizer, "admin", readers=readers).read(ONLY_ACLS)
    assert refused.value.code == "SECURITY_DISABLED"


@pytest.mark.parametrize("fixture", ["broker", "broker_3_9"])
def test_every_reader_reads_the_same(fixture: str, request: pytest.FixtureRequest, connected: Connect) -> None:
    sandbox: Sandbox = request.getfixturevalue(fixture)
    wanted = [binding(f"same-{number}.", f"User:same-{number % 3}") for number in range(50)]
    writer = connected(sandbox, "admin")
    assert {answer.status for answer in writer.send(creations(wanted))} == {AnswerStatus.DONE}
    states = [connected(sandbox, "admin", readers=(reader,)).read(ONLY_ACLS) for reader in AclReader]
    assert set(wanted) <= states[0].bindings
    assert states[0].bindings == states[1].bindings == states[2].bindings
    assert [state.acl_gap for state in states] == [None, None, SHARDS_GAP]
    writer.send(deletions(wanted))
    assert not set(wanted) & connected(sandbox, "admin").read(ONLY_ACLS).bindings


def test_entries_that_the_client_cannot_name_are_kept_beside_the_others(
    broker: Sandbox, connected: Connect, raw_acls: object
) -> None:
    assert callable(raw_acls)
    ordinary = binding("odd.", "User:odd")
    raw_acls([*ODD, (2, "odd.", 4, "User:odd", "*", 3, ALLOW)])

    by_messages = connected(broker, "admin", readers=(AclReader.MESSAGES,)).read(ONLY_ACLS)
    assert ordinary in by_messages.bindings
    assert by_messages.opaque == ()
    named = {one for one in by_messages.bindings if one.entry.principal == "User:odd"} - {ordinary}
    assert {(int(p.resource_type), p.name, int(p.pattern_type), int(e.operation)) for p, e in named} == {
        (kind, name, pattern_type, operation) for kind, name, pattern_type, _, _, operation, _ in ODD
    }

    by_client = connected(broker, "admin", readers=(AclReader.CLIENT,)).read(ONLY_ACLS)
    assert by_client.bindings == by_messages.bindings
    assert by_client.opaque == ()

    by_shards = connected(broker, "admin", readers=(AclReader.SHARDS,)).read(ONLY_ACLS)
    assert by_shards.bindings == by_messages.bindings - named
    assert by_shards.opaque == ()
    assert by_shards.acl_gap == SHARDS_GAP


def test_entries_that_read_alike_are_told_apart_by_the_log(
    broker: Sandbox, connected: Connect, raw_acls: object
) -> None:
    assert callable(raw_acls)
    raw_acls([(USER, "User:carol", LITERAL, "User:twin", "*", operation, ALLOW) for operation in (13, 14)])
    state = connected(broker, "admin", readers=(AclReader.CLIENT,)).read(ONLY_ACLS)
    twins = {one.entry.operation for one in state.bindings if one.entry.principal == "User:twin"}
    assert twins == {AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS}


def test_a_reader_that_dies_is_followed_by_the_next(broker: Sandbox) -> None:
    settings = settings_of(broker.settings("admin"))
    expected = AclListing(settings).result()
    listing = AclListing(settings)
    os.kill(listing.pid, signal.SIGKILL)
    after = listing.result()
    assert after.reader is AclReader.CLIENT
    assert (after.listing, after.gap) == (expected.listing, None)


def test_when_every_reader_dies_the_error_names_the_limit(broker: Sandbox) -> None:
    listing = AclListing(settings_of(broker.settings("admin")), (AclReader.CLIENT,))
    os.kill(listing.pid, signal.SIGABRT)
    with pytest.raises(ClusterError, match="no reader could read the ACLs: client: the process ended with status -6"):
        listing.result()


def test_a_listing_made_ready_early_is_the_one_that_is_read(broker: Sandbox, connected: Connect) -> None:
    cluster = connected(broker, "nobody")
    cluster.prepare_listing()
    with pytest.raises(ClusterError, match="not authorized to list ACLs"):
        cluster.read(ONLY_ACLS)
    cluster.prepare_listing()
    cluster.close()


def test_a_listing_that_was_begun_is_the_first_that_is_read_and_the_next_is_new(
    broker: Sandbox, connected: Connect, raw_acls: object
) -> None:
    assert callable(raw_acls)
    for reader in AclReader:
        cluster = connected(broker, "admin", readers=(reader,))
        cluster.begin_listing()
        listing = cluster._listing
        before = cluster.read(ONLY_ACLS)
        assert listing is not None
        assert listing.result().reader is reader
        raw_acls([(TOPIC, f"begun-{reader}", LITERAL, "User:begun", "*", READ, ALLOW)])
        after = cluster.read(ONLY_ACLS)
        assert {one.pattern.name for one in after.bindings - before.bindings} == {f"begun-{reader}"}


@pytest.mark.parametrize("request_", [replace(ONLY_ACLS, acls=False), replace(ONLY_ACLS, acl_principals="User:carol")])
def test_a_reading_of_something_else_does_not_use_what_was_begun(
    broker: Sandbox, connected: Connect, raw_acls: object, request_: ReadRequest
) -> None:
    assert callable(raw_acls)
    raw_acls([(TOPIC, "begun-else", LITERAL, f"User:{name}", "*", READ, ALLOW) for name in ("carol", "alice")])
    cluster = connected(broker, "admin")
    cluster.begin_listing()
    read = {one.entry.principal for one in cluster.read(request_).bindings if one.pattern.name == "begun-else"}
    assert read == ({"User:carol"} if request_.acls else set())
    raw_acls([(TOPIC, "begun-later", LITERAL, "User:carol", "*", READ, ALLOW)])
    assert "begun-later" in {one.pattern.name for one in cluster.read(ONLY_ACLS).bindings}


def test_what_goes_wrong_with_a_listing_that_was_begun_the_reading_says(broker: Sandbox, connected: Connect) -> None:
    refused = connected(broker, "nobody")
    refused.begin_listing()
    with pytest.raises(ClusterError, match="not authorized to list ACLs"):
        refused.read(ONLY_ACLS)
    settings = settings_of({**broker.settings("admin"), "bootstrap.servers": "127.0.0.1:1"})
    with connect(settings) as unreachable:
        unreachable.begin_listing()
        with pytest.raises(ClusterError, match=r"refuse|answer"):
            unreachable.read(ONLY_ACLS)
    closed = connected(broker, "admin")
    closed.begin_listing()
    listing = closed._listing
    closed.close()
    assert listing is not None
    assert not Path(f"/proc/{listing.pid}/exe").exists()


def test_nothing_is_imported_from_the_working_directory(
    broker: Sandbox, connected: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kafka", "confluent_kafka", "reconciler", "marshal", "ssl"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken over')\n")
    monkeypatch.chdir(tmp_path)
    for reader in AclReader:
        assert connected(broker, "admin", readers=(reader,)).read(ONLY_ACLS).cluster_id


def test_no_secret_is_in_the_child_s_arguments_or_environment(broker: Sandbox) -> None:
    properties = broker.settings("admin")
    listing = AclListing(settings_of(properties))
    shown = _arguments_and_environment(listing.pid)
    assert listing.result().listing
    assert b"message_client" in shown
    assert properties["sasl.password"].encode() not in shown


def _arguments_and_environment(pid: int, patience_seconds: float = 10.0) -> bytes:
    """Of a process that was just started: both are empty while the kernel still puts the new program in its place."""
    process = Path("/proc") / str(pid)
    until = time.monotonic() + patience_seconds
    while not (arguments := (process / "cmdline").read_bytes()) and time.monotonic() < until:
        time.sleep(0.001)
    return arguments + (process / "environ").read_bytes()
