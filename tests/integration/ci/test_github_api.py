"""What the action tells GitHub: once, in its own place, with the rights of the job, and to nobody else."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.ci.github import BOT, LONGEST_BODY, TOKEN, GitHub, github, problems, unknown_fields
from tests.integration.ci.player import ROOT

_ID, _OTHER = "change-" + "a" * 64, "change-" + "b" * 64


@pytest.fixture
def hub() -> Iterator[GitHub]:
    with github() as found:
        found.rights = {"pull-requests": "write", "issues": "write", "security-events": "write"}
        yield found


def _told(hub: GitHub, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_API_URL": hub.url,
        "GITHUB_REPOSITORY": "team/kafka",
        "GITHUB_TOKEN": TOKEN,
        "PULL_REQUEST": "7",
        "COMMIT": "c" * 40,
        "REF": "refs/pull/7/merge",
        **variables,
    }
    command = [sys.executable, str(ROOT / "action" / "github.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


def _report(tmp_path: Path, text: str, name: str = "prod") -> str:
    file = tmp_path / "report.md"
    file.write_text(f"<!-- reconciler:{name} -->\n{text}\n", encoding="utf-8")
    return str(file)


def _ids(text: str) -> str:
    """As a report in Markdown ends."""
    return f"<details><summary>Approve with --require-id</summary>\n\n- `prod` `{text}`\n\n</details>"


def test_a_comment_is_replaced_and_those_of_others_are_left(hub: GitHub, tmp_path: Path) -> None:
    stranger = {"id": 1, "user": {"login": "stranger"}, "body": "<!-- reconciler:prod -->\nplan-" + "f" * 64}
    # More than a page of talk before ours.
    hub.comments[7] = [stranger, *({"id": n, "user": {"login": "x"}, "body": "talk"} for n in range(2, 140))]
    for text in ("first", "second"):
        assert _told(hub, "comment", _report(tmp_path, text)).returncode == 0
    ours = [comment["body"] for comment in hub.comments[7] if comment["user"]["login"] == BOT]
    assert ours == ["<!-- reconciler:prod -->\nsecond\n"]
    assert hub.comments[7][0] == stranger


def test_clusters_have_a_comment_each(hub: GitHub, tmp_path: Path) -> None:
    for name in ("prod", "test"):
        _told(hub, "comment", _report(tmp_path, "text", name))
    assert len(hub.comments[7]) == 2


def test_the_approved_plan_is_what_the_bot_showed_on_the_merged_pull_request(hub: GitHub, tmp_path: Path) -> None:
    assert _told(hub, "approved", "prod").stdout == ""
    hub.merged["c" * 40] = 7
    hub.comments[7] = [{"id": 1, "user": {"login": "stranger"}, "body": f"<!-- reconciler:prod -->\n{_ID}"}]
    assert _told(hub, "approved", "prod").stdout == ""
    _told(hub, "comment", _report(tmp_path, _ids(_ID)))
    assert _told(hub, "approved", "prod").stdout == f"{_ID}\n"
    assert _told(hub, "approved", "test").stdout == ""
    _told(hub, "comment", _report(tmp_path, _ids(f"{_ID} or {_OTHER}")))
    assert _told(hub, "approved", "prod").stdout == ""


def test_a_name_is_no_approval(hub: GitHub, tmp_path: Path) -> None:
    hub.merged["c" * 40] = 7
    _told(hub, "comment", _report(tmp_path, f"a finding about `{_ID}`"))
    assert _told(hub, "approved", "prod").stdout == ""
    _told(hub, "comment", _report(tmp_path, f"a finding about `{_OTHER}`\n{_ids(_ID)}"))
    assert _told(hub, "approved", "prod").stdout == f"{_ID}\n"


def test_what_the_comment_says_since_the_merge_is_no_approval(hub: GitHub, tmp_path: Path) -> None:
    hub.merged["c" * 40] = 7
    _told(hub, "comment", _report(tmp_path, _ids(_ID)))
    hub.now = "2026-11-21T00:00:01Z"
    _told(hub, "comment", _report(tmp_path, _ids(_OTHER)))
    assert _told(hub, "approved", "prod").stdout == ""


def _ran(hub: GitHub, sha: str, event: str = "push", ref: str = "refs/heads/main", **of: str) -> dict[str, object]:
    """A run that has applied to prod, but for what is said otherwise."""
    job, step = of.get("job", "prod / apply prod"), of.get("step", "Applied")
    steps = {"Connections, outside the checkout": "success", step: of.get("conclusion", "success")}
    hub.ran({"event_name": event, "ref": ref, "sha": sha}, of.get("file", "kafka-merge.yml"), {job: steps})
    return hub.runs[0]


def test_the_commit_that_was_applied_last_is_what_a_run_of_the_branch_applied(hub: GitHub) -> None:
    """Whatever a proposer can start (a pull request from main or a fork, another branch, another file) is not one."""
    hub.rights = {"actions": "read"}
    asked = ("applied", "prod", "kafka-merge.yml")
    _ran(hub, "e" * 40, file="other.yml")
    assert "404" in _told(hub, *asked, BRANCH="main").stderr
    _ran(hub, "0" * 40, conclusion="failure")
    assert _told(hub, *asked, BRANCH="main").stdout == "0" * 40 + "\n"
    _ran(hub, "a" * 40)
    _ran(hub, "b" * 40, "workflow_dispatch")
    forged = [
        _ran(hub, "f" * 40, "pull_request"),
        _ran(hub, "f" * 40, ref="refs/heads/proposal"),
        _ran(hub, "f" * 40, "schedule"),
        _ran(hub, "f" * 40, "pull_request_target"),
        _ran(hub, "f" * 40, file="kafka-forged.yml"),
        _ran(hub, "f" * 40, job="prod / apply other-prod"),
        _ran(hub, "f" * 40, job="prod / plan"),
        _ran(hub, "f" * 40, conclusion="skipped"),
        _ran(hub, "f" * 40, step="Apply"),
        _ran(hub, "f" * 40),
        _ran(hub, "f" * 40),
    ]
    forged[-1]["head_repository"] = None
    forged[-2]["head_repository"] = {"full_name": "stranger/kafka"}
    assert _told(hub, *asked, BRANCH="main").stdout == "b" * 40 + "\n"
    assert _told(hub, "applied", "other-prod", "kafka-merge.yml", BRANCH="main").stdout == "f" * 40 + "\n"
    # Very many clusters have more jobs than a page.
    hub.runs[0] |= {
        "head_repository": {"full_name": "team/kafka"},
        "jobs": hub.runs[5]["jobs"] * 120 + hub.runs[0]["jobs"],
    }
    assert _told(hub, *asked, BRANCH="main").stdout == "f" * 40 + "\n"
    hub.rights = {}
    assert "403" in _told(hub, *asked, BRANCH="main").stderr


def test_an_issue_is_opened_once_kept_current_and_closed(hub: GitHub, tmp_path: Path) -> None:
    _told(hub, "issue", _report(tmp_path, "nothing"), "close")
    assert hub.issues == []
    for text in ("one", "two"):
        assert _told(hub, "issue", _report(tmp_path, text), "open").returncode == 0
    [issue] = hub.issues
    assert (issue["title"], issue["labels"]) == ("Kafka and manifests differ: prod", ["kafka-drift"])
    assert issue["body"].endswith("two\n")
    _told(hub, "issue", _report(tmp_path, "clean"), "close")
    assert issue["state"] == "closed"
    _told(hub, "issue", _report(tmp_path, "again"), "open")
    assert [one["state"] for one in hub.issues] == ["closed", "open"]


def test_alerts_are_uploaded_for_the_commit(hub: GitHub, tmp_path: Path) -> None:
    file = tmp_path / "a.sarif"
    log = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "reconciler"}}, "results": []}]}
    file.write_text(json.dumps(log), encoding="utf-8")
    assert _told(hub, "sarif", str(file)).returncode == 0
    [upload] = hub.sarif
    assert (upload["commit_sha"], upload["ref"]) == ("c" * 40, "refs/pull/7/merge")
    assert upload["sarif"] == log
    # As code scanning does, the server judges log and upload.
    file.write_text('{"version": "2.1.0"}', encoding="utf-8")
    assert "400" in _told(hub, "sarif", str(file)).stderr
    file.write_text(json.dumps(log), encoding="utf-8")
    assert "422" in _told(hub, "sarif", str(file), COMMIT="main").stderr
    assert len(hub.sarif) == 1


def test_a_rate_limit_is_waited_for_and_any_other_refusal_is_not(hub: GitHub, tmp_path: Path) -> None:
    report = _report(tmp_path, "text")
    soon = str(int(time.time()))
    hub.refusals = [(429, {"Retry-After": "1"}), (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": soon})]
    done = _told(hub, "comment", report)
    assert (done.returncode, done.stderr.count("trying again in 1 s")) == (0, 2), done.stderr
    assert len(hub.comments[7]) == 1
    hub.refusals = [(429, {"Retry-After": "1"})] * 3
    assert "429" in _told(hub, "comment", report).stderr
    for refusal in ((403, {}), (429, {"Retry-After": "3600"}), (403, {"X-RateLimit-Remaining": "12"}), (500, {})):
        hub.refusals = [refusal]
        done = _told(hub, "comment", report)
        assert str(refusal[0]) in done.stderr
        assert "trying again" not in done.stderr
    assert len(hub.comments[7]) == 1


def test_the_token_decides_who_wrote_a_comment(hub: GitHub, tmp_path: Path) -> None:
    """Somebody writes what the bot would write, first: it is neither changed nor taken for an approval."""
    hub.people["ghp_of-mallory"], hub.merged["c" * 40] = "mallory", 7
    assert _told(hub, "comment", _report(tmp_path, _ids(_OTHER)), GITHUB_TOKEN="ghp_of-mallory").returncode == 0
    assert _told(hub, "approved", "prod").stdout == ""
    assert _told(hub, "comment", _report(tmp_path, _ids(_ID))).returncode == 0
    assert [one["user"]["login"] for one in hub.comments[7]] == ["mallory", BOT]
    assert _told(hub, "approved", "prod").stdout == f"{_ID}\n"


def test_github_describes_what_is_asked_and_what_is_answered(hub: GitHub, tmp_path: Path) -> None:
    """The server here is no looser than GitHub: of what is wrong, each is refused."""
    assert "422" in _told(hub, "comment", _report(tmp_path, "x" * LONGEST_BODY)).stderr
    assert problems("GET", "issues", "state=open&labels=x&per_page=100&page=1", None) == []
    assert problems("GET", "issue", "", None)
    assert problems("PUT", "issues/7/comments", "", {"body": "x"})
    assert problems("GET", "issues", "label=x", None)
    assert problems("POST", "issues/7/comments", "", {"text": "x"})
    assert problems("POST", "issues/7/comments", "", {"body": 7})
    assert problems("PATCH", "pulls/7", "", {"state": "merged"})
    assert unknown_fields("GET", "issues", 200, [{"number": 7, "colour": "red"}]) == {"colour"}
    assert unknown_fields("POST", "issues", 200, {"number": 7})


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"GITHUB_TOKEN": "wrong"}, "401"),
        ({"GITHUB_API_URL": "http://api.example.org"}, "no https address"),
        ({"GITHUB_REPOSITORY": "team/other"}, "404"),
    ],
)
def test_what_github_refuses_is_an_error(variables: dict[str, str], told: str, hub: GitHub, tmp_path: Path) -> None:
    done = _told(hub, "comment", _report(tmp_path, "text"), **variables)
    assert done.returncode == 1
    assert told in done.stderr
    assert TOKEN not in done.stderr


def test_without_the_right_nothing_is_written(hub: GitHub, tmp_path: Path) -> None:
    hub.rights = {"contents": "read"}
    assert "403" in _told(hub, "comment", _report(tmp_path, "text")).stderr
    assert not any(hub.comments.values())


def test_what_is_no_report_is_refused(hub: GitHub, tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    file.write_text("# no marker\n", encoding="utf-8")
    assert "does not begin with a marker" in _told(hub, "comment", str(file)).stderr
    assert _told(hub, "unknown").returncode == 1


def test_edits_have_one_pull_request_kept_current_and_closed(hub: GitHub, tmp_path: Path) -> None:
    fork = {"ref": "reconciler/adopt", "repo": {"full_name": "team/kafka-fork"}}
    text = "<!-- reconciler:edit-adopt -->\n"
    others = {"id": 1, "number": 1, "state": "open", "head": fork, "base": "main", "user": {"login": BOT}, "body": text}
    hub.pulls.append(others)
    where = {"BRANCH": "reconciler/adopt", "BASE_BRANCH": "main"}
    for said in ("first", "second"):
        done = _told(hub, "pull", _report(tmp_path, said, "edit-adopt"), "open", **where)
        assert done.returncode == 0, done.stderr
    _, ours = hub.pulls
    assert ours["body"] == "<!-- reconciler:edit-adopt -->\nsecond\n"
    assert (ours["head"]["ref"], ours["base"], ours["title"]) == ("reconciler/adopt", "main", "Kafka manifests: adopt")
    assert _told(hub, "pull", _report(tmp_path, "none", "edit-adopt"), "close", **where).returncode == 0
    assert (ours["state"], others["state"]) == ("closed", "open")
    assert _told(hub, "pull", _report(tmp_path, "none", "edit-adopt"), "close", **where).returncode == 0
    assert len(hub.pulls) == 2
    assert (
        "no branch of edits"
        in _told(hub, "pull", _report(tmp_path, "x"), "open", BRANCH="main", BASE_BRANCH="main").stderr
    )
