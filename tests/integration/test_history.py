"""Access in the past: the commands, on a store that a server kept, without Spark."""

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.access.authorizer import AccessRequest
from reconciler.apply.audit import LockAction, LockRecord, Sight, about_command, break_glass_lines, lock_line
from reconciler.apply.environment import Identity, Outcome
from reconciler.cli.main import run
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.locks import lock_denials
from reconciler.model.state import ClusterState, FactSource, StatedFacts
from reconciler.parts.evidence.usage.message import Event, LoggedReason
from reconciler.parts.history.evidence import seconds
from reconciler.parts.history.update import confirmed_until
from reconciler.snapshot.document import snapshot_text
from tests.integration.fleet.test_usage import log
from tests.unit.history.world import CLUSTER_ID, START, read, run_records, store, text, write_log
from tests.worlds import binding

RISK = binding("User:svc-risk ALLOW READ on TOPIC PREFIXED payments.")
NIGHT = binding("User:svc-night ALLOW READ on TOPIC payments.orders")
BASE = binding("User:svc-pay ALLOW WRITE on TOPIC payments.orders")
DAY = 86_400
GIVEN, TAKEN = 2 * DAY + 3 * 3600, 8 * DAY + 3 * 3600
CONNECTIONS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {bootstrapServers: "127.0.0.1:1", allowEveryoneIfNoAclFound: false, superUsers: [User:root]}
"""
ASKED = ("--cluster", "prod", "--store", "store", "--connections", "connections.yaml")


@pytest.fixture
def past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten days: a run gave svc-risk access on day 2 and took it on day 8; a hand gave svc-night access on day 4."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    Path("connections.yaml").write_text(CONNECTIONS)
    place = store(tmp_path / "store")
    bindings = {BASE}
    for hour in range(0, 240, 6):
        time = hour * 3600
        if hour == 54:
            bindings.add(RISK)
        if hour == 96:
            bindings.add(NIGHT)
        if hour == 198:
            bindings.discard(RISK)
        read(place, bindings, time)
    write_log(
        Path("audit.jsonl"),
        [
            *run_records("run-1", GIVEN - 5, [(GIVEN, RISK, True, Outcome.DONE)]),
            *run_records("run-2", TAKEN - 5, [(TAKEN, RISK, False, Outcome.DONE)]),
        ],
    )
    return tmp_path


def who_can(capsys: pytest.CaptureFixture[str], time: float, *more: str) -> dict[str, Any]:
    capsys.readouterr()
    asked = ["who-can", "READ", "topic/payments.orders", *ASKED, "--as-of", text(time), *more, "--output", "json"]
    assert run(asked) == 0, capsys.readouterr().err
    (found,) = json.loads(capsys.readouterr().out)["states"]
    return dict(found)


def holders(found: dict[str, Any]) -> set[str]:
    return {one["principal"] for one in found["holders"]}


def test_who_could_on_that_day(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = ("--audit", "audit.jsonl")
    assert holders(who_can(capsys, 1 * DAY, *log)) == set()
    assert holders(who_can(capsys, 3 * DAY, *log)) == {"User:svc-risk"}
    assert holders(who_can(capsys, 6 * DAY, *log)) == {"User:svc-risk", "User:svc-night"}
    after = who_can(capsys, 9 * DAY, *log)
    assert holders(after) == {"User:svc-night"}
    assert after["unknown"] == []


def test_what_no_run_did_is_unknown_between_two_readings(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the six hours between the two readings nobody knows; the answer says between which times, and why."""
    found = who_can(capsys, 4 * DAY - 3600, "--audit", "audit.jsonl")
    (unknown,) = found["unknown"]
    assert "User:svc-night" in unknown
    assert "no run has a record" in unknown
    asked = ["can-i", "User:svc-night", "READ", "topic/payments.orders", *ASKED, "--as-of", text(4 * DAY - 3600)]
    assert run(asked) == 3
    assert "undecided" in capsys.readouterr().out
    # Of what a run did, its log knows the instant, to the width of clocks.
    assert holders(who_can(capsys, GIVEN - 70)) == set()
    assert who_can(capsys, GIVEN)["unknown"] != []
    assert holders(who_can(capsys, GIVEN + 61)) == {"User:svc-risk"}


def test_times_without_evidence_have_answers_of_their_own(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for time, said in ((-1, "before the first evidence"), (300 * DAY, "after the last evidence")):
        assert run(["who-can", "READ", "topic/x", *ASKED, "--as-of", text(time * DAY if time < 0 else time)]) == 64
        assert said in capsys.readouterr().err
    assert run(["who-can", "READ", "topic/x", "--cluster", "other", "--store", "store", "--as-of", text(0)]) in (1, 64)
    capsys.readouterr()
    live = ["--cluster", "prod", "--connections", "connections.yaml", "--as-of", "2026-01-03"]
    assert run(["who-can", "READ", "topic/x", *live]) == 64
    assert "add --store PLACE" in capsys.readouterr().err
    assert run(["who-can", "READ", "topic/x", *ASKED[:2], *ASKED[4:], "--as-of", text(DAY)]) == 64
    assert "--store PLACE" in capsys.readouterr().err


@pytest.mark.parametrize("claimed", [FactSource.OPERATOR, FactSource.MANIFESTS])
def test_super_users_are_those_of_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], claimed: FactSource
) -> None:
    """User:root became one on day 4 and User:old was one until then; in the hours between nobody knows."""
    monkeypatch.chdir(tmp_path)
    Path("connections.yaml").write_text(CONNECTIONS)
    place = store(tmp_path / "store")
    for hour in range(0, 240, 6):
        users, allow = (("User:old",), True) if hour < 96 else (("User:root",), False)
        read(place, {BASE}, hour * 3600, stated=StatedFacts(users, claimed, allow, FactSource.OPERATOR))

    def may(who: str, time: float, name: str = "payments.orders") -> str:
        capsys.readouterr()
        run(["can-i", who, "READ", f"topic/{name}", *ASKED, "--as-of", text(time)])
        return capsys.readouterr().out

    words = "Super users and allow.everyone.if.no.acl.found are those stated then."
    for time, sure in ((DAY, "User:old"), (6 * DAY, "User:root")):
        other = {"User:old": "User:root", "User:root": "User:old"}[sure]
        said = may(sure, time)
        assert said.startswith("yes")
        assert words in said
        assert ("as only the manifests say" in said) is (claimed is FactSource.MANIFESTS)
        assert may(other, time).startswith("no")
    between = 4 * DAY - 3600
    for who in ("User:old", "User:root"):
        said = may(who, between)
        assert f"if {who} is a super user, which is not known of that time" in said
    assert f"Unknown: User:root a super user, by the word of the {claimed}" in said
    assert "allow.everyone.if.no.acl.found" in said
    # A name without an ACL was everybody's by default, until it was not.
    answers = [may("User:other", time, "free").split()[0] for time in (DAY, between, 6 * DAY)]
    assert answers == ["yes", "undecided", "no"]
    read(place, {NIGHT}, 250 * 3600, stated=None)
    assert run(["history", "--by", "hand", *ASKED[:4]]) == 0
    assert "super user" not in capsys.readouterr().out


@pytest.mark.parametrize("recorded", [True, False])
def test_a_lock_is_nobodys_hand_unless_no_run_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, recorded: bool
) -> None:
    """Its line in the audit log, written before it was sent, says who did what a reading shows."""
    monkeypatch.chdir(tmp_path)
    place, name = store(tmp_path / "store"), "User:svc-pay"
    for hour in range(0, 24, 6):
        read(place, {BASE, *(lock_denials(name) if hour >= 12 else ())}, hour * 3600)
    about = about_command(Identity("lock-1", "anna@ops"), CLUSTER_ID, "prod")
    when = text(9 * 3600)
    write_log(Path("audit.jsonl"), [lock_line(LockRecord(about, LockAction.LOCK, name, when, when, ticket="INC-7"))])
    asked = [
        "history",
        name,
        "--cluster",
        "prod",
        "--store",
        "store",
        *(["--audit", "audit.jsonl"] if recorded else []),
    ]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert said.count("lock-1") == said.count("anna@ops") == said.count("INC-7") == len(lock_denials(name)) * recorded
    assert run([*asked, "--by", "hand"]) == 0
    assert capsys.readouterr().out.count("no run has a record") == len(lock_denials(name)) * (not recorded)


def test_a_run_within_a_minute_of_a_reading_is_nobodys_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Clocks may differ by a minute, so its time may be before the reading or after: it counts at once all the same."""
    monkeypatch.chdir(tmp_path)
    place = store(tmp_path / "store")
    read(place, {BASE, NIGHT}, 0)
    read(place, {BASE, RISK}, 6 * 3600)
    steps = ((40, NIGHT, False), (6 * 3600 - 30, RISK, True))
    records = [run_records(f"run-{at}", at - 5, [(at, one, made, Outcome.DONE)]) for at, one, made in steps]
    write_log(Path("audit.jsonl"), [line for lines in records for line in lines])
    asked = ["history", "--cluster", "prod", "--store", "store", "--audit", "audit.jsonl"]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert said.count("run-40") == said.count("run-21570") == 1
    assert "None" not in said
    assert run([*asked, "--by", "hand"]) == 0
    assert "0 intervals" in capsys.readouterr().out


def test_where_no_reading_has_super_users_those_of_today_are_perhaps_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("connections.yaml").write_text(CONNECTIONS)
    place = store(tmp_path / "store")
    for hour in (0, 6, 12):
        read(place, {BASE, binding(f"User:x ALLOW READ on TOPIC t{hour}")}, hour * 3600, stated=None)
    run(["can-i", "User:root", "READ", "topic/payments.orders", *ASKED, "--as-of", text(7 * 3600)])
    said = capsys.readouterr().out
    assert "those stated today are perhaps right" in said
    assert "which is not known of that time" in said
    assert run(["can-i", "User:svc-pay", "WRITE", "topic/payments.orders", *ASKED, "--as-of", text(7 * 3600)]) == 0


def test_each_bad_input_has_an_answer_of_its_own(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which time, which log, which store: refused with what is wrong about it, and never answered with less."""
    write_log(Path("continued.jsonl"), run_records("other", GIVEN - 5, [(GIVEN, NIGHT, True, Outcome.DONE)]))
    Path("words.txt").write_text("hello\n", encoding="utf-8")
    Path("nothing").mkdir()
    then, logs = ("--as-of", text(3 * DAY)), ("--audit", "audit.jsonl", "--audit", "continued.jsonl")
    at = ["who-can", "READ", "topic/x", *ASKED]
    elsewhere = ["who-can", "READ", "topic/x", "--cluster", "b", "--connections", "connections.yaml", *then]
    for asked, status, words in (
        ([*at, "--as-of", "2025-12-01"], 64, "2025-12-01T00:00:00Z is before the first evidence"),
        ([*at, "--as-of", "2026-03-01"], 64, "2026-03-01T00:00:00Z is after the last evidence"),
        ([*at, "--as-of", "2999-01-01"], 64, "2999-01-01T00:00:00Z is in the future"),
        ([*at, "--as-of", "2026-01-03T04:05:06"], 64, "has no time zone: write 2026-01-03T04:05:06Z for UTC"),
        ([*at, "--as-of", "2026-01-03 04:05"], 64, "has no time zone: write 2026-01-03T04:05:00Z for UTC"),
        ([*at, "--as-of", "last week"], 64, "'last week' is not a date"),
        ([*at, *then, *logs], 1, "both say that they are the log 00000000000000000000000000000000"),
        ([*at, *then, "--audit", "words.txt"], 1, "words.txt is not an audit log"),
        ([*at, *then, "--audit", "gone.jsonl"], 1, "gone.jsonl cannot be read"),
        ([*elsewhere, "--store", "store"], 64, "has no reading of cluster b: it has prod"),
        ([*elsewhere, "--store", "nothing"], 64, "has no reading of cluster b: there is none of any cluster in it"),
        (["history", *ASKED[:4], "--since", "2999-01-01"], 64, "2999-01-01T00:00:00Z is in the future"),
        (["history", *ASKED[:4], "--since", "2026-01-03T04:05:06"], 64, "has no time zone"),
    ):
        assert run(list(asked)) == status, asked
        assert words in capsys.readouterr().err, asked
    newest = sorted(Path("store/runs").iterdir())[-1]
    whole = newest.read_bytes()
    newest.write_bytes(whole[: len(whole) // 2])
    assert run([*at, *then]) == 1
    assert (
        f"runs/{newest.name} is not as it was written: it was changed, cut short or replaced" in capsys.readouterr().err
    )
    later = {**json.loads(whole), "formatVersion": "2.0"}
    store(past / "store").files.write(
        f"runs/{newest.name}", json.dumps({k: later[k] for k in later if k != "digest"}).encode()
    )
    assert run([*at, *then]) == 1
    assert "was written by another version of this program" in capsys.readouterr().err
    newest.write_bytes(whole)
    assert run([*at, *then]) == 0


def test_history_says_since_when_by_whom_and_who_approved(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--cluster", "prod", "--store", "store", "--audit", "audit.jsonl"]
    assert run(["history", "topic/payments.orders", *where]) == 0
    shown = capsys.readouterr().out
    assert "User:svc-risk ALLOW READ on TOPIC PREFIXED payments.  [RISK-12]" in shown
    assert (
        f"since {text(GIVEN)}, by run run-1 of ci@build-7, proposed by bob@example.com, approved by alice@example.com"
        in shown
    )
    assert f"ended {text(TAKEN)}, by run run-2" in shown
    assert "since before the first reading" in shown
    assert run(["history", "--by", "hand", *where, "--output", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "History"
    (held,) = document["held"]
    assert (held["what"], held["ended"], held["began"]["run"]) == (str(NIGHT), None, None)
    assert held["began"]["after"] < text(4 * DAY) < held["began"]["before"]
    assert run(["history", *where, "--output", "table"]) == 0
    table = capsys.readouterr().out
    assert "APPROVED BY" in table
    assert text(GIVEN) in table
    assert run(["history", "User:svc-pay", *where]) == 0
    assert "1 interval." in capsys.readouterr().out


def test_when_access_was_last_used_while_it_was_there(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def on(day: int, principal: str, name: str = "payments.orders") -> bytes:
        request = AccessRequest(principal, "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, name)
        return log(Event(request, True, LoggedReason.DEFAULT_ALLOW, None, "Fetch"), day=text(day * DAY)[:10])

    used = (on(5, "User:svc-risk"), on(3, "User:svc-risk"), on(9, "User:svc-risk"), on(6, "User:svc-night", "other"))
    Path("server.log").write_bytes(b"".join(used))
    asked = ["history", "topic/payments.orders", "--cluster", "prod", "--store", "store", "--audit", "audit.jsonl"]
    assert run(asked) == 0
    assert "used" not in capsys.readouterr().out
    assert run([*asked, "--logs", "server.log"]) == 0
    shown = capsys.readouterr().out.split("User:")
    # The access of day 9 was permitted by something else: the ACL was gone since day 8.
    (risk,) = [one for one in shown if one.startswith("svc-risk ALLOW")]
    assert f"last used {text(5 * DAY)[:10]}" in risk
    (night,) = [one for one in shown if one.startswith("svc-night ALLOW")]
    assert "not used, as far as the logs go" in night
    assert run([*asked, "--logs", "server.log", "--output", "json"]) == 0
    held = json.loads(capsys.readouterr().out)["held"]
    assert {one["what"]: one["lastUsed"] for one in held}[str(RISK)] == text(5 * DAY)[:10]


def test_what_a_run_gave_at_once_is_marked_in_the_past_too(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened, *rest = run_records("run-1", GIVEN - 5, [(GIVEN, RISK, True, Outcome.DONE)])
    about = about_command(Identity("run-1", "ci@build-7"), CLUSTER_ID, "prod")
    end = START + datetime.timedelta(seconds=GIVEN + 3600)
    said = break_glass_lines(about, Sight.GIVE, [RISK], end, text(GIVEN - 4), ("no one else",))
    write_log(Path("audit.jsonl"), [opened, *said, *rest])
    found = who_can(capsys, 3 * DAY, "--audit", "audit.jsonl")
    (given,) = found["breakGlass"]
    assert (given["until"], given["overrode"]) == (text(GIVEN + 3600), ["no one else"])
    assert "breakGlass" not in who_can(capsys, 1 * DAY)
    assert run(["history", "User:svc-risk", "--cluster", "prod", "--store", "store"]) == 0
    assert f"as break-glass access until {text(GIVEN + 3600)} over “no one else”" in capsys.readouterr().out


def test_a_log_of_another_cluster_counts_for_nothing_and_is_named(
    past: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(Path("other.jsonl"), run_records("x", DAY, [(DAY, NIGHT, True, Outcome.DONE)], "another"), "1" * 32)
    assert run(["history", "--cluster", "prod", "--store", "store", "--audit", "other.jsonl"]) == 0
    assert "are of another cluster, another: they do not count" in capsys.readouterr().err


def test_evidence_that_goes_later_leaves_what_was_derived(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log is dropped and readings are thinned out: intervals that rest on them stay."""
    before = who_can(capsys, 3 * DAY, "--audit", "audit.jsonl")
    Path("audit.jsonl").unlink()
    place = store(past / "store")
    for name in place.run_ids()[:-1]:
        place.files.remove(f"runs/{name}.json")
    after = who_can(capsys, 3 * DAY)
    assert after["holders"] == before["holders"]
    assert run(["history", "User:svc-risk", "--cluster", "prod", "--store", "store"]) == 0
    assert "approved by alice@example.com" in capsys.readouterr().out


MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: prod}
spec: {allowEveryoneIfNoAclFound: false}
"""


def test_a_server_keeps_a_reading_in_each_round_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing differs it says until when the newest one held, and writes no other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    Path("m").mkdir()
    Path("m/all.yaml").write_text(MANIFESTS)
    place = store(tmp_path / "readings")
    serve = ["serve", "m", "--cluster", "prod=snapshot:live.json", "--once", "--store", "readings"]
    seen = []
    for bindings in ({BASE}, {BASE}, {BASE, NIGHT}, {BASE, NIGHT}, {BASE}):
        Path("live.json").write_text(snapshot_text(ClusterState("id", frozenset(bindings))))
        assert run(serve) == 0, capsys.readouterr().err
        seen.append((len(place.run_ids()), confirmed_until(place, "prod")))
    assert [runs for runs, _ in seen] == [1, 1, 2, 2, 3]
    newest = place.run().reading("prod")
    assert newest is not None
    confirmed = seen[3][1]
    assert confirmed is not None
    assert seconds(newest.unchanged_until) == confirmed[1]
    Path("live.json").write_text(snapshot_text(ClusterState("id", frozenset({NIGHT}))))
    Path("readings/runs").rename("elsewhere")
    Path("readings/runs").write_text("no directory")
    assert run(serve) == 1
    assert "no reading was kept in readings" in capsys.readouterr().err


def test_drift_says_since_when_and_whom_brokers_logs_show(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An undeclared ACL: between which readings it came, that no run has a record, and who altered the cluster then."""
    Path("m").mkdir()
    Path("m/all.yaml").write_text(MANIFESTS)
    bindings = frozenset({BASE, NIGHT, binding("User:new ALLOW READ on TOPIC x")})
    Path("live.json").write_text(snapshot_text(ClusterState(CLUSTER_ID, bindings)))
    altering = AccessRequest("User:mallory", "10.0.0.1", AclOperation.ALTER, ResourceType.CLUSTER, "kafka-cluster")
    found = Event(altering, True, LoggedReason.SUPER_USER, None, "CreateAcls")
    other = Event(altering._replace(principal="User:early"), True, LoggedReason.SUPER_USER, None, "CreateAcls")
    Path("server.log").write_bytes(log(found, day=text(4 * DAY - 3600)[:10]) + log(other, day=text(DAY)[:10]))
    drift = ["drift", "m", "--cluster", "prod=snapshot:live.json", "--store", "store", "--audit", "audit.jsonl"]
    assert run([*drift, "--logs", "server.log"]) == 2
    shown = capsys.readouterr().out
    assert f"{NIGHT}: there since between " in shown
    assert "no run has a record, brokers' logs of these days show ALTER on the cluster by User:mallory" in shown
    assert "User:early" not in shown
    assert f"{BASE}: there since before the first reading" in shown
    assert "1 of the ACLs that differ are in no reading yet" in shown
    assert run([*drift, "--output", "json"]) == 2
    since = {one["what"]: one for one in json.loads(capsys.readouterr().out)["since"]}
    assert since[str(NIGHT)]["began"]["run"] is None
    assert since[str(NIGHT)]["began"]["alteredBy"] == []


def test_a_forged_log_cannot_give_or_take_what_readings_contradict(
    past: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that a run gave what no reading has, and took what all have: neither is ever certain."""
    forged = [
        *run_records("a", DAY + 3 * 3600, [(DAY + 3 * 3600, NIGHT, True, Outcome.DONE)]),
        *run_records("b", 5 * DAY + 3 * 3600, [(5 * DAY + 3 * 3600, RISK, False, Outcome.DONE)]),
    ]
    write_log(Path("audit.jsonl"), forged)
    for time, principal in ((DAY + 4 * 3600, "User:svc-night"), (5 * DAY + 4 * 3600, "User:svc-risk")):
        asked = ["can-i", principal, "READ", "topic/payments.orders", *ASKED, "--as-of", text(time)]
        assert run([*asked, "--audit", "audit.jsonl"]) == 3
        assert "undecided" in capsys.readouterr().out
    # From the next reading that is kept on, it is as the readings say.
    assert "User:svc-night" not in holders(who_can(capsys, 50 * 3600, "--audit", "audit.jsonl"))
    assert "User:svc-risk" in holders(who_can(capsys, 192 * 3600 - 120, "--audit", "audit.jsonl"))


def test_a_log_of_which_lines_are_gone_or_changed_is_named_and_counts_no_more(
    past: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was taken in of it stays."""
    before = who_can(capsys, 3 * DAY, "--audit", "audit.jsonl")
    lines = Path("audit.jsonl").read_bytes().split(b"\n")
    for kept, said in (
        (lines[:2], "lines are gone"),
        ([*lines[:5], lines[5].replace(b"true", b"null"), b""], "is not as it was"),
    ):
        Path("audit.jsonl").write_bytes(b"\n".join(kept))
        after = who_can(capsys, 3 * DAY, "--audit", "audit.jsonl")
        assert after["holders"] == before["holders"]
        assert said in after["past"]
