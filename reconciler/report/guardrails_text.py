"""What a proposal changes about the rules that judge it, and where they hold although it does, as text."""

from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.manifest import Meaning
from reconciler.plan.guardrail_review import GuardrailReview
from reconciler.report.document import Row, Section, SectionName, section_lines
from reconciler.report.style import Style

_STYLES: Final = {Meaning.LOOSER: "error", Meaning.UNCLEAR: "warn", Meaning.TIGHTER: "add"}


def guardrail_sections(review: GuardrailReview) -> Iterator[Section]:
    """A row for each change and notice; nothing where there is none."""
    rows = [
        Row(change.words, change.meaning, _STYLES[change.meaning], notes=(str(change.origin),))
        for change in review.changes
    ]
    for notice in review.notices:
        places = tuple(str(place) for place in (notice.origin, notice.related) if place is not None)
        rows.append(Row(notice.message, "warning", "warn", notes=(", ".join(places),)))
    if rows:
        said = "Guardrails changed: this proposal edits rules that judge it"
        yield Section(SectionName.GUARDRAILS, said if review.changes else "Guardrails", tuple(rows))


def guardrail_lines(review: GuardrailReview, style: Style) -> Iterator[str]:
    """The same as lines, which come before others."""
    for section in guardrail_sections(review):
        yield from section_lines(section, style)
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
