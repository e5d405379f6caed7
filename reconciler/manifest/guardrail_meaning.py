"""What a difference between two versions of a guardrail does: whether more of a field refuses more, or less."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from reconciler.codec.kinds import PRUNE_FIELDS


class Meaning(StrEnum):
    """What a difference does to the rules: they refuse more, they refuse less, or a person has to decide."""

    TIGHTER = "tighter"
    LOOSER = "looser"
    UNCLEAR = "unclear"


#: What more of a field does. A scalar field counts as more where it is added or grows.
MORE: Final[Mapping[str, Mapping[str, Meaning]]] = {
    "Cluster": {
        "spec.superUsers": Meaning.LOOSER,
        "spec.ignore": Meaning.LOOSER,
        "spec.ignoreConfigs": Meaning.LOOSER,
        # More in scope can be deleted, less in scope can drift unseen: both are for a person to decide.
        "spec.scope": Meaning.UNCLEAR,
        "spec.protect": Meaning.TIGHTER,
        "spec.limits": Meaning.LOOSER,
        "spec.acknowledge": Meaning.LOOSER,
        "spec.waive": Meaning.LOOSER,
        **{f"spec.{field}": Meaning.LOOSER for field in PRUNE_FIELDS},
        "spec.allowEveryoneIfNoAclFound": Meaning.LOOSER,
        "spec.barrier": Meaning.TIGHTER,
        "spec.brokers": Meaning.TIGHTER,
    },
    "AccessTests": {
        "spec.tests": Meaning.TIGHTER,
        "spec.tests.must": Meaning.TIGHTER,
        "spec.tests.mustNot": Meaning.TIGHTER,
        "spec.tests.principals": Meaning.TIGHTER,
        "spec.tests.topics": Meaning.TIGHTER,
        "spec.tests.groups": Meaning.TIGHTER,
        "spec.tests.transactionalIds": Meaning.TIGHTER,
        "spec.tests.cluster": Meaning.TIGHTER,
        "spec.tests.includeSuperUsers": Meaning.TIGHTER,
        "spec.tests.except": Meaning.LOOSER,
        "spec.tests.onlyReaders": Meaning.LOOSER,
        "spec.tests.onlyWriters": Meaning.LOOSER,
        "spec.tests.onlyAdmins": Meaning.LOOSER,
        "spec.tests.waiver": Meaning.LOOSER,
        "spec.clusters": Meaning.LOOSER,
    },
    "ClusterTests": {
        "spec.tests": Meaning.TIGHTER,
        "spec.tests.waiver": Meaning.LOOSER,
        "spec.clusters": Meaning.LOOSER,
    },
    "Acls": {"spec.waive": Meaning.LOOSER},
    "Topics": {},
    "Ownership": {
        "spec.owners.files": Meaning.LOOSER,
        "spec.owners.consents": Meaning.LOOSER,
        "spec.owners.denyAny": Meaning.LOOSER,
        "spec.consents": Meaning.LOOSER,
        "spec.clusters": Meaning.LOOSER,
    },
    "Fleet": {"spec.limits": Meaning.LOOSER},
    "TopicPolicy": {
        "spec.rules": Meaning.TIGHTER,
        "spec.rules.waivers": Meaning.LOOSER,
        "spec.rules.except": Meaning.LOOSER,
        "spec.clusters": Meaning.LOOSER,
    },
}
#: Of kinds that judge nothing, the fields that decide what a guardrail is about, or that accept a finding.
ONLY: Final[Mapping[str, tuple[str, ...]]] = {
    "Acls": ("spec.waive",),
    "Topics": ("metadata.labels", "spec.topics.labels"),
}
_OPPOSITE: Final = {
    Meaning.TIGHTER: Meaning.LOOSER,
    Meaning.LOOSER: Meaning.TIGHTER,
    Meaning.UNCLEAR: Meaning.UNCLEAR,
}
_OF_CLUSTERS: Final = ("spec.tests.configs", "spec.tests.features")
_SEVERITIES: Final = {"warning": 0, "error": 1}


def meaning_of(kind: str, rule: str, before: str | None, after: str | None) -> Meaning:
    """What a difference at ``rule`` does; a field that the table does not know is unclear."""
    if rule.endswith(".severity"):
        old, new = (_SEVERITIES.get(value or "error", 1) for value in (before, after))
        return Meaning.LOOSER if new < old else Meaning.TIGHTER
    if kind == "ClusterTests" and rule.startswith(_OF_CLUSTERS):
        return _claim_meaning(rule, before, after)
    more = _rule_of(kind, rule)
    if before is not None and after is not None:
        grown = _grown(before, after)
        return Meaning.UNCLEAR if grown is None else more if grown else _OPPOSITE[more]
    if rule.startswith("spec.limits"):
        return _limit_meaning(kind, rule, after)
    if rule.startswith("spec.barrier") and after is not None:
        # Without one apply waits too: one that is added may be shorter.
        return Meaning.UNCLEAR
    return more if after is not None else _OPPOSITE[more]


def _claim_meaning(rule: str, before: str | None, after: str | None) -> Meaning:
    """What a difference in a claim about a config or a feature does; another value may ask for more or for less."""
    last = rule.rpartition(".")[2]
    if last == "allowed":
        return Meaning.UNCLEAR
    if before is None or after is None:
        return Meaning.LOOSER if after is None else Meaning.TIGHTER
    # A release and a level are numbers of two kinds.
    grown = None if ("." in before) != ("." in after) else _grown(before, after)
    more = {"min": Meaning.TIGHTER, "max": Meaning.LOOSER}.get(last, Meaning.UNCLEAR)
    return Meaning.UNCLEAR if grown is None else more if grown else _OPPOSITE[more]


def _limit_meaning(kind: str, rule: str, after: str | None) -> Meaning:
    """What a limit does that is written for the first time, or no longer.

    A limit that is not written does not limit, but for the share of a cluster's bindings: to write it may raise it.
    """
    if after is None:
        return Meaning.LOOSER
    if kind == "Cluster" and not rule.endswith(".maxDeletes"):
        return Meaning.UNCLEAR
    return Meaning.TIGHTER


def _rule_of(kind: str, rule: str) -> Meaning:
    """The nearest field of the table at or above ``rule``."""
    parts = rule.split(".")
    if rule.startswith("spec.rules.") and not {"waivers", "except"}.intersection(parts):
        # What a topic rule asks for: another bound or value may ask for more or for less.
        return {"min": Meaning.TIGHTER, "max": Meaning.LOOSER}.get(parts[-1][:3], Meaning.UNCLEAR)
    for end in range(len(parts), 1, -1):
        found = MORE[kind].get(".".join(parts[:end]))
        if found is not None:
            return found
    return Meaning.UNCLEAR


def _grown(before: str, after: str) -> bool | None:
    """Whether a number or a boolean became more; ``None`` for any other pair."""
    truths = {"false": 0.0, "true": 1.0}
    try:
        old, new = (truths[text] if text in truths else float(text) for text in (before, after))
    except ValueError:
        return None
    return new > old
