"""Tightening on generated logs with seasonal jobs, held against the months after them: the benchmark, small."""

from pathlib import Path

from benchmarks.tighten import measured
from reconciler.parts.evidence.suggestion import HeldReason


def test_nearly_all_that_is_unused_goes_and_no_later_access_breaks(tmp_path: Path) -> None:
    outcome = measured(tmp_path, services=20, decisions=0)
    assert outcome.removable > 150
    assert outcome.recall >= 0.95
    assert outcome.broken == 0
    # A job that runs once a year is in no window of four months: it is lost unless its rule says keep.
    assert outcome.admitted == 2
    reasons = {held.reason for held in outcome.found.held}
    assert reasons == {HeldReason.KEEP, HeldReason.FEW_DAYS, HeldReason.GROWING}
    assert outcome.later > 100
