"""What a million ACL bindings cost, against as many plain 7-tuples in the same run.

Run: ``python -m benchmarks.model [COUNT]``. Each row is one operation over all bindings: seconds, microseconds for
one, and the ratio to the plain tuples. Bytes are what ``tracemalloc`` counts while the bindings are built, so patterns
and entries that several bindings share are counted once, as in a real reading.
"""

import gc
import math
import pickle
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

from reconciler.model.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourceType,
)

_OPERATIONS = [AclOperation(code) for code in range(3, 13)]
_ALLOW, _TOPIC = AclPermissionType.ALLOW, ResourceType.TOPIC


class Row(NamedTuple):
    """Where the texts of one binding come from."""

    name: str
    principal: str
    operation: AclOperation


def texts(count: int) -> list[Row]:
    """Ten operations on each of ``count / 10`` topics, for a thousand principals."""
    names = [f"team-{number % 300}.topic-{number}" for number in range(count // 10 + 1)]
    principals = [f"User:service-{number}" for number in range(1_000)]
    return [Row(names[n // 10], principals[n // 10 % 1_000], _OPERATIONS[n % 10]) for n in range(count)]


def plain(row: Row) -> tuple[object, ...]:
    """Seven fields in one tuple."""
    return (2, row.name, 3, row.principal, "*", int(row.operation), 3)


def own(row: Row) -> AclBinding:
    """A binding with a pattern and an entry of its own."""
    pattern = ResourcePattern(_TOPIC, row.name, PatternType.LITERAL)
    return AclBinding(pattern, AccessControlEntry(row.principal, "*", row.operation, _ALLOW))


def shared(rows: list[Row]) -> list[AclBinding]:
    """Bindings as a reader makes them: equal patterns and equal entries are one object each."""
    patterns: dict[str, ResourcePattern] = {}
    entries: dict[tuple[str, AclOperation], AccessControlEntry] = {}
    found = []
    for name, principal, operation in rows:
        pattern = patterns.get(name) or patterns.setdefault(name, ResourcePattern(_TOPIC, name))
        key = (principal, operation)
        entry = entries.get(key) or entries.setdefault(key, AccessControlEntry(principal, "*", operation, _ALLOW))
        found.append(AclBinding(pattern, entry))
    return found


def measured(rows: list[Row], build: Callable[[list[Row]], list[Any]]) -> dict[str, float]:
    """Seconds by operation, and bytes for one item."""
    return seconds(rows, build) | {"bytes": bytes_each(rows, build)}


def seconds(rows: list[Row], build: Callable[[list[Row]], list[Any]]) -> dict[str, float]:
    """What each operation took over all items."""
    costs: dict[str, float] = {}
    items = timed(costs, "build", lambda: build(rows))
    first = timed(costs, "hash into a set", lambda: set(items))
    # Built anew, as desired and live bindings are: equal, and not the same objects.
    other = set(build(rows[len(rows) // 100 :]))
    timed(costs, "set difference", lambda: first - other)
    timed(costs, "sort", lambda: sorted(first))
    data = timed(costs, "pickle", lambda: pickle.dumps(items, protocol=5))
    timed(costs, "unpickle", lambda: pickle.loads(data))  # noqa: S301 - our own bytes
    return costs


def bytes_each(rows: list[Row], build: Callable[[list[Row]], list[Any]]) -> float:
    """What one item adds to memory, its place in a list included and its texts left out."""
    gc.collect()
    tracemalloc.start()
    kept = build(rows)
    size = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    return size


def timed(costs: dict[str, float], what: str, work: Callable[[], Any]) -> Any:
    """Runs ``work`` three times and notes the seconds of the quickest, garbage collection left out."""
    result = None
    for _ in range(3):
        result = None
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        result = work()
        costs[what] = min(costs.get(what, math.inf), time.perf_counter() - start)
        gc.enable()
    return result


def main(count: int) -> None:
    """Prints the table."""
    rows = texts(count)
    tuples = measured(rows, lambda rows: [plain(row) for row in rows])
    forms = {
        "own parts": measured(rows, lambda rows: [own(row) for row in rows]),
        "shared parts": measured(rows, shared),
    }
    print(f"{count:,} bindings, CPython {sys.version.split()[0]}")
    print(f"{'':18}{'7-tuple':>12}" + "".join(f"{form:>24}" for form in forms))
    for what, plain_cost in tuples.items():
        scale, unit = (1.0, "B") if what == "bytes" else (1e6 / count, "µs")
        cells = (f"{cost[what] * scale:12.2f} {unit} {cost[what] / plain_cost:6.2f}×" for cost in forms.values())
        print(f"{what:18}{plain_cost * scale:9.2f} {unit}" + "".join(f"{cell:>24}" for cell in cells))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
