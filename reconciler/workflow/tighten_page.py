"""A tightening as the value that reports are made from."""

from reconciler.report.results.tightened import TightenOutput
from reconciler.report.tighten_text import held_entry, narrowed_entry, period_words, stage_entry
from reconciler.workflow.tighten_stage import Staged
from reconciler.workflow.tightening import Tightening


def tighten_output(found: Tightening, watched: Staged | None = None) -> TightenOutput:
    """What was found, with how its stage stands."""
    places = dict(found.places)
    return TightenOutput(
        found.view.cluster,
        found.view.basis.value,
        **period_words(found.period),
        permitted=found.decisions,
        thin=found.thin,
        narrowed=tuple(narrowed_entry(one, places) for one in found.narrowings),
        held=tuple(held_entry(one, places) for one in found.held),
        decided_again=found.replayed,
        stage=None if watched is None else stage_entry(watched.stage, watched.shadow, due=watched.due),
    )
