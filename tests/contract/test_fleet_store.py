"""What every store of a fleet keeps to: its files, and the runs, wishes and comparisons that are made of them."""

import datetime
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reconciler.app.reasons import WorkflowError
from reconciler.parts.fleet import tables
from reconciler.parts.fleet.store import (
    ClockError,
    DamagedError,
    FleetStore,
    NoRunError,
    StoreFiles,
    checked,
    run_name,
    thinned,
    with_digest,
)
from reconciler.parts.fleet.tables import Files
from reconciler.results.fleet_drift import (
    Bucket,
    ClusterDrift,
    Failure,
    FleetDrift,
    FleetRun,
    HeaderError,
    Reading,
    run_text,
)
from tests.contract.memory_files import MemoryFiles
from tests.integration.fleet.platforms import BUCKET, hdfs_cluster, installed, s3_server


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """How clients find an S3 server on loopback."""
    with s3_server() as variables:
        yield variables


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of HDFS on loopback."""
    with hdfs_cluster(tmp_path_factory.mktemp("hdfs")) as address:
        yield address


def address_of(platform: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place on a data platform, which this process then finds."""
    if platform == "hdfs":
        monkeypatch.syspath_prepend(installed())
        return f"{request.getfixturevalue('hdfs')}/{uuid.uuid4().hex}"
    for name, value in request.getfixturevalue("s3").items():
        monkeypatch.setenv(name, value)
    return f"{platform}://{BUCKET}/{uuid.uuid4().hex}"


PLATFORMS = [pytest.param(name, marks=pytest.mark.long) for name in ("s3a", "hdfs")]


@pytest.fixture(params=["disk", "memory", *PLATFORMS])
def files(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoreFiles:
    """An empty place."""
    if request.param in ("s3a", "hdfs"):
        return Files.at(address_of(request.param, request, monkeypatch))
    makers: dict[str, Callable[[], StoreFiles]] = {"disk": lambda: Files.at(str(tmp_path)), "memory": MemoryFiles}
    return makers[request.param]()


@pytest.fixture
def store(files: StoreFiles) -> FleetStore:
    return FleetStore(files)


def test_an_address_that_nothing_opens_is_refused_at_once_and_hadoop_s_name_of_a_store_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(WorkflowError, match="no store can be at ftp://"):
        Files.at("ftp://host/place")
    hadoop = Files.at("s3a://bucket/fleet")
    assert hadoop.address("runs") == "s3a://bucket/fleet/runs"
    monkeypatch.setattr(tables, "fs", SimpleNamespace(FileSystem=SimpleNamespace(from_uri=lambda uri: (uri, "base"))))
    assert hadoop._open() == ("s3://bucket/fleet", "base")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("s3://bucket/fleet?nowhere=1", "Unexpected query parameter"),
        ("abfs://account", "valid account name"),
        ("file://fleet", "cannot be relative"),
        ("hdfs://127.0.0.1:1/fleet", r"cannot be opened: .*lib[^\n]*$"),
    ],
)
def test_a_store_that_cannot_be_opened_is_a_reason_in_one_line(
    place: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", "/nowhere")
    for use in (FleetStore.run, FleetStore.drift, FleetStore.begun, lambda store: store.commit(_run("run-1"))):
        with pytest.raises(WorkflowError, match=why):
            use(FleetStore(Files.at(place)))


#: Half of a file is at the store when its writer is killed: a run's record, which would be the newest.
_WRITER = """
import sys, time
from reconciler.parts.fleet import tables

class Stream:
    def __init__(self, whole): self.whole = whole
    def __enter__(self): return self
    def __exit__(self, *_): self.whole.close()
    def write(self, data):
        self.whole.write(data[: len(data) // 2])
        self.whole.flush()
        print("half", flush=True)
        time.sleep(600)

class System:
    def __init__(self, whole): self.whole = whole
    def __getattr__(self, name): return getattr(self.whole, name)
    def open_output_stream(self, place): return Stream(self.whole.open_output_stream(place))

whole = tables.Files._open
tables.Files._open = lambda files: (System(whole(files)[0]), whole(files)[1])
tables.Files.at(sys.argv[1]).write("runs/run-2.json", b"x" * 20_000_000)
"""


@pytest.mark.parametrize("platform", ["disk", *PLATFORMS])
def test_a_killed_writer_leaves_nothing_that_is_read(
    platform: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path) if platform == "disk" else address_of(platform, request, monkeypatch)
    store = FleetStore(Files.at(place))
    store.commit(_run("run-1"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-c", _WRITER, place]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "half\n"
        writer.send_signal(signal.SIGKILL)
    assert store.run_ids() == ["run-1"]
    assert store.run() == _run("run-1")
    store.commit(_run("run-2"))
    assert store.run() == _run("run-2")


def test_a_file_is_read_as_it_was_written(files: StoreFiles) -> None:
    files.write("a/b/one", b"\x00first")
    files.write("a/b/one", b"second")
    assert files.read("a/b/one") == b"second"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bindings/taken=x/part.parquet", b"PAR1"),
        ("bindings/taken=x/part-0123456789abcdef0123456789abcdef.parquet", b"PAR1"),
        ("runs/x.json", b"{}"),
        ("runs/x.json", b'{"id":"x"}'),
        ("runs/x.json", b'{"digest":"' + b"0" * 64 + b'",}'),
        ("runs/x.json", b""),
    ],
)
def test_what_this_tool_did_not_write_is_damaged(name: str, data: bytes) -> None:
    with pytest.raises(DamagedError):
        checked(name, data)
    kept, written = with_digest(name, data or b"{}")
    assert checked(kept, written) == (data or b"{}")


def test_what_is_not_there_is_no_empty_file(files: StoreFiles) -> None:
    with pytest.raises(FileNotFoundError):
        files.read("a/none")
    with pytest.raises(FileNotFoundError):
        files.remove("a/none")
    assert (list(files.names("a")), list(files.names_by_age("a"))) == ([], [])


def test_a_directory_names_what_is_directly_in_it(files: StoreFiles) -> None:
    by_seconds = isinstance(files, Files) and files.root.startswith("s3")  # S3's clock counts no less
    for name in ("d/z", "d/a", "d/below/file", "other/x"):
        files.write(name, b"1")
        time.sleep(1.1 if by_seconds else 0.01)  # a file system's clock is coarse
    assert list(files.names("d")) == ["a", "below", "z"]
    # A directory of S3 has no age.
    assert [name for name in files.names_by_age("d") if name != "below" or not by_seconds] == [
        *("z", "a"),
        *([] if by_seconds else ["below"]),
    ]


def test_what_is_removed_is_gone_and_nothing_else(files: StoreFiles) -> None:
    for name in ("d/one", "d/two", "e/part/one", "e/part/two", "e/partner/one"):
        files.write(name, b"1")
    files.remove("d/one")
    files.remove_directory("e/part")
    assert (list(files.names("d")), list(files.names("e"))) == (["two"], ["partner"])


def _run(name: str, file: str = "") -> FleetRun:
    buckets = (Bucket(file, 1, "d", 1, 0, "d"),) if file else ()
    return FleetRun(name, "now", (Reading("c", "id", "now", "1", "s", buckets),), (Failure("gone", "code", "why"),))


def test_the_newest_run_unless_one_is_named(store: FleetStore) -> None:
    for name in ("run-1", "run-2"):
        store.commit(_run(name))
    assert store.run_ids() == ["run-1", "run-2"]
    assert (store.run(), store.run("run-1")) == (_run("run-2"), _run("run-1"))
    assert (store.before("run-2"), store.before("run-1")) == ("run-1", None)


def test_the_run_that_is_written_last_is_the_newest_though_clocks_differ(store: FleetStore) -> None:
    """By as much as clocks may; one that is further behind writes nothing, for nobody would look at it."""
    now = datetime.datetime(2026, 11, 27, 12, tzinfo=datetime.UTC)
    names = [run_name(store.next_time(now + datetime.timedelta(seconds=59)))]
    store.commit(_run(names[0]))
    for _ in range(2):
        names.append(run_name(store.next_time(now)))
        store.commit(_run(names[-1]))
    assert store.run() == _run(names[-1])
    assert store.run_ids() == names
    assert store.next_time(now + datetime.timedelta(hours=1)) == now + datetime.timedelta(hours=1)
    with pytest.raises(
        ClockError, match=r"runs/20261127T120059\S+ is of 2026-11-27T12:00:59Z, and it is 2026-11-27T11:59:00Z"
    ):
        store.next_time(now - datetime.timedelta(seconds=60))
    store.commit(_run("run-1"))  # no time, and behind every name that has one
    with pytest.raises(ClockError, match=r"runs/run-1\.json would count as newer than any run"):
        store.next_time(now + datetime.timedelta(hours=1))


def test_no_run_is_said_and_never_looks_empty(store: FleetStore) -> None:
    with pytest.raises(NoRunError, match="no snapshot of a fleet"):
        store.run()
    store.commit(_run("run-1"))
    with pytest.raises(NoRunError, match="there is no run other"):
        store.run("other")
    with pytest.raises(NoRunError, match="nothing has been compared"):
        store.drift()


def test_a_damaged_record_is_no_run(store: FleetStore) -> None:
    store.files.write("runs/run-1.json", b"{")
    with pytest.raises(HeaderError):
        store.run()


def test_a_file_that_this_tool_did_not_write_is_named(tmp_path: Path) -> None:
    store = FleetStore(Files.at(str(tmp_path)))
    store.commit(_run("run-1"))
    (tmp_path / "runs/run-1.json").write_text(run_text(_run("run-1")))
    with pytest.raises(DamagedError, match=r"runs/run-1\.json is not as it was written"):
        store.run()
    store.keep_compiled(_run("key"))
    (tmp_path / "compiled/key.json").write_bytes((tmp_path / "compiled/key.json").read_bytes()[:-1])
    assert store.compiled("key") is None  # it is compiled again


def test_what_was_compiled_is_found_by_its_key(store: FleetStore) -> None:
    assert store.compiled("key") is None
    store.keep_compiled(_run("key"))
    assert store.compiled("key") == _run("key")


def test_the_newest_comparison_of_a_run(store: FleetStore) -> None:
    for name in ("run-1-a", "run-1-b", "run-2-a"):
        store.keep_drift(name, FleetDrift(name, "now", 0, 0, 0, (ClusterDrift("c"),)))
        time.sleep(1.1 if isinstance(store.files, Files) and store.files.root.startswith("s3") else 0.01)
    newest, of_one = store.drift(), store.drift("run-1")
    assert (newest.run, of_one.run) == ("run-2-a", "run-1-b")


def test_old_runs_go_and_what_a_kept_one_names_stays(store: FleetStore) -> None:
    kept = store.files.write("bindings/taken=run-1/cluster=c/kept.parquet", b"1")
    store.files.write("bindings/taken=run-2/cluster=c/gone.parquet", b"1")
    store.files.write("bindings/taken=run-9/cluster=c/being-taken.parquet", b"1")
    store.commit(_run("run-2"))
    store.commit(_run("run-3", kept))
    for name in ("run-2-a", "run-3-a", "run-3-b"):
        store.keep_drift(name, FleetDrift(name, "now", 0, 0, 0, (ClusterDrift("c"),)))
    assert store.forget(["run-2", "run-3", "other"]) == ["run-2"]
    assert list(store.files.names("results")) == ["run=run-3-a", "run=run-3-b"]
    assert store.run_ids() == ["run-3"]
    assert list(store.files.names("bindings")) == ["taken=run-1", "taken=run-9"]
    store.commit(_run("run-4"))  # the newest one; those of others that stay keep what they name
    assert store.forget([]) == []
    assert list(store.files.names("bindings")) == ["taken=run-1", "taken=run-9"]


def test_what_a_run_has_read_is_forgotten_where_it_ends_and_no_other_one_that_goes_on(store: FleetStore) -> None:
    """Its driver may yet end, or another one go on with it; after a day neither comes."""
    began = datetime.datetime(2026, 11, 27, 12, tzinfo=datetime.UTC)
    own, other = run_name(began), run_name(began - datetime.timedelta(hours=23))
    given_up = run_name(began - datetime.timedelta(hours=25))
    for name in (own, other, given_up):
        store.note(name, Reading("c", "id-c", "then", "1", "s", ()))
    store.commit(FleetRun(own, "now", (Reading("c", "id-c", "now", "1", "s", ()),)))
    assert list(store.files.names("begun")) == [other]
    assert store.begun() == {}, "what the newest run has is newer"


def test_what_two_drivers_wrote_at_the_same_time_is_in_the_newest_run(store: FleetStore) -> None:
    """The one that ends last has looked before the other wrote, and is killed before it can look again."""
    began = [datetime.datetime(2026, 11, 27, 12, 0, second, tzinfo=datetime.UTC) for second in range(3)]
    first, slow, late = map(run_name, began)
    readings = {name: Reading(name, f"id-{name}", "then", "1", "s", ()) for name in "ab"}
    store.commit(FleetRun(first, "then", tuple(readings.values())))
    (reading, other) = (replace(readings[name], taken="now") for name in "ab")
    store.commit(FleetRun(slow, "now", (reading,)), lambda _: True)
    killed = FleetRun(late, "now", (readings["a"], other), read_by={first: ("a",)}, over=(first,))
    store.files.write(f"runs/{late}.json", run_text(killed).encode())
    assert store.run().readings == (reading, other)
    # A partial run takes both over, and stands behind all of them though it began before.
    third = store.commit(FleetRun(slow, "now", (), (Failure("c", "code", "why"),)), lambda _: True)
    assert store.run_ids()[-1] == third.id
    assert (third.readings, third.failures) == ((reading, other), (Failure("c", "code", "why"),))
    assert store.forget(store.run_ids()) == [first, slow, late]
    assert store.run() == third


def test_what_others_put_into_a_store_holds_up_no_run(tmp_path: Path) -> None:
    """Files of people, and markers of directories that S3's tools leave."""
    store = FleetStore(Files.at(str(tmp_path)))
    old = "20200101T000000.000000Z-00000000"
    store.commit(_run(old))
    foreign = [f"begun/{old}", "begun/00README", "results/junk", "compiled/junk", "bindings/0"]
    foreign += [f"bindings/taken={old}_$folder$", f"results/run={old}_$folder$"]
    for name in foreign:
        store.files.write(name, b"theirs")
    store.keep_drift("run-1-a", FleetDrift("run-1-a", "now", 0, 0, 0, (ClusterDrift("c"),)))
    for name in foreign[2:]:
        os.utime(tmp_path / name)  # newer than what is compared
    assert store.drift().run == "run-1-a"
    later = run_name(datetime.datetime(2026, 11, 28, tzinfo=datetime.UTC))
    store.note(later, Reading("c", "id", "now", "1", "s", ()))
    new = store.commit(_run(later))
    assert new.id not in store.files.names("begun")  # though others before it could not be removed
    assert store.run_ids() == [old, new.id]
    assert store.forget([old]) == [old]
    assert all((tmp_path / name).exists() for name in foreign)


def test_a_run_is_written_where_nothing_may_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a login that may put a bucket's objects and not delete them: nobody says that the run is not there."""
    store = FleetStore(Files.at(str(tmp_path)))
    store.note("run-1", Reading("c", "id", "now", "1", "s", ()))

    def refused(*_: object) -> None:
        raise PermissionError("AccessDenied: s3:DeleteObject")

    monkeypatch.setattr(Files, "remove_directory", refused)
    assert store.commit(_run("run-1")) == store.run() == _run("run-1")
    assert not store.begun()


def test_all_of_a_month_stays_then_one_a_day_then_one_a_week() -> None:
    """A reading every six hours for eight years: which stay is decided by their ages alone, and again the same."""
    now = datetime.datetime(2034, 1, 1, tzinfo=datetime.UTC)
    times = [now - datetime.timedelta(hours=6 * number) for number in range(8 * 365 * 4)][::-1]
    names = [f"{time:%Y%m%dT%H%M%S.%fZ}-aa" for time in times]
    stays = thinned(names, now, 30)
    ages = [(now - times[names.index(name)]).days for name in stays]
    assert len([age for age in ages if age < 30]) == 30 * 4
    assert 330 <= len([age for age in ages if 31 <= age <= 365]) <= 336
    assert 305 <= len([age for age in ages if age > 365]) <= 320
    assert max(ages) <= 7 * 52 * 7
    assert thinned(stays, now, 30) == stays
    assert thinned(["other", *names[:1]], now, 0) == ["other", names[0]]
