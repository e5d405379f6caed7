"""Every byte of evidence: a changed, cut or swapped file is found, whichever it is and wherever it is hit."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from reconciler.apply.environment import Outcome
from reconciler.parts.fleet.readings import read_live
from reconciler.parts.fleet.store import DamagedError, FleetStore, checked
from reconciler.parts.history.intervals import Cause
from reconciler.parts.history.table import IntervalTable, TableError
from reconciler.parts.history.update import History, history_of
from reconciler.results.audit import broken_at
from tests.unit.history.world import CLUSTER_ID, START, read, run_records, store, write_log
from tests.worlds import binding

GIVEN = binding("User:a ALLOW READ on TOPIC x")
STAYS = binding("User:b ALLOW READ on TOPIC x")
KNOWN = int(START.timestamp()) + 86_400


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with readings, one of them confirmed, a log, and a table that was derived in three steps."""
    root = tmp_path_factory.mktemp("evidence")
    place = store(root / "store")
    for number in range(1, 4):
        given = f"run-{number}"
        read(place, [STAYS], number * 10_000)
        read(place, [STAYS, GIVEN], number * 10_000 + 3_000)
        read(place, [STAYS, GIVEN], number * 10_000 + 6_000)
        steps = [(number * 10_000 + 2_000, GIVEN, True, Outcome.DONE)]
        write_log(root / f"{number}.jsonl", run_records(given, number * 10_000 + 1_900, steps), name=f"{number:032d}")
        asked(root, place, number)
    return root


def asked(root: Path, place: FleetStore, until: int = 3) -> History:
    logs = {f"{number}.jsonl": (root / f"{number}.jsonl").read_bytes().splitlines() for number in range(1, until + 1)}
    return history_of(place, "prod", logs, KNOWN + until)


def files(root: Path) -> list[str]:
    """The files of the store by their names in it."""
    return sorted(str(one.relative_to(root / "store")) for one in (root / "store").rglob("*") if one.is_file())


def damaged(data: bytes) -> Iterator[bytes]:
    """One bit of each byte turned, proper beginnings, and a byte at the end."""
    for place in range(len(data)):
        yield data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :]
        if place % 16 == 0:
            yield data[:place]
    yield data + b"\0"


def test_every_byte_of_every_file_of_a_store_is_covered_by_a_digest(kept: Path) -> None:
    names = files(kept)
    assert {name.partition("/")[0] for name in names} == {"runs", "bindings", "confirmed", "intervals", "sightings"}
    for name in names:
        checked(name, (kept / "store" / name).read_bytes())
    for name in {name.partition("/")[0]: name for name in names}.values():
        for wrong in damaged((kept / "store" / name).read_bytes()):
            with pytest.raises(DamagedError, match="not as it was written"):
                checked(name, wrong)


def test_a_file_in_the_place_of_another_one_is_found(kept: Path) -> None:
    """All of one kind, each with the bytes of its neighbour: a run of another run, a reading of another one."""
    for one, other in pairwise(files(kept)):
        if (data := (kept / "store" / other).read_bytes()) != (kept / "store" / one).read_bytes():
            with pytest.raises(DamagedError):
                checked(one, data)
    place = store(kept / "store")
    written = place.files.write("confirmed/cluster=a.json", b'{"taken":"x"}')
    with pytest.raises(DamagedError):
        checked("confirmed/cluster=b.json", (kept / "store" / written).read_bytes())
    place.files.remove(written)


def test_what_is_damaged_or_gone_ends_the_question_with_its_name(kept: Path, tmp_path: Path) -> None:
    """Each file in turn: the history says which, or does not need it, and then says what it said before."""
    expected = asked(kept, store(kept / "store")).rows()
    needed = set()
    names = files(kept)
    first, last = ({one.partition("/")[0]: one for one in order} for order in (names[::-1], names))
    for name in {*first.values(), *last.values()}:
        for change in ("flip", "gone"):
            root = tmp_path / f"{change}-{name.replace('/', '-')}"
            shutil.copytree(kept, root)
            file = root / "store" / name
            data = file.read_bytes()
            if change == "flip":
                file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
            else:
                file.unlink()
            try:
                rows = asked(root, store(root / "store")).rows()
            except (TableError, OSError) as error:
                said = str(error)
                needed.add((change, name.partition("/")[0]))
            else:
                said = name
                assert sorted(map(repr, rows)) == sorted(map(repr, expected)), (change, name)
            assert name in said
            shutil.rmtree(root)
    assert needed >= {("flip", "runs"), ("flip", "confirmed"), ("flip", "intervals"), ("gone", "intervals")}


def test_derived_again_each_reading_is_read_and_found(kept: Path, tmp_path: Path) -> None:
    for name in [one for one in files(kept) if one.startswith(("bindings", "runs"))]:
        root = tmp_path / name.replace("/", "-")
        shutil.copytree(kept, root)
        for derived in ("intervals", "sightings"):
            shutil.rmtree(root / "store" / derived)
        file = root / "store" / name
        file.write_bytes(file.read_bytes().replace(b"r", b"s", 1) + b" ")
        with pytest.raises(DamagedError, match=name):
            asked(root, store(root / "store"))


def test_every_byte_of_a_log_but_its_last_line_is_covered_by_the_chain(kept: Path, tmp_path: Path) -> None:
    """A changed line counts for nothing, and neither does what follows it; the log is named."""
    root = tmp_path / "root"
    shutil.copytree(kept, root)
    for derived in ("intervals", "sightings"):
        shutil.rmtree(root / "store" / derived)
    place = store(root / "store")
    sound = (root / "1.jsonl").read_bytes().splitlines()
    of_runs = [
        bool(row.interval.began.run) for row in history_of(place, "prod", {"l": sound}, KNOWN, keep=False).rows()
    ]
    assert any(of_runs)
    whole = b"\n".join(sound)
    for at in range(whole.rindex(b"\n")):
        lines = (whole[:at] + bytes([whole[at] ^ 2]) + whole[at + 1 :]).split(b"\n")
        assert broken_at(lines) is not None, at
        if at % 101:
            continue
        found = history_of(place, "prod", {"l": lines}, KNOWN, keep=False)
        assert any(note.startswith("l: line ") for note in found.notes), at
        assert all(row.interval.began.run in ("", "run-1") for row in found.rows())
        if at < whole.index(b"\n"):
            assert all(row.interval.began == Cause() for row in found.rows())


def test_a_write_that_was_cut_short_leaves_the_table_as_it_was(kept: Path, tmp_path: Path) -> None:
    """Sightings without intervals, and a file that nothing names: neither counts, whatever it holds."""
    root = tmp_path / "root"
    shutil.copytree(kept, root)
    place = store(root / "store")
    table = IntervalTable(place.files, "prod", CLUSTER_ID)
    before = sorted(map(repr, table.rows()))
    kept_files = place.files.names(f"sightings/cluster=prod/id={CLUSTER_ID}")
    stray = place.files.read(f"sightings/cluster=prod/id={CLUSTER_ID}/{kept_files[0]}")
    place.files.write(f"sightings/cluster=prod/id={CLUSTER_ID}/000000099-1.parquet", stray)
    (root / "store/intervals/cluster=prod" / f"id={CLUSTER_ID}" / ".half").write_bytes(b"PAR1")
    assert sorted(map(repr, table.rows())) == before
    assert sorted(map(repr, asked(root, place).rows())) == before


def test_many_files_are_put_together_and_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.parts.history.table._MOST_FILES", 4)
    place = store(tmp_path)
    for number in range(13):
        read(place, [STAYS] if number % 2 else [STAYS, GIVEN], number * 300)
        found = history_of(place, "prod", {}, KNOWN + number)
    derived = sorted(map(repr, found.rows()))
    assert len(place.files.names(f"intervals/cluster=prod/id={CLUSTER_ID}")) <= 5
    assert len(place.files.names(f"sightings/cluster=prod/id={CLUSTER_ID}")) <= 5
    for name in ("intervals", "sightings"):
        shutil.rmtree(tmp_path / name)
    assert sorted(map(repr, history_of(place, "prod", {}, KNOWN).rows())) == derived
    newest = place.run().reading("prod")
    assert newest is not None
    assert read_live(place.files, newest).bindings == {STAYS, GIVEN}
