"""Whoever can write to the audit log cannot change what it says without being found out."""

import json
import secrets
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.apply.audit import AUDIT, GENESIS, LogIdentity, TopicCopy, chained, line_digest, verify
from reconciler.cli.change_options import pipeline_url
from reconciler.cli.main import run
from reconciler.model.listing import Create
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.sandbox.state import Sandbox
from reconciler.ports import RecordError
from reconciler.results.audit import concerns_topic
from reconciler.snapshot.document import snapshot_text
from reconciler.system.journal import AuditLog
from tests.integration.main_job import Job, job
from tests.prepared import prepared
from tests.worlds import binding

LOG = LogIdentity("1" * 32, "host", "/a")


def log_at(path: Path | str) -> LogIdentity:
    """A new log's identity."""
    return LogIdentity(secrets.token_hex(16), "host", str(path))


MANIFESTS = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: c}
spec: {allowEveryoneIfNoAclFound: false, barrier: {wait: 10ms}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules: [{allow: [READ, WRITE], topics: [x]}]
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[Path, str]:
    """The log of two runs, and the head that the second one printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "all.yaml").write_text(MANIFESTS)
    live = ClusterState("id", frozenset({binding("User:b ALLOW READ on TOPIC x")}))
    (tmp_path / "live.json").write_text(snapshot_text(live))
    where = ["--cluster", "snapshot:live.json"]
    assert run(["plan", "m", *where, "--allow-deletes", "--out", "plan.json"]) == 0
    for _ in range(2):
        capsys.readouterr()
        assert run(["apply", "plan.json", "m", *where, "--yes", "--audit", "audit.jsonl", "--output", "json"]) == 0
    return tmp_path / "audit.jsonl", json.loads(capsys.readouterr().out)["auditHead"]


def test_a_log_of_two_runs_is_one_chain(log: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The control: what runs write is intact, and each line is one that the schema declares."""
    file, head = log
    assert run(["audit", "verify", str(file), head]) == 0
    shown = capsys.readouterr()
    assert f"audit.jsonl: intact. {len(_lines(file))} lines, head {head}\n" == shown.out
    assert "note" not in shown.err
    for line in _lines(file):
        document = json.loads(line)
        assert AUDIT.write(AUDIT.read(document)) == document


def test_what_vouches_for_nothing_is_said(log: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a head the last line may be anything, and the command says so."""
    assert run(["audit", "verify", str(log[0])]) == 0
    assert "nothing vouches for the last line" in capsys.readouterr().err


def _lines(file: Path) -> list[bytes]:
    return file.read_bytes().removesuffix(b"\n").split(b"\n")


EDITS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "an operator's name": lambda lines: [lines[0].replace(b'"operator":"', b'"operator":"not-'), *lines[1:]],
    "an outcome in the middle": lambda lines: [line.replace(b'"done"', b'"already"') for line in lines],
    "a white space": lambda lines: [*lines[:2], lines[2] + b" ", *lines[3:]],
    "a step dropped": lambda lines: [*lines[:1], *lines[2:]],
    "the first line dropped": lambda lines: lines[1:],
    "two lines swapped": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "a line doubled": lambda lines: [*lines[:2], *lines[1:]],
    "a line added": lambda lines: [
        *lines[:3],
        *chained([{"record": "step"}], line_digest(lines[2]), LOG)[0],
        *lines[3:],
    ],
    "the end cut off": lambda lines: lines[:-1],
    "a whole run cut off": lambda lines: lines[: len(lines) // 2],
    "the last line changed": lambda lines: [*lines[:-1], lines[-1].replace(b"true", b"false")],
    "everything dropped": lambda lines: [],
    "written again from the first line": lambda lines: chained(
        [{key: item for key, item in json.loads(line).items() if key != "previous"} | {"time": "x"} for line in lines],
        GENESIS,
        LOG,
    )[0],
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_found(log: tuple[Path, str], edit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody edits the file after the run: status 4, with the line."""
    file, head = log
    edited = EDITS[edit](_lines(file))
    file.write_bytes(b"".join(line + b"\n" for line in edited))
    assert run(["audit", "verify", str(file), head, "--output", "json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["problems"]
    assert run(["audit", "verify", str(file), head]) == 4
    assert "not as it was written" in capsys.readouterr().out


def _chain(texts: Sequence[str]) -> list[bytes]:
    return chained([{"record": "step", "text": text} for text in texts], GENESIS, LOG)[0]


chains = st.lists(st.text(max_size=5), min_size=2, max_size=8).map(_chain)


@given(st.data(), chains)
def test_any_edit_before_a_known_head_is_found(data: st.DataObject, lines: list[bytes]) -> None:
    """Whatever is changed, dropped, swapped, doubled, moved or cut: with the head, it is a problem."""
    head = line_digest(lines[-1])
    assert verify("a", lines, [head]).intact
    edited = list(lines)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(edited) - 1))
        match data.draw(st.sampled_from(["change", "drop", "swap", "double", "cut", "insert"])):
            case "change":
                at = data.draw(st.integers(0, max(0, len(edited[place]) - 1)))
                edited[place] = edited[place][:at] + data.draw(st.binary(max_size=2)) + edited[place][at + 1 :]
            case "drop":
                del edited[place]
            case "swap":
                other = data.draw(st.integers(0, len(edited) - 1))
                edited[place], edited[other] = edited[other], edited[place]
            case "double":
                edited.insert(data.draw(st.integers(0, len(edited))), edited[place])
            case "cut":
                edited = edited[:place]
            case _:
                edited.insert(place, data.draw(st.sampled_from([*lines, b"", b"{}", b'{"previous":"x"}'])))
        if not edited:
            break
    # What follows the known head is anchored by nothing, so half a line there is no more than that.
    untouched = edited[: len(lines)] == lines and not any(b'"previous"' in line for line in edited[len(lines) :])
    assert verify("a", edited, [head]).intact is untouched


@given(chains, st.data())
def test_a_log_that_was_written_again_is_found_by_its_copy(lines: list[bytes], data: st.DataObject) -> None:
    """The whole chain is computed anew after an edit, so that it holds by itself: the topic knows better."""
    place = data.draw(st.integers(0, len(lines) - 1))
    kept, after = lines[:place], lines[place + 1 :]
    previous = line_digest(kept[-1]) if kept else GENESIS
    texts = [json.loads(line)["text"] for line in (after if data.draw(st.booleans()) else lines[place:])]
    forged = kept + chained([{"record": "step", "text": f"{text}!"} for text in texts], previous, LOG)[0]
    assert verify("a", forged, []).intact
    assert not verify("a", forged, [], TopicCopy((tuple(lines),))).intact
    assert verify("a", lines, [], TopicCopy((tuple(lines[::2]), tuple(lines[1::2])))).intact
    assert not verify("a", lines, [], TopicCopy((tuple(reversed(lines)),))).intact


PLACE = ("host", "/a")


@given(chains, st.integers(0, 9), st.booleans(), st.data())
def test_a_log_that_is_gone_is_found_by_its_copy(
    lines: list[bytes], after: int, same: bool, data: st.DataObject
) -> None:
    """Somebody deletes the log, empties it, or lets runs begin another one in its place: the topic has the old one."""
    elsewhere = chained([{"record": "run"}] * 2, GENESIS, LogIdentity("3" * 32, "other", "/a"))[0]
    begun = chained([{"record": "run"}] * after, GENESIS, LOG if same else LogIdentity("2" * 32, *PLACE))[0]
    every = data.draw(st.permutations([lines, begun, elsewhere])) if after else [lines, elsewhere]
    copy = TopicCopy((tuple(line for log in every for line in log),))
    for now in (begun, begun or None):
        found = verify("a", now, [], copy, PLACE)
        assert not found.intact
        assert any("this log" in text or "earlier log at this place" in text for text in found.problems)
    assert not verify("a", None, [], copy, ("other", "/b")).intact
    # The control: who put the old one away has written down its head.
    head = line_digest(lines[-1])
    assert verify("a", begun, [head], copy, PLACE).intact is (not same or not after)
    assert not verify("a", begun, [line_digest(lines[-2])], copy, PLACE).intact
    assert verify("a", lines, [], TopicCopy(((*lines, *elsewhere),)), PLACE).notes == (
        "the topic has 2 lines of other logs",
    )


def test_a_line_of_another_log_is_none_of_this_one() -> None:
    """Somebody goes on with a chain in another file: each line says which log it is of."""
    first, head = chained([{"record": "run"}], GENESIS, LOG)
    rest, last = chained([{"record": "end"}], head, LogIdentity("2" * 32, *PLACE))
    assert verify("a", [*first, *rest], [last]).problems == ("line 2 is of another log",)


def test_a_log_keeps_its_id_whoever_goes_on_with_it(tmp_path: Path) -> None:
    """Each run would name a new log otherwise: the file's own lines say which one it is."""
    path = tmp_path / "a"
    ids = set()
    for torn in (b'{"record":"st', b"", b'{"record":"st', b""):
        with path.open("ab") as file:
            file.write(torn)
        with AuditLog(log_at(path)) as audit:
            audit.write({"record": "run"})
        ids |= {json.loads(line)["log"]["id"] for line in _lines(path) if line.endswith(b"}")}
    assert len(ids) == 1


def test_a_deleted_log_is_a_problem_not_an_empty_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "verify", str(tmp_path / "gone")]) == 4
    assert "there is no such file" in capsys.readouterr().out


def test_a_torn_line_stays_in_its_place(tmp_path: Path) -> None:
    """A crash leaves half a line: the next run continues behind it, and nobody can take it away unseen."""
    path = tmp_path / "a"
    with AuditLog(log_at(path)) as audit:
        audit.write({"record": "run"})
    with path.open("ab") as file:
        file.write(b'{"record":"st')
    with AuditLog(log_at(path)) as audit:
        audit.write({"record": "run"}, {"record": "end"})
        head = audit.head
    lines = _lines(path)
    found = verify("a", lines, [head])
    assert found.intact
    assert found.notes == ("line 2 is incomplete: a crash cut it off",)
    assert not verify("a", [lines[0], *lines[2:]], [head]).intact


@pytest.mark.parametrize("text", ["notes\n", "notes", '{"a": 1}\n', "[]\n"])
def test_a_file_that_is_no_log_is_left_alone(tmp_path: Path, text: str) -> None:
    """The operator mistypes the file: nothing is appended to something else."""
    (tmp_path / "a").write_text(text)
    with pytest.raises(RecordError, match="it is not an audit log"):
        AuditLog(log_at(tmp_path / "a"))
    assert (tmp_path / "a").read_text() == text


def test_runs_that_append_at_a_time_do_not_fork_the_chain(tmp_path: Path) -> None:
    """Several runs write to one file: one chain, every line in it."""
    path = str(tmp_path / "audit.jsonl")
    with ThreadPoolExecutor(4) as writers:
        ended = writers.map(lambda name: prepared().run("tests.security.appending", path, name, "4"), "abcd")
        assert [*ended] == [0, 0, 0, 0]
    lines = _lines(Path(path))
    assert len(lines) == 200
    assert verify("a", lines, [line_digest(lines[-1])]).intact
    assert (Path(path).stat().st_mode & 0o777) == 0o600


BEFORE = """\
apiVersion: reconciler/v1
kind: Topics
metadata: {name: t}
spec:
  defaults: {partitions: 2, replicationFactor: 1}
  topics: [{name: "@audit"}, {name: "@orders"}]
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec: {principal: User:svc, rules: [{allow: READ, topics: ["@orders"]}]}
"""


@pytest.fixture
def team(tmp_path: Path, broker: Sandbox, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Job:
    return job(tmp_path, broker, f"audit{abs(hash(request.node.name)) % 10**8}.", capsys)


@pytest.mark.broker
def test_the_copy_in_a_topic_of_a_broker(team: Job, tmp_path: Path) -> None:
    """The file is written again without a line, so that the chain holds: the topic's copy has it."""
    team.write("all.yaml", BEFORE)
    assert team.run("apply", "--yes").status == 0
    topic, file = f"{team.prefix}audit", tmp_path / "audit.jsonl"
    for operation in ("WRITE", "READ"):
        team.write("all.yaml", BEFORE.replace("READ", operation))
        done = team.run("apply", "--yes", "--allow-deletes", "--audit", str(file), "--audit", f"topic/{topic}")
        assert done.status == 0, done.err
    lines = _lines(file)
    compare = ["audit", "verify", str(file), "--cluster", "it", "--audit", f"topic/{topic}"]
    reach = ["--connections", str(team.connections)]
    good = team.bare(*compare, *reach)
    assert good.status == 0, good.out + good.err
    assert f"{len(lines)} lines, {len(lines)} of them in the topic, head {line_digest(lines[-1])}" in good.out
    assert "note" not in good.err
    contents = [{key: item for key, item in json.loads(line).items() if key != "previous"} for line in lines]
    for forged in (contents[:-1], [*contents[:2], *contents[3:]], [{**contents[0], "operator": "x"}, *contents[1:]]):
        file.write_bytes(b"".join(line + b"\n" for line in chained(forged, GENESIS, LOG)[0]))
        assert team.bare("audit", "verify", str(file)).status == 0, "the chain alone holds"
        found = team.bare(*compare, *reach)
        assert found.status == 4, found.out
        assert "in the topic" in found.out or "the topic has" in found.out
    for gone in (lambda: file.write_bytes(b""), file.unlink):
        gone()
        found = team.bare(*compare, *reach)
        assert found.status == 4, found.out
        assert "earlier log at this place" in found.out
    missing = team.bare(*compare[:-1], f"topic/{topic}-missing", *reach)
    assert missing.status == 1
    assert "cannot be read" in missing.err


def _listed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> list[str]:
    """What the entries say was done."""
    capsys.readouterr()
    assert run(["audit", "list", *arguments, "--output", "json"]) == status
    return [entry["what"] for entry in json.loads(capsys.readouterr().out)["entries"]]


def test_a_log_can_be_asked_by_topic_principal_person_and_time(
    log: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each filter selects what it names and nothing else; together they have to hold all."""
    file = f"--audit={log[0]}"
    everything = _listed(capsys, file)
    assert len(everything) == 2 * 3  # three steps, by two runs: the second found them done
    of_b = _listed(capsys, file, "User:b")
    assert of_b
    assert all("User:b" in what for what in of_b)
    assert sorted(of_b + _listed(capsys, file, "User:a")) == sorted(everything)
    assert _listed(capsys, file, "topic/x") == everything
    assert _listed(capsys, file, "topic/y") == []
    operator = json.loads(_lines(log[0])[0])["operator"]
    assert _listed(capsys, file, "--by", operator) == everything
    assert _listed(capsys, file, "--by", f"{operator[:2]}*", "User:b") == of_b
    assert _listed(capsys, file, "--by", "[a-z]*") == []
    assert _listed(capsys, file, "--since", "1d") == everything
    assert _listed(capsys, file, "--since", "2999-01-01") == []
    assert run(["audit", "list", "topic/x", file]) == 0
    assert "6 entries." in capsys.readouterr().out


def test_an_acl_on_a_prefix_concerns_the_topics_that_begin_so() -> None:
    change = Create(binding("User:b ALLOW READ on TOPIC PREFIXED pay."))
    assert concerns_topic(change, "pay.x")
    assert not concerns_topic(change, "x.pay.")
    assert not concerns_topic(Create(binding("User:b ALLOW READ on TOPIC pay.")), "pay.x")
    assert not concerns_topic(Create(binding("User:b ALLOW READ on GROUP x")), "x")
    assert concerns_topic(Create(Topic("x")), "x")
    assert not concerns_topic(Create(Topic("xy")), "x")


def test_copies_of_a_log_count_once_and_two_continuations_are_refused(
    log: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two logs with one id: the shorter is the beginning of the longer, or somebody continued a copy."""
    file, lines = log[0], _lines(log[0])
    copy = file.with_name("copy.jsonl")
    copy.write_bytes(b"".join(line + b"\n" for line in lines[:4]))
    both = [f"--audit={file}", f"--audit={copy}"]
    everything = _listed(capsys, both[0])
    assert _listed(capsys, *both) == everything
    assert _listed(capsys, *reversed(both)) == everything
    copy.write_bytes(b"".join(line + b"\n" for line in [*lines[:3], lines[4]]))
    assert run(["audit", "list", *both]) == 1
    said = capsys.readouterr().err
    assert "both say that they are the log" in said
    assert "from line 4 on" in said
    (file.parent / "other.txt").write_text("no log")
    assert run(["audit", "list", "--audit", str(file.parent / "other.txt")]) == 1
    assert "is not an audit log" in capsys.readouterr().err


def test_what_a_broken_log_says_is_listed_and_the_break_is_named(
    log: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = _lines(log[0])
    log[0].write_bytes(b"".join(line + b"\n" for line in [*lines[:2], *lines[3:]]))
    assert len(_listed(capsys, f"--audit={log[0]}", status=4)) == 5
    assert run(["audit", "list", "--audit", str(log[0])]) == 4
    assert "line 3 does not follow" in capsys.readouterr().err


def test_a_run_says_where_its_pipeline_shows_it_and_who_proposed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The URL is that of GitHub or GitLab unless one is given; the proposer is the author of the commit."""
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "CI_JOB_URL", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    Path("m").mkdir()
    Path("m/all.yaml").write_text(MANIFESTS)
    Path("live.json").write_text(snapshot_text(ClusterState("id")))
    who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "m"]):
        subprocess.run(["git", "-C", "m", *arguments], check=True)  # noqa: S607
    apply = ["apply", "m", "--cluster", "snapshot:live.json", "--yes", "--journal", "j"]
    assert run([*apply, "--audit", "one.jsonl"]) == 0
    first = json.loads(_lines(Path("one.jsonl"))[0])
    assert (first["proposer"], first["url"]) == ("bob@example.com", None)
    for name, value in {"SERVER_URL": "https://h", "REPOSITORY": "o/r", "RUN_ID": "7"}.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    Path("m/all.yaml").write_text(MANIFESTS.replace("WRITE]", "WRITE, DESCRIBE_CONFIGS]"))
    assert run([*apply, "--audit", "two.jsonl"]) == 0
    second = json.loads(_lines(Path("two.jsonl"))[0])
    # What is not committed has no author that git knows.
    assert (second["proposer"], second["url"]) == (None, "https://h/o/r/actions/runs/7")
    assert pipeline_url({"CI_JOB_URL": "https://lab/1", "GITHUB_RUN_ID": "7"}) == "https://lab/1"
