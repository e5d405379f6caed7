"""What a plan says about its guardrails, in JSON; ``validate`` and ``test`` print the same."""

from typing import Final

from reconciler.codec import ANY_TEXT, TEXT, Record, array, by_value, field, nullable, record, text
from reconciler.codec.values import ORIGIN
from reconciler.manifest import GuardrailChange, GuardrailNotice, Meaning
from reconciler.plan.guardrail_review import GuardrailReview

_PLACE: Final = "guards.yaml:7:5"
_CHANGE: Final[Record[GuardrailChange]] = record(
    GuardrailChange,
    field("kind", TEXT, "The kind of the document.", "AccessTests"),
    field("document", ANY_TEXT, "Its name.", "payroll"),
    field("field", ANY_TEXT, "What of it differs; empty: all of it.", "spec.tests[only payroll].severity"),
    field(
        "meaning",
        by_value(Meaning),
        "Whether the rules refuse more (tighter), less (looser), or that is unclear.",
        "looser",
    ),
    field("before", nullable(ANY_TEXT), "The value in the base; null: none.", "error"),
    field("after", nullable(ANY_TEXT), "The value in the proposal; null: none.", "warning"),
    field("place", ORIGIN, "The place in the proposal, or in the base where it is gone.", _PLACE, attr="origin"),
    field("reason", ANY_TEXT, "What follows, where the values do not show it.", "", default=""),
)
_NOTICE: Final[Record[GuardrailNotice]] = record(
    GuardrailNotice,
    field("place", ORIGIN, "The place in the proposal.", _PLACE, attr="origin"),
    field("rule", TEXT, "What it is about.", "guardrail-scope"),
    field("message", ANY_TEXT, "What counts, in words.", "the scope is wider than in the guardrails"),
    field("related", nullable(ORIGIN), "The place in the guardrails; null: none.", f"guardrails://{_PLACE}"),
)
GUARDRAILS: Final[Record[GuardrailReview]] = record(
    GuardrailReview,
    field(
        "digest",
        nullable(text("^sha256:[0-9a-f]{64}$")),
        "Of the guardrails that held the proposal; null: it was judged by its own rules alone.",
        f"sha256:{'0' * 64}",
    ),
    field("changes", array(_CHANGE), "What differs from the guardrails of --base, loosening differences first."),
    field("notices", array(_NOTICE), "Where the guardrails hold although the proposal asks for less."),
)
