"""A tightening as the value that reports are made from."""

from typing import TYPE_CHECKING

from reconciler.report.results.tightened import FailedClusterEntry, FleetTightenOutput, TightenOutput
from reconciler.report.tighten_text import held_entry, narrowed_entry, period_words, stage_entry
from reconciler.workflow.tightening.proposal import Tightening
from reconciler.workflow.tightening.staging import Staged

if TYPE_CHECKING:
    from reconciler.workflow.fleet.tightening import FleetTightening


def tighten_output(found: Tightening, watched: Staged | None = None) -> TightenOutput:
    """What was found, with how its stage stands."""
    places = dict(found.places)
    return TightenOutput(
        found.cluster,
        found.basis.value,
        **period_words(found.period),
        permitted=found.decisions,
        thin=found.thin,
        narrowed=tuple(narrowed_entry(one, places) for one in found.narrowings),
        held=tuple(held_entry(one, places) for one in found.held),
        decided_again=found.replayed,
        stage=None if watched is None else stage_entry(watched.stage, watched.shadow, due=watched.due),
    )


def fleet_tighten_output(found: "FleetTightening") -> FleetTightenOutput:
    """What was found on each cluster, and of which nothing is known."""
    failed = tuple(FailedClusterEntry(name, why) for name, why in found.failed.items())
    return FleetTightenOutput(tuple(map(tighten_output, found.clusters)), failed)
