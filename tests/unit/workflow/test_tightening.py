"""``tighten`` on manifests: the edit, what stays and why, thin evidence, stages, and what the commands say."""

import base64
import datetime
import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.app.reasons import RequestError, WorkflowError
from reconciler.cli.main import run
from reconciler.model.locks import LockMark, lock_denials
from reconciler.model.state import ClusterState
from reconciler.parts.evidence.app.tighten import Tightening, TightenOptions, staged, tighten, write_stage
from reconciler.parts.evidence.suggestion import HeldReason, Thresholds, log_series
from reconciler.parts.evidence.usage.message import Window
from reconciler.show.reading import read_result
from reconciler.snapshot.document import snapshot_text
from tests.worlds import acl, binding

FIRST, TODAY = datetime.date(2026, 8, 1), datetime.date(2026, 11, 23)
DAYS = (TODAY - FIRST).days
CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: demo}
spec: {bootstrapServers: ["b:9092"], principal: User:admin}
"""
HEAD = """\
---
# The team's own words.
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules:
"""
FACTS = CLUSTER.replace("principal: User:admin", "allowEveryoneIfNoAclFound: false")
ALL_AGES = TightenOptions(any_age=True)


def line(day: datetime.date, operation: str, name: str, kind: str = "Topic", who: str = "a", host: str = "1") -> str:
    return (
        f"[{day} 10:00:00,000] DEBUG Principal = User:{who} is Allowed operation = {operation} from host = "
        f"10.0.0.{host} on resource = {kind}:LITERAL:{name} for request = Any with resourceRefCount = 1 "
        "based on rule DefaultAllow\n"
    )


def each_day(operation: str, name: str, kind: str = "Topic", who: str = "a", host: str = "1") -> list[str]:
    return [line(FIRST + datetime.timedelta(number), operation, name, kind, who, host) for number in range(DAYS)]


class Desk:
    """A directory of manifests, logs beside it, and the operator's facts."""

    def __init__(self, place: Path) -> None:
        self.place, self.logs, self.facts = place / "m", place / "kafka.log", place / "facts.yaml"
        self.place.mkdir()
        self.facts.write_text(FACTS, encoding="utf-8")
        self.lines: list[str] = []

    def declare(self, *rules: str, more: str = "", cluster: str = CLUSTER) -> str:
        text = cluster + HEAD + "".join(f"    - {rule}\n" for rule in rules) + more
        (self.place / "all.yaml").write_text(text, encoding="utf-8")
        return text

    def saw(self, lines: Iterable[str]) -> None:
        self.lines += lines
        self.logs.write_text("".join(sorted(self.lines)), encoding="utf-8")

    @property
    def connection(self) -> ConnectionOptions:
        return ConnectionOptions(connections=str(self.facts))

    def request(self, day: datetime.date = TODAY) -> StateRequest:
        return StateRequest(str(self.place), as_of=day)

    def tighten(self, options: TightenOptions = ALL_AGES) -> Tightening:
        return tighten(self.request(), [str(self.logs)], options, self.connection)

    def after(self, options: TightenOptions = ALL_AGES) -> list[object]:
        """The rules as the edit leaves them; none where there is no edit."""
        text = self.tighten(options).edit.files.get("all.yaml")
        return [] if text is None else list(yaml.safe_load_all(text))[1]["spec"]["rules"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def reasons(found: Tightening) -> dict[str, HeldReason]:
    return {held.binding.pattern.name: held.reason for held in found.held}


def test_unused_rights_go_and_wide_ones_become_what_was_seen(desk: Desk) -> None:
    text = desk.declare(
        "{allow: READ, topics: [x]}   # used",
        "{allow: READ, topics: [gone], reason: once}",
        "{allow: [READ, WRITE], topics: {prefix: pay.}, reason: payments, ticket: T-1, expires: 2030-01-01}",
        "{allow: ALL, topics: [z]}",
        "{deny: WRITE, topics: [nobody]}",
    )
    for operation, name in (("READ", "x"), ("READ", "pay.a"), ("WRITE", "pay.b"), ("WRITE", "z"), ("DESCRIBE", "z")):
        desk.saw(each_day(operation, name))
    after = desk.tighten().edit.files["all.yaml"]
    said = "expires: 2030-01-01, reason: payments, ticket: T-1}"
    assert after == CLUSTER + HEAD + (
        "    - {allow: READ, topics: [x]}   # used\n"
        "    - {deny: WRITE, topics: [nobody]}\n"
        f"    - {{allow: READ, topics: [pay.a], {said}\n"
        f"    - {{allow: WRITE, topics: [pay.b], {said}\n"
        "    - {allow: WRITE, topics: [z]}\n"
    )
    assert desk.place.joinpath("all.yaml").read_text(encoding="utf-8") == text  # nothing is written by itself


def test_what_was_refused_needs_no_right(desk: Desk) -> None:
    desk.declare("{allow: READ, topics: [x]}", "{allow: WRITE, topics: [y]}", "{deny: WRITE, topics: [y]}")
    refused = "".join(each_day("WRITE", "y")).replace("Allowed", "Denied").replace("DefaultAllow", "DefaultDeny")
    desk.saw([*each_day("READ", "x"), *refused.splitlines(keepends=True)])
    assert desk.after() == [{"allow": "READ", "topics": ["x"]}, {"deny": "WRITE", "topics": ["y"]}]


def test_after_it_is_written_nothing_is_left_to_tighten(desk: Desk) -> None:
    desk.declare(
        "{allow: ALL, topics: {prefix: pay.}, groups: {any: true}}", "{role: streams, topics: [s, t], groups: [g]}"
    )
    desk.saw([*each_day("READ", "pay.a"), *each_day("READ", "grp", "Group"), *each_day("WRITE", "s")])
    desk.tighten().edit.write()
    again = desk.tighten()
    assert (again.narrowings, again.edit.files) == ((), {})


def test_a_role_loses_names_and_stays_a_role(desk: Desk) -> None:
    desk.declare("{role: consumer, topics: [x, y], groups: {prefix: g}}")
    desk.saw([*each_day("READ", "x"), *each_day("READ", "g-1", "Group")])
    assert desk.after() == [{"role": "consumer", "topics": ["x"], "groups": ["g-1"]}]


@pytest.mark.parametrize(
    ("rule", "seen", "reason"),
    [
        ("{allow: READ, topics: [gone], keep: disaster recovery}", [], HeldReason.KEEP),
        ("{role: owner, topics: [gone]}", [], HeldReason.OWNER),
        ("{allow: READ, topics: {prefix: p.}}", [("READ", f"p.{number}") for number in range(11)], HeldReason.MANY),
        ("{allow: [READ, CREATE], topics: {prefix: p.}}", [("READ", "p.1"), ("CREATE", "p.1")], HeldReason.CREATES),
    ],
)
def test_what_stays_says_why(desk: Desk, rule: str, seen: list[tuple[str, str]], reason: HeldReason) -> None:
    desk.declare("{allow: READ, topics: [x]}", rule)
    desk.saw(each_day("READ", "x"))
    for operation, name in seen:
        desk.saw(each_day(operation, name))
    found = desk.tighten()
    assert set(reasons(found).values()) == {reason}
    assert not found.edit.files


def test_names_that_still_grow_keep_their_prefix(desk: Desk) -> None:
    desk.declare("{allow: READ, topics: {prefix: p.}}")
    desk.saw([*each_day("READ", "p.1"), *(one.replace("p.1", "p.2") for one in each_day("READ", "p.1")[-20:])])
    assert reasons(desk.tighten()) == {"p.": HeldReason.GROWING}


def test_who_was_seen_on_few_days_or_not_at_all_loses_nothing(desk: Desk) -> None:
    other = HEAD.replace("{name: a}", "{{name: {0}}}").replace("User:a", "User:{0}")
    rules = "    - {{allow: [READ, WRITE], topics: [t-{0}]}}\n"
    desk.declare(
        "{allow: READ, topics: [x]}", more="".join((other + rules).format(who) for who in ("few", "late", "unseen"))
    )
    desk.saw([*each_day("READ", "x"), *each_day("READ", "t-few", who="few")[:9]])
    desk.saw(each_day("READ", "t-late", who="late")[-30:])
    found = desk.tighten()
    held = {"t-few": HeldReason.FEW_DAYS, "t-late": HeldReason.NEW, "t-unseen": HeldReason.UNSEEN}
    assert (reasons(found), found.edit.files) == (held, {})
    eager = desk.tighten(replace(ALL_AGES, bounds=Thresholds(unseen_days=DAYS, principal_days=9)))
    assert {one.first.pattern.name for one in eager.narrowings} == {"t-few", "t-unseen"}


def test_protected_operating_and_everybodys_rights_stay(desk: Desk) -> None:
    cluster = CLUSTER.replace("principal:", "protect: [{topics: {prefix: vault.}}], principal:")
    more = (
        HEAD.replace("name: a", "name: admin").replace("User:a", "User:admin") + "    - {allow: ALTER, cluster: true}\n"
    )
    more += HEAD.replace("name: a", "name: all").replace("User:a", "User:*") + "    - {allow: READ, topics: [open]}\n"
    desk.declare("{allow: READ, topics: [x, vault.keys]}", more=more, cluster=cluster)
    desk.saw([*each_day("READ", "x"), *each_day("READ", "x", who="admin")])
    assert reasons(desk.tighten()) == {
        "vault.keys": HeldReason.PROTECTED,
        "kafka-cluster": HeldReason.OPERATING,
        "open": HeldReason.EVERYBODY,
    }


def test_a_rule_of_another_cluster_too_stays(desk: Desk) -> None:
    both = CLUSTER + "---\n" + CLUSTER.replace("demo", "other")
    desk.facts.write_text(FACTS + "---\n" + FACTS.replace("demo", "other"), encoding="utf-8")
    desk.declare("{allow: READ, topics: [x, y]}", cluster=both)
    desk.saw(each_day("READ", "x"))
    request = replace(desk.request(), cluster="demo", offline=True)
    found = tighten(request, [str(desk.logs)], ALL_AGES, desk.connection)
    assert [(held.reason, held.detail) for held in found.held] == [(HeldReason.SHARED, "other")]
    assert not found.edit.files


def test_without_the_operators_word_nothing_is_uncovered(desk: Desk) -> None:
    desk.declare(
        "{allow: READ, topics: [x, y]}",
        cluster=CLUSTER.replace("principal:", "allowEveryoneIfNoAclFound: false, principal:"),
    )
    desk.saw(each_day("READ", "x"))
    found = tighten(desk.request(), [str(desk.logs)], ALL_AGES)
    assert (reasons(found), found.edit.files) == ({"y": HeldReason.OPENS}, {})


RECOVERY = """\
---
apiVersion: reconciler/v1
kind: AccessTests
metadata: {name: t}
spec:
  tests:
    - name: recovery
      principals: [User:a]
      must: READ
      topics: [backup]
"""


def test_what_an_access_test_demands_stays(desk: Desk) -> None:
    desk.declare("{allow: READ, topics: [x, backup, gone]}", more=RECOVERY)
    desk.saw(each_day("READ", "x"))
    found = desk.tighten()
    assert reasons(found) == {"backup": HeldReason.UNPROVEN}
    assert [one.first.pattern.name for one in found.narrowings] == ["gone"]


def test_a_lock_neither_excuses_what_a_test_demands_nor_makes_a_right_unused(desk: Desk, tmp_path: Path) -> None:
    """User:a is locked: what it used stays, and so does what a test demands of it, for the day of the unlock."""
    desk.declare("{allow: READ, topics: [x, backup, gone]}", more=RECOVERY)
    desk.saw(each_day("READ", "x"))
    mark = LockMark("User:a", datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC))
    allows = {acl(name, "User:a") for name in ("x", "backup", "gone")}
    for locked in ((), (*lock_denials("User:a"), mark.binding)):
        state = ClusterState("c", frozenset({*allows, *locked}))
        (tmp_path / "live.json").write_text(snapshot_text(state), encoding="utf-8")
        asked = StateRequest(str(desk.place), f"demo=snapshot:{tmp_path / 'live.json'}", as_of=TODAY)
        found = tighten(asked, [str(desk.logs)], ALL_AGES, desk.connection)
        assert reasons(found) == {"backup": HeldReason.UNPROVEN}
        assert [one.first.pattern.name for one in found.narrowings] == ["gone"]


def test_hosts_are_narrowed_where_asked(desk: Desk) -> None:
    desk.declare("{allow: READ, topics: [x]}")
    desk.saw([*each_day("READ", "x"), *each_day("READ", "x", host="2")])
    assert desk.after() == []
    assert desk.after(replace(ALL_AGES, bounds=Thresholds(hosts=2))) == [
        {"allow": "READ", "topics": ["x"], "hosts": ["10.0.0.1", "10.0.0.2"]}
    ]
    assert desk.after(replace(ALL_AGES, bounds=Thresholds(hosts=1))) == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda lines: lines[40:], "the logs cover 74 days"),
        (lambda lines: [one for one in lines if "2026-10-1" not in one], "no permitted access on 10 days"),
        (lambda lines: [one for one in lines if "2026-10-01" not in one], "each with the day after: 0"),
        (lambda lines: lines[:-10], "ended"),
        (lambda lines: [*lines, lines[0][:150] + "\n"], "could not be read"),
        (lambda lines: [one.replace("Allowed", "Denied") for one in lines], "no permitted access"),
    ],
)
def test_on_thin_evidence_nothing_is_proposed(desk: Desk, spoil: object, words: str) -> None:
    desk.declare("{allow: READ, topics: [x, gone]}")
    desk.saw(spoil(each_day("READ", "x")))  # type: ignore[operator]
    found = desk.tighten()
    assert any(words.replace("ended", "the logs end on") in text for text in found.thin)
    assert (found.narrowings, found.edit.files) == ((), {})
    command = [
        "tighten",
        "--logs",
        str(desk.logs),
        "--path",
        str(desk.place),
        "--as-of",
        str(TODAY),
        "--policy",
        "any-age",
    ]
    assert run([*command, "--connections", str(desk.facts), "--write"]) == 3


def others(text: str) -> dict[str, str]:
    """A second broker's log, in shapes that are read and in shapes that are not."""
    lines = text.splitlines()
    plain = [one.partition("DEBUG ")[2] for one in lines]
    return {
        "journald": "".join(json.dumps({"MESSAGE": one}) + "\n" for one in lines),
        "cloudwatch": "".join(json.dumps({"logEvents": [{"timestamp": 1, "message": one}]}) + "\n" for one in lines),
        "unknown words": "".join(f"broker two says: {one}\n" for one in lines),
        "two words": "".join(json.dumps({"text": f"we saw {one}"}) + "\n" for one in plain),
        "refusals": "".join(
            one.replace("Allowed", "Denied").replace("DefaultAllow", "DefaultDeny") + "\n" for one in lines
        ),
        "packed": "".join(json.dumps({"data": base64.b64encode(one.encode()).decode()}) + "\n" for one in lines),
        "wide": "\n".join(lines).encode("utf-16-le").decode("latin1"),
        "few days": "".join(f"{one}\n" for one in (*lines[:20], *lines[-20:])),
    }


@pytest.mark.parametrize("shape", sorted(others("")))
def test_what_another_broker_shows_is_read_or_nothing_is_proposed(desk: Desk, tmp_path: Path, shape: str) -> None:
    desk.declare("{allow: READ, topics: [x, t2, gone]}")
    logs = tmp_path / "logs"
    for broker, text in (
        ("b1", "".join(each_day("READ", "x"))),
        ("b2", others("".join(each_day("READ", "t2")))[shape]),
    ):
        (logs / broker).mkdir(parents=True)
        (logs / broker / "kafka-authorizer.log").write_text(text, encoding="latin1")
    found = tighten(desk.request(), [str(logs)], ALL_AGES, desk.connection)
    if shape in ("journald", "cloudwatch"):
        assert not found.thin
        assert [one.first.pattern.name for one in found.narrowings] == ["gone"]
    else:
        assert found.thin
        assert (found.narrowings, found.edit.files) == ((), {})


@pytest.mark.parametrize(
    ("file", "series"),
    [
        ("b1/kafka-authorizer.log.2026-11-20-10", "b1/kafka-authorizer.log"),
        ("b1/kafka-authorizer.log.3.gz", "b1/kafka-authorizer.log"),
        ("logs/2026/11/20/10/broker-1.log", "logs/broker-1.log"),
        ("logs/day=20/broker-1.log.zst", "logs/broker-1.log"),
        ("server-20261120.log", "server.log"),
        ("server-2026-11-20-1.log", "server.log"),
        ("broker-12.log", "broker-12.log"),
        ("stream/000003.gz", "stream/"),
        ("-", "-"),
    ],
)
def test_the_files_of_one_log_are_one(file: str, series: str) -> None:
    assert log_series(file) == series


def test_only_rules_that_are_older_than_the_logs_are_judged(desk: Desk) -> None:
    desk.declare("{allow: READ, topics: [x, gone]}")
    desk.saw(each_day("READ", "x"))
    assert set(reasons(desk.tighten(TightenOptions())).values()) == {HeldReason.NO_HISTORY}

    def git(*words: str, day: datetime.date = FIRST) -> None:
        name = {"GIT_COMMITTER_DATE": f"{day}T00:00:00Z", "GIT_CONFIG_GLOBAL": os.devnull}
        login = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *login, *words], cwd=desk.place, check=True, env={**os.environ, **name})  # noqa: S607

    git("init", "-q")
    # What a commit says of its files neither runs a filter nor leaves one out.
    (desk.place / ".gitattributes").write_text("*.yaml filter=evil export-ignore\n", encoding="utf-8")
    git("config", "filter.evil.smudge", "touch ran; echo nothing")
    git("add", ".")
    git("commit", "-qm", "first", day=FIRST - datetime.timedelta(days=1))
    desk.declare("{allow: READ, topics: [x, gone, new]}")
    git("commit", "-qam", "second", day=FIRST + datetime.timedelta(days=1))
    found = desk.tighten(TightenOptions())
    assert [one.first.pattern.name for one in found.narrowings] == ["gone"]
    assert reasons(found) == {"new": HeldReason.YOUNG}
    assert not [*desk.place.rglob("ran")]


def test_a_stage_shows_what_it_would_refuse_and_proposes_on_its_day(desk: Desk, tmp_path: Path) -> None:
    desk.declare("{allow: READ, topics: [x, back, gone]}")
    desk.saw(each_day("READ", "x"))
    stage, due = str(tmp_path / "stage.json"), TODAY + datetime.timedelta(days=20)
    write_stage(stage, desk.tighten(), due, TODAY)
    with pytest.raises(WorkflowError):
        write_stage(stage, desk.tighten(), due, TODAY)  # one that is there is not replaced
    since = [one.replace(str(FIRST), "") for one in each_day("READ", "x")[:0]]
    since += [line(TODAY + datetime.timedelta(number), "READ", "x") for number in range(20)]
    since += [line(TODAY + datetime.timedelta(number), "READ", "back") for number in (3, 3, 5)]
    desk.saw(since)
    early = staged(desk.request(due - datetime.timedelta(days=1)), [str(desk.logs)], stage, ALL_AGES, desk.connection)
    assert (early.shadow.refused, early.due, early.tightening.edit.files) == (3, False, {})
    days = {day for refusal in early.shadow.refusals for day in refusal.days.each()}
    assert sorted((day - TODAY).days for day in days) == [3, 5]
    found = staged(desk.request(due), [str(desk.logs)], stage, ALL_AGES, desk.connection)
    assert [one.first.pattern.name for one in found.tightening.narrowings] == ["gone"]
    assert "[x, back]" in str(found.tightening.edit.files["all.yaml"])
    desk.declare("{allow: READ, topics: [x, back]}", "{allow: READ, topics: [gone], keep: once a year}")
    kept = staged(desk.request(due), [str(desk.logs)], stage, ALL_AGES, desk.connection)
    assert (reasons(kept.tightening), kept.tightening.edit.files) == ({"gone": HeldReason.KEEP}, {})
    assert kept.shadow.gone == ()
    desk.declare("{allow: READ, topics: [x]}")
    left = staged(desk.request(due), [str(desk.logs)], stage, ALL_AGES, desk.connection)
    assert sorted(one.first.pattern.name for one in left.shadow.gone) == ["back", "gone"]
    assert (left.shadow.refusals, left.shadow.wanted, left.tightening.edit.files) == ((), (), {})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda stage: stage | {"cluster": "other"}, "is about cluster other"),
        (lambda stage: stage | {"formatVersion": "2.0"}, "no stage"),
        (lambda stage: stage | {"notBefore": "2026-01-01"}, "no stage"),
        (lambda stage: stage["narrowings"][0]["bindings"][0].update(permissionType="DENY") or stage, "only ALLOWs"),
    ],
)
def test_a_stage_is_not_believed(desk: Desk, tmp_path: Path, change: object, words: str) -> None:
    desk.declare("{allow: READ, topics: [x, gone]}")
    desk.saw(each_day("READ", "x"))
    stage = tmp_path / "stage.json"
    write_stage(str(stage), desk.tighten(), TODAY + datetime.timedelta(days=1), TODAY)
    document = json.loads(stage.read_text(encoding="utf-8"))
    stage.write_text(json.dumps(change(document)), encoding="utf-8")  # type: ignore[operator]
    with pytest.raises(WorkflowError, match=words):
        staged(desk.request(), [str(desk.logs)], str(stage), ALL_AGES, desk.connection)


def test_a_forged_stage_takes_and_gives_nothing_that_is_not_proven(desk: Desk, tmp_path: Path) -> None:
    desk.declare("{allow: READ, topics: [x, gone]}")
    desk.saw([*each_day("READ", "x"), line(TODAY, "READ", "x")])
    stage, due = tmp_path / "stage.json", TODAY + datetime.timedelta(days=1)
    write_stage(str(stage), desk.tighten(), due, TODAY)
    document = json.loads(stage.read_text(encoding="utf-8"))
    (narrowing,) = document["narrowings"]
    wider = [{**narrowing["bindings"][0], "operation": "ALL"}]
    used = [{**narrowing["bindings"][0], "name": "x"}]
    document["narrowings"] = [{**narrowing, "into": wider}, {"bindings": used, "into": []}]
    stage.write_text(json.dumps(document), encoding="utf-8")
    found = staged(desk.request(due), [str(desk.logs)], str(stage), ALL_AGES, desk.connection)
    # It is written what a new run finds: nothing takes the place of what is not used.
    assert [(one.first.pattern.name, one.into) for one in found.tightening.narrowings] == [("gone", ())]
    assert [one.first.pattern.name for one in found.shadow.refusing] == ["x"]


def test_a_stage_does_not_lower_the_bounds(desk: Desk, tmp_path: Path) -> None:
    desk.declare("{allow: READ, topics: [x, monthly, gone]}")
    desk.saw([*each_day("READ", "x"), *each_day("READ", "monthly")[::30]])
    stage, due = tmp_path / "stage.json", TODAY
    write_stage(str(stage), desk.tighten(), TODAY + datetime.timedelta(days=1), TODAY)
    document = json.loads(stage.read_text(encoding="utf-8"))
    (narrowing,) = document["narrowings"]
    monthly = {"bindings": [{**narrowing["bindings"][0], "name": "monthly"}], "into": []}
    document |= {"since": str(TODAY - datetime.timedelta(days=2)), "notBefore": str(TODAY)}
    stage.write_text(json.dumps({**document, "narrowings": [narrowing, monthly]}), encoding="utf-8")
    found = staged(desk.request(due), [str(desk.logs)], str(stage), ALL_AGES, desk.connection)
    assert not found.shadow.refusals  # in two days it was not used
    assert [one.first.pattern.name for one in found.tightening.narrowings] == ["gone"]


def test_the_command_writes_stages_and_reports(desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk.declare("{allow: READ, topics: [x, gone]}", "{allow: READ, topics: [later], keep: disaster recovery}")
    desk.saw(each_day("READ", "x"))
    stage = tmp_path / "stage.json"
    command = ["tighten", "--logs", str(desk.logs), "--path", str(desk.place), "--connections", str(desk.facts)]
    command += ["--policy", "any-age", "--as-of"]
    assert run([*command, str(TODAY), "--stage", str(stage)]) == 64
    assert run([*command, str(TODAY), "--stage", str(stage), "--not-before", "2026-12-01"]) == 0
    assert "gone" in desk.place.joinpath("all.yaml").read_text(encoding="utf-8")
    assert run([*command, str(TODAY), "--stage", str(stage), "--write"]) == 3  # no day has been seen since
    assert "Nothing is proposed before 2026-12-01" in capsys.readouterr().err
    assert run([*command, str(TODAY), "--output", "json", "--write"]) == 0
    shown = capsys.readouterr()
    assert "would be" not in shown.err
    assert "disaster recovery" in shown.err
    findings = read_result(json.loads(shown.out)).findings
    assert {one.rule for one in findings} == {"unused-right", "held-right"}
    assert "gone" not in desk.place.joinpath("all.yaml").read_text(encoding="utf-8")
    assert run([*command, str(TODAY)]) == 0
    assert "Nothing to tighten." in capsys.readouterr().err


def test_days_of_the_logs_can_be_chosen_and_manifests_are_needed(desk: Desk, tmp_path: Path) -> None:
    desk.declare("{allow: READ, topics: [x, gone]}")
    desk.saw(each_day("READ", "x"))
    window = TightenOptions(Window(FIRST, FIRST + datetime.timedelta(days=95)), Thresholds(stale_days=30), any_age=True)
    assert [one.first.pattern.name for one in desk.tighten(window).narrowings] == ["gone"]
    with pytest.raises(WorkflowError):
        tighten(desk.request(), [str(tmp_path / "missing.log")], ALL_AGES, desk.connection)
    with pytest.raises(RequestError):
        write_stage(str(tmp_path / "s"), desk.tighten(), TODAY, TODAY)


def test_what_others_have_on_the_cluster_counts_and_is_not_touched(desk: Desk, tmp_path: Path) -> None:
    scoped = CLUSTER.replace("principal:", "scope: {include: [{principals: [User:a]}]}, principal:")
    desk.declare("{allow: READ, topics: [x, gone]}", cluster=scoped)
    desk.saw(each_day("READ", "x"))
    theirs = binding("User:other ALLOW READ on TOPIC gone")
    live = [*(binding(f"User:a ALLOW READ on TOPIC {name}") for name in ("x", "gone", "undeclared")), theirs]
    snapshot = tmp_path / "live.json"
    snapshot.write_text(snapshot_text(ClusterState("demo", frozenset(live))), encoding="utf-8")
    found = tighten(
        replace(desk.request(), cluster=f"demo=snapshot:{snapshot}"), [str(desk.logs)], ALL_AGES, desk.connection
    )
    assert [str(one.first) for one in found.narrowings] == ["User:a ALLOW READ on TOPIC gone"]
    assert found.basis.value == "desired"
    # With default-allow too, for another's ACL still covers the topic.
    desk.facts.write_text(FACTS.replace("false", "true"), encoding="utf-8")
    again = tighten(
        replace(desk.request(), cluster=f"demo=snapshot:{snapshot}"), [str(desk.logs)], ALL_AGES, desk.connection
    )
    assert [str(one.first) for one in again.narrowings] == ["User:a ALLOW READ on TOPIC gone"]


def test_an_edit_of_a_kept_rule_keeps_the_word(desk: Desk) -> None:
    desk.declare("{allow: [READ, WRITE], topics: [x], hosts: [10.0.0.1], keep: once a year, ticket: T-1}")
    assert run(["revoke", "User:a", "WRITE", "topic/x", "--path", str(desk.place), "--write"]) == 0
    rules = list(yaml.safe_load_all((desk.place / "all.yaml").read_text(encoding="utf-8")))[1]["spec"]["rules"]
    kept = {"topics": ["x"], "hosts": ["10.0.0.1"], "keep": "once a year", "ticket": "T-1"}
    assert [{**rule, "allow": None} for rule in rules] == [{**kept, "allow": None}]
    revoked = ["revoke", "User:a", "READ", "topic/x", "--path", str(desk.place), "--write"]
    assert run([*revoked, "--host", "10.0.0.1"]) == 0


def test_a_report_of_a_stage_names_what_it_would_refuse(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.declare("{allow: READ, topics: [x, back]}")
    desk.saw(each_day("READ", "x"))
    stage = str(tmp_path / "stage.json")
    write_stage(stage, desk.tighten(), TODAY + datetime.timedelta(days=9), TODAY)
    desk.saw([line(TODAY, "READ", "x"), line(TODAY, "READ", "back"), line(TODAY, "READ", "back")])
    command = ["tighten", "--logs", str(desk.logs), "--path", str(desk.place), "--connections", str(desk.facts)]
    asked = [*command, "--policy", "any-age", "--as-of", str(TODAY), "--stage", stage, "--output", "json"]
    assert run(asked) == 3
    shown = capsys.readouterr()
    assert f"would have refused 2 decisions since {TODAY}" in shown.err
    (finding,) = read_result(json.loads(shown.out)).findings
    assert (finding.rule, finding.subject) == ("would-refuse", "User:a READ on TOPIC back from 10.0.0.1")
