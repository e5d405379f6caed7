"""What the broker said when it was asked about a plan's steps."""

from collections.abc import Iterator
from typing import Final

from reconciler.plan import BrokerAnswer, BrokerValidation, Ruling
from reconciler.report.document import Row, Section, SectionName
from reconciler.report.style import counted

_NO_ANSWER: Final = (
    "A step without an answer is not refused: nothing is known about it. UNKNOWN_SERVER_ERROR means that a policy",
    "plug-in throws something other than PolicyViolationException, which the controller's log shows. Fix that first:",
    "in some versions the controller resigns each time it is asked.",
)


def answer_words(answer: BrokerAnswer) -> str:
    """Why a step was not simply accepted."""
    told = f"{answer.code}: {answer.message}"
    match answer.ruling:
        case Ruling.REFUSED if answer.code == "POLICY_VIOLATION":
            return f"the cluster's policy refuses this: {told}"
        case Ruling.REFUSED:
            return f"the broker refuses this: {told}"
        case Ruling.AFTER_GRANT:
            return f"the broker could not be asked, because this plan grants the right first: {told}"
        case _:
            return f"the broker gave no answer about this: {told}"


def validation_sections(validation: BrokerValidation | None) -> Iterator[Section]:
    """What was asked of the broker, when, and what came of it."""
    if validation is None:
        return
    asked, when = len(validation.answers), f"Asked of the broker at {validation.asked}"
    if not asked:
        yield Section(SectionName.NOTES, f"{when}: nothing, no step can be asked about.", role="dim")
        return
    words = ((Ruling.ACCEPTED, "accepted"), (Ruling.REFUSED, "refused"), (Ruling.AFTER_GRANT, "not asked yet"))
    parts = [f"{validation.count(ruling):,} {word}" for ruling, word in words if validation.count(ruling)]
    if unknown := validation.count(Ruling.UNKNOWN):
        parts.append(f"{unknown:,} without an answer")
    role = "add" if validation.count(Ruling.ACCEPTED) == asked else "warn"
    rows = tuple(Row(line, role="warn") for line in _NO_ANSWER) if unknown else ()
    yield Section(SectionName.NOTES, f"{when}: {counted(asked, 'step')}, {', '.join(parts)}.", rows, role=role)
