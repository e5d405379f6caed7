"""What manifests desire of each cluster, compiled in tasks to the same rows as what was read.

Compiled once for the same texts, day and version: the key says which. Manifests are read once in each worker.
"""

import datetime
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from reconciler import __version__
from reconciler.manifest.manifests import Manifests, desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.manifest.read.problem import ManifestError, render_problem
from reconciler.model.desired import moment_text
from reconciler.parts.fleet.engine import CLUSTERS_IN_A_TASK, Engine
from reconciler.parts.fleet.membership import partition
from reconciler.parts.fleet.readings import Place, write_desired
from reconciler.parts.fleet.store import FleetStore
from reconciler.results.fleet_drift import Failure, FleetRun, failure_text, parse_failure, parse_reading, reading_text

_FAILED: Final = "!"


def compile_desired(
    engine: Engine,
    store: FleetStore,
    sources: Sequence[Source],
    clusters: Sequence[str],
    as_of: datetime.date,
) -> FleetRun:
    """What is desired of ``clusters``; one whose manifests do not fit it is a failure of the run."""
    key = compiled_key(sources, clusters, as_of)
    known = store.compiled(key)
    if known is not None:
        return known
    lists = partition(list(clusters), [1] * len(clusters), engine.task_count(len(clusters), CLUSTERS_IN_A_TASK))
    work = partial(_compile_all, store=store, key=key, as_of=as_of, texts=tuple(sources))
    lines = engine.run(lists, work, "compile manifests")
    failures = tuple(parse_failure(line.removeprefix(_FAILED)) for line in lines if line.startswith(_FAILED))
    readings = tuple(parse_reading(line) for line in lines if not line.startswith(_FAILED))
    run = FleetRun(key, moment_text(as_of), readings, failures)
    store.keep_compiled(run)
    return run


def compiled_key(sources: Sequence[Source], clusters: Sequence[str], as_of: datetime.date) -> str:
    """What the outcome depends on, as a name."""
    found = hashlib.sha256(json.dumps([__version__, moment_text(as_of), sorted(clusters)]).encode())
    for source in sorted(sources):
        for text in source:
            found.update(len(text).to_bytes(8, "little") + text.encode("utf-8", "surrogatepass"))
    return found.hexdigest()[:32]


def _compile_all(
    clusters: Sequence[str],
    attempt: str,
    *,
    store: FleetStore,
    key: str,
    as_of: datetime.date,
    texts: tuple[Source, ...],
) -> Iterator[str]:
    manifests = loaded(texts)
    for name in clusters:
        try:
            desired = desired_state(manifests, name, as_of)
        except ManifestError as error:
            message = "\n\n".join(render_problem(problem) for problem in error.problems)
            failure = Failure(name, "invalid_manifests", message, "`reconciler validate` shows the same")
            yield _FAILED + failure_text(failure)
            continue
        place = Place(store.files, f"key={key}", name, attempt)
        yield reading_text(write_desired(desired, manifests.clusters[name].scope, place, moment_text(as_of)))


@lru_cache(maxsize=1)
def loaded(sources: tuple[Source, ...]) -> Manifests:
    """The manifests, read once in each worker: workers are used again, and texts are equal by value."""
    return load(sources)
