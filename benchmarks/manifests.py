"""What reading manifests costs, against libyaml alone loading the same text in the same run.

Run: ``python -m benchmarks.manifests``. Rows: 10,000 bindings, 1,000 principals × (3 topics × 3 operations + a group);
100,000 bindings as 1,000 documents × 10 rules × 10 names. Columns: seconds of CPU time, the least of three runs; the
ratio is to ``yaml.CSafeLoader``, which checks nothing and keeps no places.
"""

import datetime
import gc
import time
from collections.abc import Callable

import yaml

from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source

_CLUSTER = Source("cluster.yaml", "apiVersion: reconciler/v1\nkind: Cluster\nmetadata: {name: c}\nspec: {}\n")
_DAY = datetime.date(2027, 1, 1)
_HEAD = """apiVersion: reconciler/v1
kind: Acls
metadata: {{name: team-{0}}}
spec:
  principal: User:svc-{0}
  rules:
"""


def principals(count: int) -> str:
    """Ten bindings for each principal."""
    topics = "    - {{allow: [READ, WRITE, DESCRIBE], topics: [t{0}.a, t{0}.b, t{0}.c]}}\n"
    rules = topics + "    - {{allow: READ, groups: [g{0}]}}\n"
    return "---\n".join((_HEAD + rules).format(number) for number in range(count))


def names(count: int) -> str:
    """A hundred bindings for each document."""
    rules = "".join(
        f"    - allow: READ\n      topics: [{', '.join(f't{{0}}.r{rule}.{name}' for name in range(10))}]\n"
        for rule in range(10)
    )
    return "---\n".join((_HEAD + rules).format(number) for number in range(count))


def least(action: Callable[[], object]) -> float:
    """CPU seconds of the fastest of three runs."""
    seconds = []
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    """Prints one row for each text."""
    print(f"{'bindings':>9} {'CSafeLoader':>12} {'load':>7} {'desired':>8} {'ratio':>6}")
    for text in (principals(1_000), names(1_000)):
        row(text)


def row(text: str) -> None:
    """One row."""
    sources = [Source("acls.yaml", text), _CLUSTER]
    manifests = load(sources)
    bindings = len(desired_state(manifests, "c", _DAY).bindings)
    bare = least(lambda: list(yaml.load_all(text, yaml.CSafeLoader)))
    read = least(lambda: load(sources))
    want = least(lambda: desired_state(manifests, "c", _DAY))
    print(f"{bindings:>9,} {bare:>12.3f} {read:>7.3f} {want:>8.3f} {(read + want) / bare:>6.2f}")


if __name__ == "__main__":
    main()
