"""What a difference in a field of a guardrail does to the rules: one entry for each field of each kind, and no default.

``TIGHTER`` is a proof: whatever the other fields say, each proposal that the rules refused before is refused after. So
differences that are tighter one by one are tighter together. An entry says what the presence of a field means and what
its size means, which are two things: to remove an upper limit is not to lower it. What is not proven is ``UNCLEAR``,
or ``LOOSER`` where it may admit what was refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

from reconciler.dataclass import dataclass
from reconciler.manifest.documents.tests import METADATA_VERSION, config_number, first_level
from reconciler.manifest.parts.fields import MILLISECONDS, amount, boolean, ending, integer, seconds
from reconciler.manifest.parts.topic_settings import setting_value
from reconciler.model.acl import ResourceType
from reconciler.model.scope import RESOURCE_FIELDS, NameSelector
from reconciler.model.topic_configs import TOPIC_CONFIGS, ConfigType


class Meaning(StrEnum):
    """What a difference does to the rules: they refuse more, they refuse less, or a person has to decide."""

    TIGHTER = "tighter"
    LOOSER = "looser"
    UNCLEAR = "unclear"


_T, _L, _U = Meaning.TIGHTER, Meaning.LOOSER, Meaning.UNCLEAR
#: Gives the size of a value: of the field's name in a mapping by name, and its text. Raises ``ValueError`` where it has
#: none, as a variable has none.
Size: TypeAlias = Callable[[str, str], Any]


@dataclass(frozen=True, slots=True)
class Value:
    """One text. ``more`` and ``less`` are for fields whose values have a ``size``; without one, any other is unclear.

    ``default`` is what absence means, where it means the same as a text. ``alone``: what it is written to loosen it
    loosens in an item that is new, too, whatever else that item says.
    """

    added: Meaning
    removed: Meaning
    size: Size | None = None
    more: Meaning = _U
    less: Meaning = _U
    default: str | None = None
    alone: bool = False

    def between(self, name: str, before: str, after: str) -> Meaning | None:
        """What the change of a value does; ``None`` where both say the same."""
        if before == after:
            return None
        if self.size is None:
            return _U
        try:
            old, new = self.size(name, before), self.size(name, after)
        except ValueError:
            return _U
        return None if old == new else self.more if new > old else self.less


@dataclass(frozen=True, slots=True)
class Texts:
    """One text, or a list of them in any order: what the list itself does, and what one text more or less does.

    ``globs``: texts with ``*`` and ``?``, so that one may contain another. ``widest`` contains all others.
    """

    added: Meaning
    removed: Meaning
    more: Meaning
    less: Meaning
    default: tuple[str, ...] | None = None
    globs: bool = False
    widest: str | None = None

    def one_more(self, text: str) -> Meaning:
        """What a text does that is written for the first time."""
        # `supported` operations replace those that a test names beside ALL, some of which a release may lack.
        return _U if text == self.widest and self.more is _T else self.more


@dataclass(frozen=True, slots=True)
class Names:
    """Names in one of their forms: what the field itself does, and what a larger or a smaller set of names does."""

    added: Meaning
    removed: Meaning
    wider: Meaning
    narrower: Meaning
    principals: bool = False

    def between(self, before: NameSelector | None, after: NameSelector | None) -> Meaning | None:
        """What another set of names does; ``None`` where it is the same, and unclear where neither has the other."""
        if before is None or after is None:
            return _U
        grows, shrinks = (
            outer.contains(inner, principals=self.principals) for outer, inner in ((after, before), (before, after))
        )
        if grows and shrinks:
            return None
        return self.wider if grows else self.narrower if shrinks else _U


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping with fields of its own. Without ``added`` and ``removed`` an absent one is like an empty one."""

    fields: "Mapping[str, FieldMeaning]"
    added: Meaning | None = None
    removed: Meaning | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """A list of mappings; ``item.added`` and ``item.removed`` are about one of them.

    ``identity`` are the fields by which an item is known from one version to the next; with ``paired`` others are held
    against the item that is most like them. ``ordered``: the order has a meaning. ``alone``: what one loosens, it
    loosens in a document that is new, too.
    """

    item: Fields
    identity: tuple[str, ...] = ()
    paired: bool = True
    ordered: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class ByName:
    """A mapping from names that people choose, each to the same field."""

    entry: "FieldMeaning"


@dataclass(frozen=True, slots=True)
class Either:
    """A text, or a mapping in its place."""

    text: Value
    mapping: Fields


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A field that is no rule, and why: it is not compared."""

    because: str


FieldMeaning: TypeAlias = Value | Texts | Names | Fields | Records | ByName | Either | NotJudged


def _count(_: str, text: str) -> int:
    return integer(text)


def _truth(_: str, text: str) -> bool:
    return boolean(text)


def _end(_: str, text: str) -> Any:
    return ending(text).end


def _seconds(_: str, text: str) -> float:
    return seconds(text)


def _soak(_: str, text: str) -> int:
    return amount(text, MILLISECONDS)


def _weight(_: str, text: str) -> int:
    return ("warning", "error").index(text)


def _farther(_: str, text: str) -> int:
    return ("acl", "identity", "flow").index(text)


def _openness(_: str, text: str) -> int:
    return ("false", "true").index(text)


def _demand(_: str, text: str) -> int:
    """What holds of a value that is not declared: it passes, it depends on the broker, it is a breach."""
    return ("false", "", "true").index(text)


def _setting(name: str, text: str) -> float:
    kind = TOPIC_CONFIGS.get(name)
    read = str(integer(text)) if kind is None else setting_value(name, kind, text)
    if read.startswith("-"):
        raise ValueError(f"{read} means no limit")
    return float(read) if kind is ConfigType.DOUBLE else int(read)


def _config(name: str, text: str) -> int:
    return config_number(name, text)


def _level(name: str, text: str) -> int:
    level = first_level(text) if name == METADATA_VERSION else None
    return integer(text) if level is None else level


#: Says nothing by its size, and its presence proves nothing either.
_UNKNOWN: Final = Value(_U, _U)
_ANY_TEXTS: Final = Texts(_U, _U, _U, _U)
#: What is asked: without it nothing is, and of another it is not known whether it asks for more.
_CLAIM: Final = Value(_T, _L)
#: Of a list of what a rule is about: each text more is one thing more that is refused.
_SUBJECTS: Final = Texts(_T, _L, _T, _L)
_OPERATIONS: Final = Texts(_T, _L, _T, _L, widest="ALL")
#: Of a list of what a rule leaves out, or lets pass.
_EXCEPTIONS: Final = Texts(_L, _T, _L, _T, globs=True)
#: The only ones that may: without the list nobody is held to it, and each text in it is one exception.
_ONLY: Final = Texts(_T, _L, _L, _T, globs=True)
_SEVERITY: Final = Value(_T, _L, _weight, _T, _L, default="error")
#: A text for people. It decides nothing, and may be why somebody agreed.
_WORDS: Final = _UNKNOWN
_IDENTITY: Final = NotJudged("an item is known by it: under another name it is another item")
_PLACE: Final = NotJudged("where a cluster is and how it is reached, which the operator's file decides")


def _ceiling(size: Size, *, added: Meaning = _T) -> Value:
    """A greatest value, or the end of an exception."""
    return Value(added, _L, size, _L, _T)


def _floor(size: Size, *, added: Meaning = _T) -> Value:
    return Value(added, _L, size, _T, _L)


def _resources(names: Names) -> dict[str, FieldMeaning]:
    """The fields that name resources; ``cluster`` is a name that is there or not."""
    fields = RESOURCE_FIELDS.items()
    cluster = Value(names.added, names.removed)
    return {field: cluster if kind is ResourceType.CLUSTER else _of(kind, names) for field, kind in fields}


def _of(kind: ResourceType, names: Names) -> Names:
    return Names(names.added, names.removed, names.wider, names.narrower, kind is ResourceType.USER)


def _selector(names: Names) -> dict[str, FieldMeaning]:
    return {**_resources(names), "principals": Names(names.added, names.removed, names.wider, names.narrower, True)}


def _clusters(*, fewer: Meaning = _L, more: Meaning = _T) -> Fields:
    """For which clusters a document is: a label more in the selector is fewer clusters."""
    return Fields({"matchLabels": ByName(Value(fewer, more))})


def _document(
    spec: Mapping[str, FieldMeaning],
    added: Meaning | None = None,
    removed: Meaning | None = None,
    labels: FieldMeaning = _UNKNOWN,
) -> Fields:
    heading = Fields({"name": _IDENTITY, "labels": ByName(labels)})
    identity = NotJudged("the document is known by it")
    return Fields({"apiVersion": identity, "kind": identity, "metadata": heading, "spec": Fields(spec)}, added, removed)


def _wanted(*fields: str) -> dict[str, FieldMeaning]:
    return {field: NotJudged("it is what the manifests want, which the rules judge") for field in fields}


#: What exempts by a condition: without the condition it exempts everything.
_CONDITION: Final = Names(_T, _L, _L, _T)


def _exceptions(more: Mapping[str, FieldMeaning], *identity: str) -> Records:
    """Exceptions permit; whatever narrows or ends one refuses more."""
    stated: dict[str, FieldMeaning] = {
        "check": _IDENTITY,
        "reason": _WORDS,
        "expires": _ceiling(_end),
        "ticket": _WORDS,
    }
    return Records(Fields({**more, **stated}, _L, _T), ("check", *identity))


_TEST_EXCEPTIONS: Final = _exceptions({})
_LINT_EXCEPTIONS: Final = _exceptions(_selector(_CONDITION))
#: More in scope can be deleted, less in scope can drift unseen: both are for a person to decide.
_UNKNOWN_NAMES: Final = Names(_U, _U, _U, _U)
_TOPIC_PROPERTIES: Final[Mapping[str, FieldMeaning]] = {
    "partitions": _UNKNOWN,
    "replicationFactor": _UNKNOWN,
    "configs": ByName(_ANY_TEXTS),
}
_OVERRIDE: Final = Fields({**_TOPIC_PROPERTIES, "matchLabels": ByName(_UNKNOWN)}, _U, _U)
_COUNTS: Final = Fields(
    {
        "min": _floor(_count),
        "max": _ceiling(_count),
        "minPerBroker": _floor(_count),
        "maxPerBroker": _ceiling(_count),
        "required": Value(_T, _L, _demand, _T, _L, default=""),
    },
    _T,
    _L,
)
_SETTINGS: Final = Fields(
    {
        # A breach gets another code by it, which an exception may name.
        "required": Value(_U, _L, _demand, _U, _L, default=""),
        "forbidden": Value(_U, _L, _truth, _U, _L, default="false"),
        "allowed": Texts(_U, _L, _L, _T),
        "min": _floor(_setting),
        "max": _ceiling(_setting),
    },
    _T,
    _L,
)
_RELATIONS: Final = Records(
    Fields(dict.fromkeys(("value", "below", "atMost", "above", "atLeast", "required"), _UNKNOWN), _T, _L),
    paired=False,
)
_TOPIC_EXCEPTIONS: Final = _exceptions({"topics": _CONDITION, "codes": Texts(_T, _L, _L, _T)})


def _consents(removed: Meaning, **more: FieldMeaning) -> Records:
    """Consents permit; whatever narrows one refuses more."""
    return Records(
        Fields(
            {
                **_resources(Names(_L, _T, _L, _T)),
                "to": _IDENTITY,
                "operations": Texts(_L, _T, _L, _T),
                "permissions": Texts(_U, _U, _L, _T, default=("ALLOW",)),
                # Without it, those that the other team owns, which may be more or fewer.
                "principals": Names(_U, _U, _L, _T, principals=True),
                "reason": _WORDS,
                "expires": _ceiling(_end),
                **more,
            },
            _L,
            removed,
        ),
        (*more, "to"),
    )


#: What a team owns: more is one more right of its files, and less leaves names to nobody, which may be less strict.
_OWNED: Final = Names(_L, _U, _L, _U)
_TESTED: Final = Names(_T, _L, _T, _L)
#: Of the kinds whose documents judge, and of those that accept findings or decide what a rule is about.
GUARDRAILS: Final[Mapping[str, Fields]] = {
    "Cluster": _document(
        {
            "bootstrapServers": _PLACE,
            "client": _PLACE,
            "principal": _UNKNOWN,
            # A test that includes super users may fail by one that is removed.
            "superUsers": Texts(_L, _U, _L, _U),
            "flavor": _UNKNOWN,
            # A test that forbids fails under the one value, a test that demands under the other.
            "allowEveryoneIfNoAclFound": Value(_U, _U, _openness, _L, _U, default="unknown"),
            "kafkaVersion": _UNKNOWN,
            "interBrokerPrincipals": Texts(_U, _L, _U, _L),
            "protect": Records(Fields(_selector(_UNKNOWN_NAMES), _T, _L), paired=False),
            "deleteLimits": Fields(
                {
                    "maxDeletes": _ceiling(_count),
                    "maxDeletePercent": _ceiling(_count, added=_U),
                    "percentAbove": _ceiling(_count, added=_U),
                }
            ),
            "barrier": Fields(
                {
                    "wait": _floor(_seconds, added=_U),
                    "principal": Value(_U, _L),
                    "client": _PLACE,
                    "timeout": _UNKNOWN,
                }
            ),
            # Without the list every broker that the cluster names counts; and a limit for each broker grows with them.
            "brokers": Texts(_U, _L, _U, _L),
            # Of guards, each for an object, and of lint.
            "exceptions": _exceptions({**_selector(_CONDITION), "object": _IDENTITY}, "object"),
            "scope": Fields(
                {
                    "include": Records(Fields(_selector(_UNKNOWN_NAMES), _U, _U), paired=False),
                    "exclude": Records(Fields(_selector(_UNKNOWN_NAMES), _U, _U), paired=False),
                }
            ),
            # What is ignored shows no drift; and what is declared there is a problem, which it no longer is without.
            "ignore": Records(Fields(_selector(_UNKNOWN_NAMES), _L, _U), paired=False),
            # Without pruning fewer things go, and a limit of deletions may no longer refuse.
            "prune": Texts(_L, _U, _L, _U, default=()),
            "topicDefaults": Fields({**_TOPIC_PROPERTIES, "overrides": Records(_OVERRIDE, ordered=True)}),
            "ignoreConfigs": Texts(_L, _U, _L, _U),
            "vars": ByName(_UNKNOWN),
        },
        _U,
        _U,
    ),
    "AccessTests": _document(
        {
            "controls": Records(Fields({"topics": _TESTED, "acts": _IDENTITY}, _T, _L), ("acts",)),
            "exceptions": _TEST_EXCEPTIONS,
            "clusters": _clusters(),
            "tests": Records(
                Fields(
                    {
                        **_resources(_TESTED),
                        "name": _IDENTITY,
                        "principals": _SUBJECTS,
                        "except": _EXCEPTIONS,
                        "must": _OPERATIONS,
                        "mustNot": _OPERATIONS,
                        "onlyReaders": _ONLY,
                        "onlyWriters": _ONLY,
                        "onlyAdmins": _ONLY,
                        # Whoever breaks it holds all duties, so one more is one more condition.
                        "separate": Records(Fields({"can": _OPERATIONS, **_resources(_TESTED)}, _L, _U)),
                        "through": Value(_T, _L, _farther, _T, _L, default="acl"),
                        "severity": _SEVERITY,
                        "includeSuperUsers": Value(_T, _L, _truth, _T, _L, default="false"),
                    },
                    _T,
                    _L,
                ),
                ("name",),
            ),
        },
        _T,
        _L,
    ),
    "ClusterTests": _document(
        {
            "exceptions": _TEST_EXCEPTIONS,
            "clusters": _clusters(),
            "tests": Records(
                Fields(
                    {
                        "name": _IDENTITY,
                        "configs": ByName(
                            Either(
                                _CLAIM,
                                Fields(
                                    {
                                        "allowed": Texts(_U, _U, _L, _T),
                                        "min": _floor(_config),
                                        "max": _ceiling(_config),
                                    },
                                    _T,
                                    _L,
                                ),
                            )
                        ),
                        "features": ByName(Fields({"min": _floor(_level)}, _T, _L)),
                        "severity": _SEVERITY,
                    },
                    _T,
                    _L,
                ),
                ("name",),
            ),
        },
        _T,
        _L,
    ),
    "TopicPolicy": _document(
        {
            "exceptions": _TOPIC_EXCEPTIONS,
            "clusters": _clusters(),
            "rules": Records(
                Fields(
                    {
                        "name": _IDENTITY,
                        # Without it, all topics.
                        "topics": Names(_L, _T, _T, _L),
                        "except": Names(_L, _T, _L, _T),
                        "matchLabels": ByName(Value(_L, _T)),
                        "names": Fields({"pattern": _CLAIM, "maxLength": _ceiling(_count)}, _T, _L),
                        "partitions": _COUNTS,
                        "replicationFactor": _COUNTS,
                        "configs": ByName(_SETTINGS),
                        "relations": _RELATIONS,
                        "expression": _CLAIM,
                        "message": _WORDS,
                        "severity": _SEVERITY,
                    },
                    _T,
                    _L,
                ),
                ("name",),
            ),
        },
        _T,
        _L,
    ),
    "Ownership": _document(
        {
            # Without owners everything is permitted.
            "clusters": _clusters(more=_U),
            "teams": ByName(
                Fields(
                    {
                        "prefix": Texts(_L, _U, _L, _U),
                        "principals": Names(_L, _U, _L, _U, principals=True),
                        # Without it, the team's own directory.
                        "files": Texts(_U, _U, _L, _U, globs=True),
                    },
                    _U,
                    _U,
                )
            ),
            "owners": Records(
                Fields(
                    {
                        **_resources(_OWNED),
                        "team": _IDENTITY,
                        "denyAny": Value(_L, _T, _truth, _L, _T, default="false", alone=True),
                        # A file of no team may do what a team's may not: DENY on what nobody owns, declare owners.
                        "files": Texts(_L, _U, _L, _U, globs=True),
                        "principals": Names(_L, _U, _L, _U, principals=True),
                        "consents": _consents(_T),
                    },
                    _U,
                    _U,
                ),
                ("team",),
            ),
            # One that is in no file of its team is a breach, which ends with it.
            "consents": replace(_consents(_U, team=_IDENTITY), alone=True),
        },
        _U,
        _L,
    ),
    "Fleet": _document(
        {
            "waves": Records(
                Fields(
                    {
                        "name": _IDENTITY,
                        "clusters": _clusters(fewer=_U, more=_U),
                        "gate": Fields(
                            {
                                "soak": _floor(_soak),
                                "maxFailures": Value(_L, _T, _count, _L, _T, default="0"),
                            }
                        ),
                    },
                    _U,
                    _U,
                ),
                ("name",),
                ordered=True,
            ),
            "limits": Fields({"maxChangedClustersPercent": _ceiling(_count), "maxDeletes": _ceiling(_count)}),
        },
        _U,
        _L,
    ),
    # Of these two only what accepts findings, and what decides which rules a topic has to keep.
    "Acls": _document(
        {
            **_wanted("clusters", "principal", "principals", "rules", "owns", "reads", "writes"),
            "exceptions": _LINT_EXCEPTIONS,
        },
        labels=NotJudged("no rule asks for them"),
    ),
    "Topics": _document(
        {
            **_wanted("clusters", "defaults", "overrides"),
            "topics": Records(
                Fields(
                    {
                        **_wanted("partitions", "replicationFactor", "configs", "owner", "grants", "absent"),
                        **_wanted("replicaAssignments"),
                        "name": _IDENTITY,
                        "labels": ByName(_UNKNOWN),
                    }
                ),
                ("name",),
            ),
        }
    ),
}
