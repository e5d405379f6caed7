"""What is away, wrong or full: a server says so, does nothing on what it cannot read, and goes on when it is back."""

import datetime
import errno
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.simulation import START, SimulatedTime, serve, simulated
from reconciler.app.apply import ApplyOptions, Unattended
from reconciler.app.manifests import read_sources
from reconciler.app.options import ConnectionOptions
from reconciler.app.reasons import RequestError
from reconciler.app.records import RecordOptions
from reconciler.apply.environment import LeaseRequest
from reconciler.model.state import ClusterState
from reconciler.parts.serve.rounds import DirectorySource, ServeOptions, git_source, run_round
from reconciler.show.rounds import Round, RoundHistory
from reconciler.snapshot.file import MemoryCluster
from reconciler.system.commit_files import first_error
from tests.unit.workflow.serving import ACLS, CLUSTER, LIVE, OVER, World, git


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_cluster_is_away_and_comes_back(world: World) -> None:
    kept = world.snapshot.read_text(encoding="utf-8")
    world.snapshot.unlink()
    away = world.round()
    assert "prod.json: No such file" in away.failure
    assert (away.drift, away.revoked, away.words().startswith("failed")) == (None, 0, True)
    world.snapshot.write_text(kept, encoding="utf-8")
    assert world.round().revoked == 1


def test_git_is_away_and_comes_back(world: World, tmp_path: Path) -> None:
    """What was fetched before does not count: the change that cannot be fetched may extend the access."""
    clone, remote = tmp_path / "clone", tmp_path / "away"
    git(world.manifests, "init", "-q", "-b", "main")
    git(world.manifests, "add", ".")
    git(world.manifests, "commit", "-q", "-m", "declare")
    git(tmp_path, "clone", "-q", str(world.manifests), str(clone))
    source = git_source(str(clone), "main", "origin")
    world.manifests.rename(remote)
    away = world.round(source=source)
    assert "main cannot be read" in away.failure
    assert away.failure.endswith(f"'{world.manifests}' does not appear to be a git repository"), "not git's advice"
    assert world.bindings() == LIVE
    remote.rename(world.manifests)
    assert world.round(source=source).revoked == 1


def test_the_reference_does_not_choose_how_its_files_are_read(world: World, tmp_path: Path) -> None:
    """Its attributes would run a filter of the operator's, leave files out, or make text a comment by an encoding."""
    mark = tmp_path / "ran"
    git(world.manifests, "init", "-q", "-b", "main")
    git(world.manifests, "config", "filter.evil.smudge", f"touch {mark}; cat")
    wide = "\N{FULLWIDTH NUMBER SIGN}"
    (world.manifests / "note.yaml").write_text(f"a: x {wide} y\n", encoding="utf-8")
    git(world.manifests, "add", ".")
    attributes = "*.yaml filter=evil export-ignore ident eol=crlf working-tree-encoding=ASCII//TRANSLIT\n"
    (world.manifests / ".gitattributes").write_text(attributes, encoding="utf-8")
    git(world.manifests, "add", "--force", ".gitattributes")
    git(world.manifests, "commit", "-q", "-m", "declare")
    with git_source(str(world.manifests), "main", None).checkout() as checkout:
        [text] = [source.text for source in read_sources(checkout.path) if source.path == "note.yaml"]
    assert text == f"a: x {wide} y\n"
    assert not mark.exists()


@pytest.mark.parametrize("target", ["/etc/hostname", "../../outside.yaml"])
def test_a_link_of_the_reference_leads_nowhere(world: World, target: str) -> None:
    git(world.manifests, "init", "-q", "-b", "main")
    (world.manifests / "link.yaml").symlink_to(target)
    git(world.manifests, "add", ".")
    git(world.manifests, "commit", "-q", "-m", "declare")
    source = git_source(str(world.manifests), "main", None)
    assert "this link leads out of the directory" in world.round(source=source).failure
    assert world.bindings() == LIVE


def test_a_directory_of_the_reference_that_is_a_link_is_refused(world: World, tmp_path: Path) -> None:
    """The operator named a directory: a reference that makes a link of it would name another one."""
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", world.manifests.name)
    git(tmp_path, "commit", "-q", "-m", "declare")
    source = git_source(str(world.manifests), "main", None)
    assert world.round(source=source).failure == ""
    world.manifests.rename(tmp_path / "moved")
    world.manifests.symlink_to("moved")
    git(tmp_path, "add", "moved", world.manifests.name)
    git(tmp_path, "commit", "-q", "-m", "moved")
    assert f"{world.manifests.name} is a link in the commit" in world.round(source=source).failure


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (
            "fatal: '/x' does not appear to be a git repository\nfatal: Could not read\n\nPlease make sure\n",
            "'/x' does",
        ),
        ("ssh: Could not resolve hostname h\nfatal: Could not read from remote repository.\n", "ssh: Could not"),
        ("Warning: Permanently added 'h'\nhint: x\nerror: pathspec 'y'\n", "pathspec 'y'"),
        ("fatal: unable to access 'https://u:secret@h/x/': refused\n", "unable to access 'https://h/x/'"),
        ("warning: only this\n", "warning: only this"),
        ("", "failed"),
    ],
)
def test_gits_words_are_those_that_say_what_is_wrong(stderr: str, words: str) -> None:
    assert first_error(stderr.encode()).startswith(words)


def test_without_git_it_says_what_else_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RequestError, match="git is not installed") as refused:
        git_source(str(tmp_path), "main", None)
    assert "git-sync" in str(refused.value.advice)


def test_a_link_that_moves_on_does_not_mix_two_commits(tmp_path: Path) -> None:
    """As git-sync does it, in the middle of a round."""
    link = tmp_path / "current"
    for commit in ("a", "b"):
        (tmp_path / commit).mkdir()
        (tmp_path / commit / "all.yaml").write_text(f"# {commit}\n", encoding="utf-8")
    link.symlink_to("a")
    with DirectorySource(str(link)).checkout() as checkout:
        link.unlink()
        link.symlink_to("b")
        assert [source.text for source in read_sources(checkout.path)] == ["# a\n"]


def test_the_disk_of_the_audit_log_is_full(world: World) -> None:
    """Nothing is done that nobody can read about afterwards."""
    records = RecordOptions(audit="/dev/full")
    options = ServeOptions(world.cluster, True, ApplyOptions(records=records, lease=LeaseRequest("me")))
    found = run_round(DirectorySource(str(world.manifests)), options, ConnectionOptions(), Unattended())
    assert found.revoked == 0
    assert any("No space left" in one for one in (*found.held_back, found.failure)), found
    assert world.bindings() == LIVE
    again = replace(options, apply=replace(options.apply, records=RecordOptions()))
    assert run_round(DirectorySource(str(world.manifests)), again, ConnectionOptions(), Unattended()).revoked == 1


def test_the_disk_for_checkouts_is_full(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    git(world.manifests, "init", "-q", "-b", "main")
    git(world.manifests, "add", ".")
    git(world.manifests, "commit", "-q", "-m", "declare")
    source = git_source(str(world.manifests), "main", None)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/checkout")  # noqa: S108 - nothing is written there

    monkeypatch.setattr("reconciler.parts.serve.rounds.write_tree", full)
    assert world.round(source=source).failure == "/tmp/checkout: No space left on device"  # noqa: S108
    assert world.bindings() == LIVE
    monkeypatch.undo()
    assert world.round(source=source).revoked == 1


_WRONG = 3_600.0


class _Clock(SimulatedTime):
    """A clock whose time of day is set by somebody, while seconds pass as they do."""

    wrong = 0.0

    @property
    def now(self) -> datetime.datetime:
        """What the clock shows."""
        return START + datetime.timedelta(seconds=self.passed + self.wrong)


@pytest.mark.parametrize(("wrong", "way"), [(_WRONG, "forwards"), (-_WRONG, "back")])
def test_the_clock_is_set_by_an_hour_and_set_right_again(tmp_path: Path, wrong: float, way: str) -> None:
    """Access that ends in half an hour is there after the hour that did not pass, and goes when its end has come."""
    end = START + datetime.timedelta(minutes=30)
    acls = ACLS.replace("2026-11-01", f"{end:%Y-%m-%dT%H:%M:%SZ}")
    text = CLUSTER.replace("DEFAULT", "false").replace("name: prod", "name: c") + acls
    (tmp_path / "all.yaml").write_text(text, encoding="utf-8")
    time, cluster, seen = _Clock(), MemoryCluster(ClusterState("id", LIVE, {})), list[Round]()

    def on_round(found: Round) -> None:
        seen.append(found)
        time.wrong = wrong if len(seen) == 1 else 0.0
        if time.passed < 1_800:
            assert OVER in cluster.state.bindings, "it went before its time"

    with simulated(time, cluster):
        serve(lambda: time.passed > 2_400, time, tmp_path, RoundHistory(("c",)), interval=600, on_round=on_round)
    assert way in seen[1].held_back[0]
    assert cluster.state.bindings == LIVE - {OVER}


def test_a_fault_of_this_machine_without_a_number_is_told_in_its_own_words(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(world.manifests, "init", "-q", "-b", "main")
    git(world.manifests, "add", ".")
    git(world.manifests, "commit", "-q", "-m", "declare")

    def fails(*_: object) -> None:
        raise OSError("the device is gone")

    monkeypatch.setattr("reconciler.parts.serve.rounds.write_tree", fails)
    found = world.round(source=git_source(str(world.manifests), "main", None))
    assert (found.failure, found.revoked) == ("this machine: the device is gone", 0)
