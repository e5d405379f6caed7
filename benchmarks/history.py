"""A question about the past of one cluster: ten thousand ACLs, five years, a change every few hours."""

import datetime
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

from reconciler.model.acl import AclBinding
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState, FactSource, StatedFacts
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.history.evidence import acl_fact
from reconciler.parts.history.intervals import Cause, FactSighting, Interval
from reconciler.parts.history.table import FactRow, IntervalTable
from reconciler.parts.history.update import FreshReading, history_of, keep_reading
from tests.worlds import binding

_BEGIN: Final = datetime.datetime(2021, 1, 1, tzinfo=datetime.UTC)
_YEARS: Final = 5
#: Five of a hundred ACLs change in a month.
_CHANGES: Final = 60 * 500
#: Half of what is there at a time was there from the beginning; the rest stays for ten months, on average.
_ALWAYS: Final = 5_000
_LONGEST: Final = 2 * 300 * 86_400
_STATED: Final = StatedFacts(("User:admin",), FactSource.OPERATOR, False, FactSource.OPERATOR)


def acls(number: int) -> list[AclBinding]:
    """So many ACLs, of hundreds of principals on thousands of topics."""
    return [binding(f"User:svc-{n % 700} ALLOW READ on TOPIC team-{n % 90}.topic-{n}") for n in range(number)]


def rows(bindings: list[AclBinding], begin: int, end: int) -> Iterator[FactRow]:
    """Intervals of five years: each ACL was there from the beginning, or came and went."""
    random = Random(1)  # noqa: S311
    for number, one in enumerate(bindings):
        if number < _ALWAYS:
            yield FactRow(acl_fact(one), Interval(None, begin, None, None))
        else:
            at = random.randrange(begin, end)
            last = min(end, at + random.randrange(_LONGEST))
            began, ended = Cause(f"run-{number}", sure=True, at=at), Cause(f"run-{number}-e", sure=True, at=last)
            yield FactRow(acl_fact(one), Interval(at - 70, at + 61, last - 70, last + 61, began, ended), "OPS-1")


def measure() -> dict[str, float]:
    """Processor seconds of the commands as a person types them, the start of Python included."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory, "readings")
        store, bindings = store_at(str(place)), acls(_ALWAYS + _CHANGES)
        live = frozenset(bindings[:_ALWAYS])
        for at in (_BEGIN, _BEGIN + datetime.timedelta(days=365 * _YEARS)):
            keep_reading(store, FreshReading("prod", ClusterState("id", live, stated=_STATED), Scope(), at, at))
        found = history_of(store, "prod", {}, 1)
        table = IntervalTable(store.files, "prod", "id")
        begin, end = found.coverage.first["acls"][1], found.coverage.last["acls"][0]
        history = list(rows(bindings, begin, end))
        runs = {f"run-{n}{e}": {"operator": "ci"} for n in range(_ALWAYS, len(bindings)) for e in ("", "-e")}
        kept = {row.fact: [FactSighting(begin, begin + 1, False)] for row in history[_ALWAYS:]}
        table.add(history, kept, replace(found.coverage, runs=runs), 2)
        connections = Path(directory, "connections.yaml")
        connections.write_text(
            "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: prod}\n"
            "spec: {bootstrapServers: 127.0.0.1:1, allowEveryoneIfNoAclFound: false, kafkaVersion: '4.1'}\n"
        )
        where = ["--cluster", "prod", "--store", str(place)]
        asked = ["--as-of", "2024-03-01", "--connections", str(connections)]
        who_can = ["who-can", "READ", "topic/team-7.topic-7", *where, *asked]
        return {
            "who-can --as-of": _seconds(who_can),
            "history topic": _seconds(["history", "topic/team-7.topic-7", *where]),
        }


def _seconds(arguments: list[str]) -> float:
    taken = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "reconciler", *arguments], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return sorted(taken[1:])[1]


def main() -> None:
    """Print what was measured."""
    for name, seconds in measure().items():
        print(f"{name}: {seconds:.2f} s of a processor (median of 3 warm runs)")


if __name__ == "__main__":
    main()
