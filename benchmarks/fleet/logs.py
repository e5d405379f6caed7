"""Reading authorizer logs, against Spark's bare scan of the same text in one run.

Run: ``python -m benchmarks.fleet.logs [LINES]``; four million lines by default, 400 bytes each, in files of a day
for each of four clusters, two local cores. Ours parses, counts, judges 29,100 bindings of each cluster and replays a
change; the scans count lines, and lines that tell of a refusal. The session is warm; its start is told apart.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from reconciler.model.scope import Scope
from reconciler.model.state import ClusterState
from reconciler.parts.evidence.usage.cluster import UsageQuestion
from reconciler.parts.fleet.readings import Place, write_live
from reconciler.parts.fleet.spark.engine import SparkEngine
from reconciler.parts.fleet.spark.session import spark_session
from reconciler.parts.fleet.store import FleetStore
from reconciler.parts.fleet.tables import store_at
from reconciler.parts.fleet.tasks.logs import LogFindings, LoggedCluster, LogPart, find_parts, read_logs

_CLUSTERS: Final = 4
_DAYS: Final = 2
_ACCESSES: Final = 5_000
_TEAMS, _USERS = 97, 300


def messages() -> list[str]:
    """What happens on a cluster again and again; one in twenty is refused."""
    return [_refused(number) if number % 20 == 0 else _permitted(number) for number in range(_ACCESSES)]


def _head(number: int, verdict: str, operation: str) -> str:
    return (
        f"Principal = User:svc-{number % _USERS} is {verdict} operation = {operation} "
        f"from host = 10.0.{number % 250}.7 "
        f"on resource = Topic:LITERAL:team-{number % _TEAMS}.orders-{number} for request = "
    )


def _permitted(number: int) -> str:
    acl = (
        f"resourceType=TOPIC, resourceName=team-{number % _TEAMS}., patternType=PREFIXED, "
        f"principal=User:svc-{number % _USERS}, host=*, operation=READ, permissionType=ALLOW"
    )
    head = _head(number, "Allowed", "READ")
    return f"DEBUG {head}Fetch with resourceRefCount = 1 based on rule MatchingAcl(acl=StandardAcl[{acl}])"


def _refused(number: int) -> str:
    head = _head(number, "Denied", "WRITE")
    return f"INFO {head}Produce with resourceRefCount = 1 based on rule DefaultDeny"


def log_lines(day: int, count: int, seed: int) -> Iterator[str]:
    """A day of one broker."""
    known, draw = messages(), random.Random(seed)  # noqa: S311 - not for secrets
    for number in range(count):
        second = number * 86_400 // count
        time_of_day = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d},{number % 1000:03d}"
        yield f"[2026-11-{day:02d} {time_of_day}] {known[draw.randrange(_ACCESSES)]} (kafka.authorizer.logger)\n"


def subject(store: FleetStore, name: str) -> LoggedCluster:
    """A cluster with a grant for everybody of every team; tried is what happens without one team's."""
    bindings = frozenset(
        AclBinding(
            ResourcePattern(ResourceType.TOPIC, f"team-{team}.", PatternType.PREFIXED),
            AccessControlEntry(f"User:svc-{user}", "*", AclOperation.READ, AclPermissionType.ALLOW),
        )
        for team in range(_TEAMS)
        for user in range(_USERS)
    )
    reading = write_live(ClusterState(name, bindings), Scope(), Place(store.files, "taken=now", name, "0"), "now")
    removed = tuple(binding for binding in bindings if binding.pattern.name == "team-7.")
    return LoggedCluster(name, live=reading, default_allow=False, planned=True, removed=removed)


def written(directory: Path, lines: int) -> list[LogPart]:
    """The logs of all clusters; their parts."""
    for number in range(_CLUSTERS):
        (directory / f"c{number}").mkdir(parents=True)
        for day in range(1, _DAYS + 1):
            with (directory / f"c{number}" / f"kafka-authorizer.log.2026-11-{day:02d}").open("w") as file:
                file.writelines(log_lines(day, lines // _CLUSTERS // _DAYS, day))
    return [part for number in range(_CLUSTERS) for part in find_parts(f"c{number}", str(directory / f"c{number}"))]


def scanned(session: SparkSession, directory: Path, *, refusals: bool = False) -> int:
    """Lines, or those with a refusal, by Spark's text source."""
    frame = session.read.option("recursiveFileLookup", "true").text(str(directory))
    return int((frame.where(frame.value.contains(" is Denied ")) if refusals else frame).count())


def main(lines: int) -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as place:
        directory, store = Path(place) / "logs", store_at(f"{place}/store")
        parts = written(directory, lines)
        subjects = [subject(store, f"c{number}") for number in range(_CLUSTERS)]
        size = sum(part.size for part in parts)
        print(f"{lines:,} lines, {size / 1e6:,.0f} MB, {_CLUSTERS} clusters")
        start = time.perf_counter()
        with spark_session("local[2]") as session:
            print(f"{'session start':34}{time.perf_counter() - start:9.2f} s")

            def read(files: list[LogPart]) -> Any:
                return read_logs(SparkEngine(session), store.files, files, subjects, UsageQuestion())

            read([replace(parts[0], end=1)])
            scanned(session, directory)
            bare, count = timed("Spark: count lines", lambda: scanned(session, directory), 2)
            own, told = timed("fleet usage", lambda: read(parts), 2)
            finding, refused = timed("Spark: count refusals", lambda: scanned(session, directory, refusals=True), 2)
            judging, _ = timed("fleet usage without a log", lambda: read([]), 2)
        _check(told, count, refused)
        print(f"{lines / own / 1e6:.2f} million lines a second; {lines / (own - judging) / 1e6:.2f} without judging")
        print(f"against Spark's count of lines {own / bare:.2f}×, of refusals {own / finding:.2f}×")


def timed(what: str, work: Callable[[], Any], times: int) -> tuple[float, Any]:
    """The quickest of some runs, printed, and what it gave."""
    best, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    print(f"{what:34}{best:9.2f} s", flush=True)
    return best, result


def _check(told: LogFindings, count: int, refused: int) -> None:
    found = sum(usage.allowed + usage.denied for usage in told.clusters)
    if (found, sum(usage.denied for usage in told.clusters)) != (count, refused):
        raise AssertionError(f"answers differ: {found} decisions in {count} lines")


if __name__ == "__main__":
    main(int((*sys.argv[1:], "4000000")[0]))
