"""Faults at random places, and the share that quick tests notice (``make mutants``)."""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.running import Running
from tests.mutants.sites import Site, package_of, sample

#: How the paths of the files of each begin; a file is of the longest one.
PACKAGES: Final = (
    "reconciler/access/",
    "reconciler/plan/",
    "reconciler/apply/",
    "reconciler/manifest/",
    "reconciler/manifest/guardrail",
    "reconciler/policy/",
    "reconciler/parts/convert/",
    "reconciler/parts/edit/",
    "reconciler/parts/evidence/",
    "reconciler/parts/fleet/",
    "reconciler/parts/serve/",
)
#: Without brokers and Spark: a fault takes seconds.
TESTS: Final = (
    "tests/unit",
    "tests/cases",
    "tests/property",
    "tests/contract",
    "tests/security",
    "tests/integration",
)
#: They stop, flood or wait for something, or run what is no Python.
_LEFT_OUT: Final = (
    "kill_points",
    "floods",
    "killed_server",
    "test_streams",
    "hostile_manifests",
    "test_documents",
    "test_how_to",
    "integration/ci",
    "integration/release",
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="faults in each package")
    parser.add_argument("--skip", type=int, default=0, help="of these, how many to leave out at the beginning")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--used", type=Path, help="keep there which test runs what, and read it the next time")
    parser.add_argument("--outcomes", type=Path, help="append there one line of JSON for each fault")
    parser.add_argument("--only", default="", help="a part of the line that a survivor has")
    parser.add_argument(
        "tests", nargs="*", default=TESTS, help="which may notice; quick ones of all packages by default"
    )
    return parser.parse_args()


def _score(outcomes: dict[Site, str], package: str) -> str:
    """Noticed of those that change anything."""
    counts = Counter(
        "equivalent" if outcome != "noticed" and site.key in EQUIVALENT else outcome
        for site, outcome in outcomes.items()
        if package_of(site.file, PACKAGES) == package
    )
    noticed = counts["noticed"] + counts["without end"]
    real = counts.total() - counts["equivalent"] - counts["not put"] - counts["at import"]
    return (
        f"{package}: {noticed} of {real} noticed, {noticed / max(real, 1):.3f}; no test runs {counts['no test']}; "
        f"left out: {counts['equivalent']} equivalent, {counts['not put']} that could not be put, "
        f"{counts['at import']} in what is made at import"
    )


def main() -> int:
    """Survivors as they are found, then the score of each package; status 1 where pytest does not get to run."""
    arguments = _arguments()
    sites = sample(PACKAGES, arguments.count, arguments.seed)[arguments.skip * len(PACKAGES) :]
    sites = [site for site in sites if arguments.only in str(site)]
    with tempfile.TemporaryDirectory() as folder:
        used = arguments.used or Path(folder) / "used.json"
        running = Running(sites, PACKAGES, used, arguments.outcomes or Path(folder) / "outcomes", arguments.workers)
        chosen = ("-q", "-p", "no:cacheprovider", "--timeout", "0", "-m", "not (long or broker or spark or browser)")
        left = [f"--ignore-glob=*{part}*" for part in _LEFT_OUT]
        status = pytest.main([*chosen, *left, *arguments.tests], plugins=[running])
    if not running.outcomes:
        return int(status) or 1
    for package in ("reconciler/", *PACKAGES):
        print(_score(running.outcomes, package))
    return 0


if __name__ == "__main__":
    sys.exit(main())
