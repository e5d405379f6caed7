"""``tighten`` on generated logs with seasonal jobs: what it finds, what it breaks later, what it costs.

Run: ``python -m benchmarks.tighten [DECISIONS [SERVICES]]``; ten million decisions of 200 services by default, 120
days, one process, 2.4 GB of files in the temporary directory. Recall: of the requests that rules permit and no job ever
makes, the share that is refused afterwards; of services that the bounds let lose anything. Broken: accesses of the next
120 days that were permitted before and are refused afterwards. Those of yearly jobs without ``keep`` are counted apart:
a window of a quarter does not show them, and the bounds admit that.
"""

import datetime
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.tighten_logs import CLUSTER, FIRST, World, world, write_logs
from reconciler.access.authorizer import Authorizer
from reconciler.app.options import ConnectionOptions, StateRequest
from reconciler.manifest.manifests import desired_state, load
from reconciler.manifest.read.findings import Source
from reconciler.parts.evidence.app.tighten import Tightening, TightenOptions, tighten

DAYS: Final = 120
_FACTS: Final = CLUSTER.replace("spec: {", "spec: {allowEveryoneIfNoAclFound: false, ")


class Outcome(NamedTuple):
    """What came of one run; ``cpu`` is processor time in seconds.

    ``removable`` and ``removed`` count requests, ``broken`` and ``admitted`` distinct accesses of the ``later`` ones.
    """

    decisions: int
    found: Tightening
    seconds: float
    cpu: float
    removable: int
    removed: int
    later: int
    broken: int
    admitted: int

    @property
    def recall(self) -> float:
        """The share of removable rights that is removed."""
        return self.removed / self.removable


def measured(place: Path, services: int, decisions: int) -> Outcome:
    """Generate manifests and logs below a directory, tighten, and hold the result against the next months."""
    generated = world(services, FIRST, 2 * DAYS)
    (place / "manifests").mkdir()
    (place / "manifests" / "all.yaml").write_text(generated.manifests(), encoding="utf-8")
    (place / "facts.yaml").write_text(_FACTS, encoding="utf-8")
    (place / "logs").mkdir()
    written = write_logs(place / "logs", generated, FIRST, DAYS, decisions)
    last = FIRST + datetime.timedelta(days=DAYS)
    start, cpu = time.perf_counter(), time.process_time()
    found = tighten(
        StateRequest(str(place / "manifests"), as_of=last),
        [str(place / "logs")],
        TightenOptions(any_age=True),
        ConnectionOptions(connections=str(place / "facts.yaml")),
    )
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return _held_out(generated, written, found)._replace(seconds=seconds, cpu=cpu)


def _held_out(generated: World, written: int, found: Tightening) -> Outcome:
    before, after = rights(generated.manifests()), rights(found.edit.files.get("all.yaml") or generated.manifests())
    unused = [request for service in generated.services for request in service.unused]
    allowed = [request for request, may in zip(unused, before.permits(unused), strict=True) if may]
    days = (FIRST + datetime.timedelta(days=number) for number in range(DAYS, 2 * DAYS))
    later = list({request: None for day in days for request in generated.accesses(day)})
    both = zip(later, before.permits(later), after.permits(later), strict=True)
    failing = [request for request, was, now in both if was and not now]
    yearly = [request for request in failing if request.resource_name.endswith(".year")]
    return Outcome(
        written,
        found,
        0.0,
        0.0,
        len(allowed),
        after.permits(allowed).count(False),
        len(later),
        len(failing) - len(yearly),
        len(yearly),
    )


def rights(manifests: str) -> Authorizer:
    """What manifests declare."""
    return Authorizer(desired_state(load([Source("all.yaml", manifests)]), "demo", FIRST).bindings)


def main(decisions: int = 10_000_000, services: int = 200) -> None:
    """Prints one run."""
    with tempfile.TemporaryDirectory() as place:
        found = measured(Path(place), services, decisions)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    declared = len(found.found.places)
    print(f"{found.decisions:,} decisions of {services:,} services with {declared:,} bindings, {DAYS} days")
    print(f"{found.seconds:.1f} s, {found.cpu:.1f} s of processor time, peak {peak:,.0f} MiB")
    print(f"recall {found.recall:.3f}: {found.removed:,} of {found.removable:,} removable rights")
    print(f"narrowings {len(found.found.narrowings):,}, rights that stay with a reason {len(found.found.held):,}")
    print(f"next {DAYS} days: {found.broken:,} of {found.later:,} distinct accesses broken")
    print(f"admitted by the bounds, yearly jobs without keep: {found.admitted:,}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
