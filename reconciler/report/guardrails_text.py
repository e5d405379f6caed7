"""What a proposal changes about the rules that judge it, and where they hold although it does, as text."""

from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.manifest import Meaning
from reconciler.plan.guardrail_review import GuardrailReview
from reconciler.report.style import Style, safe

_STYLES: Final = {Meaning.LOOSER: "error", Meaning.UNCLEAR: "warn", Meaning.TIGHTER: "add"}


def guardrail_lines(review: GuardrailReview, style: Style) -> Iterator[str]:
    """A title and a line for each change and notice; nothing where there is none."""
    if review.changes:
        yield style("title", "Guardrails changed: this proposal edits rules that judge it")
    elif review.notices:
        yield style("title", "Guardrails")
    for change in review.changes:
        place = style("dim", safe(str(change.origin)))
        yield f"  {style(_STYLES[change.meaning], change.meaning)}  {safe(change.words)}  {place}"
    for notice in review.notices:
        places = ", ".join(str(place) for place in (notice.origin, notice.related) if place is not None)
        yield f"  {style('warn', 'warning')}  {safe(notice.message)}  {style('dim', safe(places))}"
    if review.changes or review.notices:
        yield ""


def together(reviews: Iterable[GuardrailReview]) -> GuardrailReview:
    """What is said of several clusters, each thing once."""
    reviews = tuple(reviews)
    changes = dict.fromkeys(change for one in reviews for change in one.changes)
    notices = dict.fromkeys(notice for one in reviews for notice in one.notices)
    return GuardrailReview(None, tuple(changes), tuple(notices))


def no_tests_line(style: Style) -> str:
    """For manifests that claim nothing about access, so that no change of theirs can break a claim."""
    return style("dim", "note: no AccessTests are declared, so nothing says who must not get access")
