"""Evidence in a campaign: since when, by whom, last used when; without evidence nothing is called unused."""

import shutil
from pathlib import Path

import pytest

from reconciler.access.authorizer import AccessRequest
from reconciler.app.options import today
from reconciler.apply.environment import Outcome
from reconciler.cli.main import run
from reconciler.model.acl import AclOperation, ResourceType
from reconciler.model.desired import instant_of
from reconciler.parts.certify.campaign import Campaign
from reconciler.parts.evidence.usage.message import Event, LoggedReason
from reconciler.system.git import _git, line_authors
from tests.integration.fleet.test_usage import log
from tests.integration.test_certify import (
    DIR,
    DUE,
    asked,
    bank,
    opened,
    write_cluster,
)
from tests.unit.history.world import CLUSTER_ID, START, read, run_records, store, text, write_log
from tests.worlds import bindings

__all__ = ["bank"]

_NOW = (instant_of(today()) - START).total_seconds()
_USERS = ("old", "run", "hand", "young", "gone")
_OLD, _RUN, _HAND, _YOUNG, _GONE = bindings(*(f"User:{name} ALLOW READ on TOPIC ledger.a" for name in _USERS))


def ago(days: float) -> float:
    """A time as seconds after the start of the world."""
    return _NOW - days * 86_400


def used(principal: str, days: int, *, allowed: bool = True) -> bytes:
    request = AccessRequest(principal, "10.0.0.1", AclOperation.READ, ResourceType.TOPIC, "ledger.a")
    reason = LoggedReason.DEFAULT_ALLOW if allowed else LoggedReason.DEFAULT_DENY
    return log(Event(request, allowed, reason, None, "Fetch"), day=text(ago(days))[:10])


@pytest.fixture
def past(bank: Path) -> Path:
    """Readings, a run's record, and logs of each of the last 130 days."""
    place = store(bank / "store")
    for days, there in (
        (200, {_OLD, _GONE}),
        (120, {_OLD, _RUN}),
        (95, {_OLD, _RUN, _HAND}),
        (11, {_OLD, _RUN, _HAND}),
        (1, {_OLD, _RUN, _HAND, _YOUNG}),
    ):
        read(place, there, ago(days), cluster="bank")
    write_log(Path("audit.jsonl"), run_records("run-1", ago(150.1), [(ago(150), _RUN, True, Outcome.DONE)]))
    lines = [used("User:other", days) for days in range(131)]
    Path("server.log").write_bytes(b"".join([*lines, used("User:run", 110), used("User:hand", 3)]))
    write_cluster(_OLD, _RUN, _HAND, _YOUNG, _GONE, cluster_id=CLUSTER_ID)
    return bank


def test_evidence_says_since_when_by_whom_and_when_it_was_last_used(past: Path) -> None:
    found = asked("server.log")
    lines = {who: right.by[0] for who, right in found.items()}
    groups = {who: right.group.partition(":")[0] for who, right in found.items()}
    unused = "not used for 90 days"
    assert groups == {"old": unused, "run": unused, "hand": "new", "young": "new", "gone": "new"}
    assert f"since before the first reading, {unused}" in lines["old"]
    assert f"since {text(ago(150))}, approved by alice@example.com, last used {text(ago(110))[:10]}" in lines["run"]
    assert found["run"].proposers == ("bob@example.com",)
    assert f", by no known run, last used {text(ago(3))[:10]}" in lines["hand"]
    assert f"since between {text(ago(120) - 60)} and {text(ago(95))[:10]}" in lines["hand"]
    # It was not there for 90 days, and what was gone in the last reading came at a time that no reading saw.
    assert "by no known run, last use is not known" in lines["young"]
    assert "since when is not known, last use is not known" in lines["gone"]
    whole = (DIR / "ledger.yaml").read_text(encoding="utf-8")
    assert whole.index("User:old") < whole.index("User:run") < whole.index("User:gone") < whole.index("User:young")


def test_without_evidence_nothing_is_called_unused(past: Path) -> None:
    # Without the run's record nobody is known to have approved or proposed it.
    found = asked(audit=False)
    assert "approved" not in found["run"].by[0]
    assert "by no known run" in found["run"].by[0]
    assert found["run"].proposers == ()
    lines = [used("User:other", days) for days in range(131)]
    Path("hole.log").write_bytes(b"".join(lines[:40] + lines[41:]))
    Path("short.log").write_bytes(b"".join(lines[:89]))
    Path("denials.log").write_bytes(b"".join(used("User:other", days, allowed=False) for days in range(131)))
    Path("empty.log").write_bytes(b"")
    for logs in (("hole.log",), ("short.log",), ("denials.log",), ("empty.log",), ()):
        found = asked(*logs)
        assert {right.group.partition(":")[0] for right in found.values()} == {"new"}
        assert all("last use is not known" in right.by[0] for right in found.values())
    campaign = opened_without_store()
    assert not any(
        "since" in line or "use" in line.split(", ", 1)[-1] for right in campaign.rights for line in right.by
    )


def opened_without_store() -> Campaign:
    shutil.rmtree(DIR)
    return opened()


def test_readings_of_another_cluster_are_no_evidence(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cluster(_OLD)
    assert run(["certify", "open", "--due", str(DUE), "--out", str(DIR), "--store", "store"]) == 64
    assert "this is another one" in capsys.readouterr().err


def test_the_author_of_the_line_is_who_proposed_it(bank: Path) -> None:
    repository = Path()
    _git(repository, "init", "--quiet")
    _git(repository, "add", "manifests")
    _git(repository, "-c", "user.name=Carol", "-c", "user.email=carol@example.com", "commit", "--quiet", "-m", "x")
    campaign = opened()
    declared = [right for right in campaign.rights if right.standing == "acls" and "not declared" not in right.notes]
    assert {right.proposers for right in declared} == {("carol@example.com",)}


def test_a_shallow_clone_names_nobody_for_lines_from_before_it(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    whole.mkdir()
    _git(whole, "init", "-q")
    for number, who in enumerate(("alice", "bob", "carol")):
        (whole / "a.yaml").write_text("".join(f"line: {line}\n" for line in range(number + 1)), encoding="utf-8")
        _git(whole, "add", ".")
        _git(whole, "-c", f"user.name={who}", "-c", f"user.email={who}@example.com", "commit", "-qm", who)
    _git(whole, "clone", "-q", "--depth", "2", whole.as_uri(), str(part))
    assert line_authors(whole, "a.yaml") == {1: "alice@example.com", 2: "bob@example.com", 3: "carol@example.com"}
    assert line_authors(part, "a.yaml") == {3: "carol@example.com"}
