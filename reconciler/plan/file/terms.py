"""In JSON: the terms, options and acknowledgements that a plan was made under, and what was looked at."""

from typing import Any, Final

from reconciler.codec import (
    ANY_TEXT,
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    TEXTS,
    Field,
    Record,
    array,
    by_value,
    field,
    nullable,
    record,
    word,
)
from reconciler.codec.kinds import PRUNE_FIELDS
from reconciler.codec.objects import snake
from reconciler.codec.scope import SCOPE, SELECTORS
from reconciler.codec.values import EXPIRY, KAFKA_VERSION, PATTERN
from reconciler.model import APACHE, FLAVORS, Expiry, FactSource, FactSources
from reconciler.plan.coverage import CoverageChange
from reconciler.plan.facts import Facts
from reconciler.plan.guards import DeleteLimits, GuardAcknowledgement
from reconciler.plan.proposal import Counts, Options, Terms
from reconciler.plan.refusal import Guard
from reconciler.plan.selection import Selection

ACKNOWLEDGEMENT: Final[Record[GuardAcknowledgement]] = record(
    GuardAcknowledgement,
    field("guard", by_value(Guard), "The guard that is let pass.", "topic-delete"),
    field("object", TEXT, "The name that was acknowledged.", "orders.old"),
    field("reason", ANY_TEXT, "Why it was accepted.", "agreed in SEC-1204"),
)


def _options(
    allow_deletes: bool, only: tuple[str, ...], exclude: tuple[str, ...], undo: bool, break_glass: Expiry | None
) -> Options:
    return Options(allow_deletes, Selection(only, exclude), undo, break_glass)


OPTIONS: Final[Record[Options]] = record(
    _options,
    field("allowDeletes", BOOLEAN, "Whether deletions were asked for.", False),
    field("only", TEXTS, "What the plan was restricted to.", attr="selection.only"),
    field("exclude", TEXTS, "What was left out.", attr="selection.exclude"),
    field("undo", BOOLEAN, "Whether it reverts what was applied, whatever the manifests declare.", False),
    field(
        "breakGlass",
        nullable(EXPIRY),
        "Until when it gives break-glass access, which no manifest need declare; absent: it gives none.",
        "2026-11-23T15:00:00Z",
        default=None,
        omit=True,
    ),
)
_LIMIT: Final = nullable(COUNT)
_LIMITS: Final[Record[DeleteLimits]] = record(
    DeleteLimits,
    field("maxDeletes", _LIMIT, "The largest number of bindings and topics that may be deleted; null: no limit.", 200),
    field("maxDeletePercent", _LIMIT, "The largest share of live bindings that may be deleted; null: no limit.", 20),
    field("percentAbove", COUNT, "The share counts where more bindings than this go.", 10),
)


def _prune(name: str, kind: str) -> Field:
    words = f"Whether {kind} that no manifest declares are planned to be deleted."
    return field(name, BOOLEAN, words, False, get=lambda terms: kind in terms.prune)


def _terms(flavor: str, **stated: Any) -> Terms:
    # The name stands beside the terms: what is planned for two clusters in one state has one change id.
    prune = frozenset(kind for name, kind in PRUNE_FIELDS.items() if stated.pop(snake(name)))
    return Terms(cluster="", prune=prune, flavor=FLAVORS[flavor], **stated)


TERMS: Final[Record[Terms]] = record(
    _terms,
    field("scope", SCOPE, "What the manifests answer for."),
    field(
        "allowEveryoneIfNoAclFound",
        nullable(BOOLEAN),
        "The brokers' setting as declared; null where nobody declared it.",
        False,
        attr="default_allow",
    ),
    field("limits", _LIMITS, "How much a plan may delete."),
    *(_prune(name, kind) for name, kind in PRUNE_FIELDS.items()),
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
    field(
        "flavor",
        word(*FLAVORS),
        "The make of Kafka; absent: Apache Kafka.",
        "confluent-cloud",
        get=lambda terms: terms.flavor.name,
        default=APACHE.name,
        omit=True,
    ),
)
_SOURCE: Final = by_value(FactSource)
_SOURCES: Final[Record[FactSources]] = record(
    FactSources,
    field("principal", _SOURCE, "Of our own principal.", "operator"),
    field("superUsers", _SOURCE, "Of the super users.", "operator"),
    field("allowEveryoneIfNoAclFound", _SOURCE, "Of the setting in terms.", "operator", attr="default_allow"),
    field(
        "kafkaVersion",
        _SOURCE,
        "Of the stated Kafka release; absent where nobody states it.",
        "operator",
        default=FactSource.NOBODY,
        omit=True,
    ),
    field("interBrokerPrincipals", _SOURCE, "Of the brokers' principals; manifests may add some.", "operator"),
    field("brokers", _SOURCE, "Of the brokers in terms.", "operator"),
    field("barrier", _SOURCE, "Of how terms wait between phases.", "operator"),
    field("protect", _SOURCE, "Of what is protected; manifests may add to it.", "operator"),
    field("limits", _SOURCE, "Of the limits in terms; manifests may tighten them.", "operator"),
    field("acknowledge", _SOURCE, "Of the acknowledgements that were not given on the command line.", "operator"),
    field("flavor", _SOURCE, "Of the flavor in terms.", "operator", default=FactSource.NOBODY, omit=True),
)
#: What no API tells of the cluster, and who states it.
FACTS: Final[Record[Facts]] = record(
    Facts,
    field("principal", nullable(TEXT), "The principal that plans and applies; null: not stated.", "User:reconciler"),
    field("interBrokerPrincipals", TEXTS, "The principals that the brokers connect to each other as."),
    field("superUsers", TEXTS, "The brokers' super.users, as stated."),
    field("protect", SELECTORS, "Names and principals whose access no plan may change."),
    field(
        "kafkaVersion",
        KAFKA_VERSION,
        "The Kafka release as stated; absent where nobody states it. What the cluster tells counts first.",
        "4.4",
        default=None,
        omit=True,
    ),
    field("sources", _SOURCES, "Who states each: the operator's file, the manifests alone, or nobody."),
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
