"""In JSON: the terms, options and acknowledgements that a plan was made under, and what was looked at."""

from functools import partial
from typing import Final

from reconciler.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    TEXTS,
    Record,
    array,
    by_value,
    field,
    nullable,
    record,
)
from reconciler.codec.scope import SCOPE
from reconciler.codec.values import PATTERN
from reconciler.plan.coverage import CoverageChange
from reconciler.plan.guards import DeleteLimits, GuardAcknowledgement
from reconciler.plan.proposal import Counts, Options, Terms
from reconciler.plan.refusal import Guard
from reconciler.plan.review.transition import Facts
from reconciler.plan.selection import Selection

ACKNOWLEDGEMENT: Final[Record[GuardAcknowledgement]] = record(
    GuardAcknowledgement,
    field("guard", by_value(Guard), "The guard that is let pass.", "topic-delete"),
    field("object", TEXT, "The name that was acknowledged.", "orders.old"),
    field("reason", ANY_TEXT, "Why it was accepted.", "agreed in SEC-1204"),
)


def _options(allow_deletes: bool, only: tuple[str, ...], exclude: tuple[str, ...]) -> Options:
    return Options(allow_deletes, Selection(only, exclude))


OPTIONS: Final[Record[Options]] = record(
    _options,
    field("allowDeletes", BOOLEAN, "Whether deletions were asked for.", False),
    field("only", TEXTS, "What the plan was restricted to.", attr="selection.only"),
    field("exclude", TEXTS, "What was left out.", attr="selection.exclude"),
)
_LIMIT: Final = nullable(COUNT)
_LIMITS: Final[Record[DeleteLimits]] = record(
    DeleteLimits,
    field("maxDeletes", _LIMIT, "The largest number of bindings and topics that may be deleted; null: no limit.", 200),
    field("maxDeletePercent", _LIMIT, "The largest share of live bindings that may be deleted; null: no limit.", 20),
)
TERMS: Final[Record[Terms]] = record(
    partial(Terms, cluster="", facts=Facts()),
    field("scope", SCOPE, "What the manifests answer for."),
    field(
        "allowEveryoneIfNoAclFound",
        nullable(BOOLEAN),
        "The brokers' setting as declared; null where nobody declared it.",
        False,
        attr="default_allow",
    ),
    field("limits", _LIMITS, "How much a plan may delete."),
    field("pruneTopics", BOOLEAN, "Whether topics that no manifest declares are planned to be deleted.", False),
    field("pruneQuotas", BOOLEAN, "Whether quotas that no manifest declares are deleted.", False),
    field("ignoreConfigs", TEXTS, "Configs of topics that are left alone."),
    field("barrierWaitSeconds", NUMBER, "The fixed wait, where no probe is declared.", 2, attr="barrier_wait"),
    field(
        "barrierProbe",
        nullable(TEXT),
        "As whom every broker is asked; null: a fixed wait.",
        "User:acl-probe",
        attr="probe",
    ),
    field("barrierSeconds", NUMBER, "How long one barrier may take.", 30),
    field("brokers", array(COUNT), "Ids of the brokers that a barrier waits for."),
)
_COUNT_WORDS: Final = {
    "liveBindings": "Live bindings.",
    "owned": "Live bindings in scope.",
    "ignored": "Live bindings that somebody else manages.",
    "outside": "Live bindings out of scope.",
    "opaque": "Live entries of a kind that the client cannot name.",
    "liveTopics": "Live topics.",
    "desiredBindings": "Declared bindings.",
    "desiredTopics": "Declared topics.",
}
COUNTS: Final[Record[Counts]] = record(Counts, *(field(name, COUNT, words, 3) for name, words in _COUNT_WORDS.items()))
COVERAGE: Final[Record[CoverageChange]] = record(
    CoverageChange,
    field("closed", array(PATTERN), "Patterns that get their first binding."),
    field("opened", array(PATTERN), "Patterns that lose their last binding."),
)
