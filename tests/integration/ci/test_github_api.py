"""What the action tells GitHub: once, in its own place, with the rights of the job, and to nobody else."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.ci.github import BOT, TOKEN, GitHub, github
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
    file.write_text('{"version": "2.1.0"}', encoding="utf-8")
    assert _told(hub, "sarif", str(file)).returncode == 0
    [upload] = hub.sarif
    assert (upload["commit_sha"], upload["ref"]) == ("c" * 40, "refs/pull/7/merge")
    assert upload["sarif"] == {"version": "2.1.0"}


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
