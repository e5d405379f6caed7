"""A plan as canonical JSON: one top-level field a line, one list item a line, the digest of all that last.

A file is read only if it is, byte for byte, what this program writes for the plan in it: an id binds the whole
document, so a reader must not skip a field that it does not know and show less than is approved. The file holds no
address and no setting of a client.

A plan has three names. ``change-…`` and ``plan-…`` are digests over the whole document, less what differs between two
plannings of one change in one state: :data:`NOT_BOUND` lists it. What is not listed is bound, also fields that are
added later, so nobody can show one thing and have another approved. They detect change; they do not prove who wrote a
plan: that comes from an id that came through a trusted channel, from planning the merged commit again, or from
signatures.

A person may write the beginning of an id for the whole id. Eight hexadecimal digits tell the plans of a day apart. They
do not withstand somebody who makes plans until one begins as the approved one does, some four billion tries: where no
person looks, ids are written in full.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, Never

from reconciler.codec.annotated import record_of
from reconciler.codec.codec import Lines, SchemaError, text
from reconciler.codec.document import canonical, known_minor, load, schema_text
from reconciler.codec.objects import derived, field
from reconciler.model.characters import escape_invisible_json
from reconciler.model.frozen import without_collector
from reconciler.model.listing import Change
from reconciler.model.says import Flat, Says
from reconciler.plan.file_codec import PLAN, STEP
from reconciler.plan.kinds import describe, kind_of
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Step

#: What no id binds, by its place in the document, and why two plannings of one change in one state differ in it.
NOT_BOUND: Final = MappingProxyType(
    {
        "changeId": "it is the id",
        "planId": "it is the id",
        "createdAt": "each planning has its own time",
        "sourceCommit": "the merged commit is not the commit that was reviewed",
        "asOf": "a change may be merged on another day; what has expired shows in the steps",
        "estimatedSeconds": "an estimate, from counts that are not bound",
        "loginWarnings": "the login that plans for a review may have fewer rights than the one that applies",
        "gaining": "others set limits meanwhile, and the login of a review may not read them; steps are bound",
        "counts.liveBindings": "others add and remove bindings that no step touches",
        "counts.outside": "others add and remove bindings that no step touches",
        "counts.ignored": "others add and remove bindings that no step touches",
        "counts.liveTopics": "others create and delete topics that no step touches",
        "topics.uses.*.sizeBytes": "measured; it grows while a plan is reviewed",
        "topics.uses.*.records": "measured; it grows while a plan is reviewed",
        "topics.uses.*.lastWrite": "measured; it moves while a plan is reviewed",
        "topics.uses.*.written": "measured; a topic that was empty is asked about again before it is deleted",
        "topics.validation.asked": "each planning asks at its own time",
        "refusals.message": "it may name a size, which is measured and grows while a plan is reviewed",
        "**.origin": "lines move with every edit above them; the file is bound",
        "**.role": "lines move with every edit above them; the file is bound",
        "guardrails.**.place": "lines move with every edit above them; the file is bound",
        "guardrails.**.related": "lines move with every edit above them; the file is bound",
    }
)
#: What names and counts one cluster: bound by ``plan-…``, not by ``change-…``, which is equal where all else is.
ONE_CLUSTER: Final = ("cluster", "counts", "topicId")

#: The fewest digits that may stand for an id, and those of a whole one.
_FEWEST_DIGITS: Final = 8
_DIGITS: Final = 64
_ID: Final = re.compile(rf"[a-z]+-[0-9a-f]{{{_FEWEST_DIGITS},{_DIGITS}}}")
_COUNTS: Final = frozenset(path.removeprefix("counts.") for path in NOT_BOUND if path.startswith("counts."))
_USES: Final = frozenset(path.removeprefix("topics.uses.*.") for path in NOT_BOUND if path.startswith("topics.uses."))
# In canonical text ``"origin":`` is a key: a quote within a string has a backslash before it, and neither a value nor a
# string goes on after its closing quote. Numbers that no place has (``x``, ``-1``) stay, so they are bound.
_KEYS: Final = ("origin", "role", "place", "related")
_QUOTED: Final = tuple(f'"{key}":' for key in _KEYS)
_PLACE: Final = re.compile(rf'("(?:{"|".join(_KEYS)})":"[^"\\]*(?:\\.[^"\\]*)*):[0-9]+:[0-9]+"')


class PlanDigest:
    """The ids of a plan's document, added field by field in its order; lists with a line for each item, by item.

    Each value comes with its canonical text, which whoever writes or compares a file has anyway: encoding 150,000
    steps once more for the ids would take as long as writing them.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self._meaning = hashlib.sha256()
        self._identity: dict[str, Any] = {}
        self._topics: list[Any] = []

    def field(self, name: str, value: Any, text: str) -> None:
        """The next field of the document."""
        if name in ONE_CLUSTER:
            self._identity[name] = json.loads(_bound_text(name, value, text))
        elif name not in NOT_BOUND:
            self._add(name, _bound_text(name, value, text))

    def begin(self, name: str) -> None:
        """The next field is a list, whose items follow."""
        if name not in NOT_BOUND:
            self._meaning.update(_encoded(f'["{name}"]\n'))

    def item(self, name: str, value: Any, text: str) -> None:
        """The next item of the list that was begun."""
        if name == "refusals":
            self._add(name, canonical(_refusal(value)))
        elif name not in NOT_BOUND:
            self._add(name, self._step_text(value, text) if name == "steps" else _without_places(text))

    def ids(self) -> tuple[str, str]:
        """The change id and the plan id."""
        change = f"change-{self._meaning.hexdigest()}"
        whole = {"change": change, "topicIds": self._topics, **self._identity}
        return change, f"plan-{hashlib.sha256(_encoded(canonical(whole))).hexdigest()}"

    def _add(self, name: str, text: str) -> None:
        # Canonical JSON holds no raw line break, so lines cannot run into one another.
        self._meaning.update(_encoded(f'["{name}",{text}]\n'))

    def _step_text(self, step: Mapping[str, Any], text: str) -> str:
        """The change id's text of a step: topic ids are of one cluster."""
        places = 2 if step["effect"] is None else 3
        if sum(map(text.count, _QUOTED)) == places and '"topicId":' not in text:
            return _without_places(text)
        # Few steps have a topic id; and a config may be called ``origin``, whose value is bound to the last character.
        sides = {side: self._without_id(step[side]) for side in ("before", "after")}
        facts = {name: value for name, value in step.items() if name not in sides}
        if any((step[side] or {}).get("topicId") is not None for side in sides):
            self._topics.append(facts.pop("id"))  # a digest of the sides, topic ids and all
        return canonical({**_files_alone(facts), **sides})

    def _without_id(self, side: dict[str, Any] | None) -> dict[str, Any] | None:
        if side is None or "topicId" not in side:
            return side
        self._topics.append(side["topicId"])
        return {key: value for key, value in side.items() if key != "topicId"}


def bound(document: Mapping[str, Any]) -> dict[str, Any]:
    """What of a plan's document the plan id binds, by field; steps with their topic ids."""
    return {
        name: json.loads(_bound_text(name, value, canonical(value)))
        for name, value in document.items()
        if name not in NOT_BOUND
    }


def file_digest(text: str) -> str:
    """``file-…``: every byte of a saved plan."""
    return f"file-{hashlib.sha256(text.encode()).hexdigest()}"


def _counts(counts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in counts.items() if name not in _COUNTS}


def _topics(topics: Mapping[str, Any]) -> dict[str, Any]:
    uses, asked = topics["uses"], topics["validation"]
    return {
        **topics,
        "uses": {name: {key: item for key, item in use.items() if key not in _USES} for name, use in uses.items()},
        "validation": asked and _files_alone({key: item for key, item in asked.items() if key != "asked"}),
    }


def _refusal(refusal: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in refusal.items() if key != "message"}


_FIELDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "counts": _counts,
    "refusals": lambda refusals: [*map(_refusal, refusals)],
    "topics": _topics,
}


def whole_id(given: str, ids: Collection[str]) -> str:
    """The only id of ``ids`` that ``given`` is the beginning of; ``given`` itself where there is none, or several."""
    if given in ids or not _ID.fullmatch(given):
        return given
    matches = {item for item in ids if item.startswith(given)}
    return matches.pop() if len(matches) == 1 else given


def _bound_text(name: str, value: Any, text: str) -> str:
    """The canonical text of what is bound of a field, whose own is ``text``."""
    less = _FIELDS.get(name)
    return _without_places(text) if less is None else canonical(less(value))


def _files_alone(value: Mapping[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_without_places(canonical(value)))
    return document


def _without_places(text: str) -> str:
    """Canonical text with the files of its places alone: ``teams/pay.yaml:8:16`` as ``teams/pay.yaml``."""
    return _PLACE.sub(r'\1"', text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


FORMAT_VERSION: Final = "1.0"
_DIGEST_LINE = re.compile(r',\n"digest":"(sha256:[0-9a-f]{64})"\n}\n')


class PlanFileError(Exception):
    """The text is no plan that this version can read, or it was altered; ``str()`` says which."""


class _Document(NamedTuple):
    """A plan with its ids."""

    change_id: Annotated[
        str,
        text("^change-[0-9a-f]{64}$"),
        Says(
            "All that planId binds, less names and counts of one cluster; equal on clusters in the same state.",
            f"change-{'0' * 64}",
        ),
    ]
    plan_id: Annotated[
        str,
        text("^plan-[0-9a-f]{64}$"),
        Says("The id to approve: of all that a reviewer sees and apply uses.", f"plan-{'0' * 64}"),
    ]
    plan: Annotated[Plan, PLAN, Flat]


_FORMAT: Final = derived(
    "formatVersion", text(r"^1\.[0-9]+$"), "Another major version is not readable.", "1.0", get=lambda _: FORMAT_VERSION
)
_DOCUMENT: Final = record_of(_Document, first=(_FORMAT,))


def plan_text(plan: Plan) -> str:
    """The file's text: byte for byte the same for the same plan."""
    digest = PlanDigest()
    with without_collector():
        fields = {name: "".join(pieces) for name, pieces in _written(_Document("", "", plan), digest)}
    change, whole = _remember(plan, digest)
    fields |= {"changeId": f'"changeId":"{change}"', "planId": f'"planId":"{whole}"'}
    return seal("{\n" + ",\n".join(fields.values()))


def parse_plan(text: str) -> Plan:
    """The plan that :func:`plan_text` wrote; raises :class:`PlanFileError`."""
    end = verify_digest(text)
    with without_collector():
        try:
            parsed = _read(load(text))
        except SchemaError as error:
            raise PlanFileError(f"not a saved plan: {error}") from error
        digest = PlanDigest()
        if not _is_text_of(parsed, text, end, digest):
            _refuse(parsed, load(text))
        _check_ids(parsed, digest)
    return parsed.plan


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values, without the digest; what ``--output json`` prints."""
    with without_collector():
        return _values(_Document("", "", plan), PlanDigest())


def plan_from_json(document: Mapping[str, Any]) -> Plan:
    """The plan of a document that has the fields of :func:`plan_to_json`; raises :class:`PlanFileError`."""
    with without_collector():
        parsed, digest = _read(document), PlanDigest()
        _check_values(document, _values(parsed, digest))
        _check_ids(parsed, digest)
    return parsed.plan


def ids(plan: Plan) -> tuple[str, str]:
    """The change id and the plan id, for the price of one: all of the plan is written for them, once."""
    if plan.known_ids is not None:
        return plan.known_ids
    digest = PlanDigest()
    with without_collector():
        for _, pieces in _written(_Document("", "", plan), digest):
            for _ in pieces:
                pass
    return _remember(plan, digest)


def change_id(plan: Plan) -> str:
    """``change-…``: as :func:`plan_id`, less what names and counts one cluster; equal on clusters in the same state."""
    return ids(plan)[0]


def plan_id(plan: Plan) -> str:
    """``plan-…``: the id to approve, of everything but what ``reconciler.plan.file.NOT_BOUND`` lists."""
    return ids(plan)[1]


def differences(plan: Plan, other: Plan) -> tuple[str, ...]:
    """The places in the documents of two plans, one for each field, where something differs that ids bind."""
    here, there = (bound(plan_to_json(item)) for item in (plan, other))
    return tuple(_difference(name, here[name], there[name]) for name in here if here[name] != there[name])


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as JSON values, without its effect on access."""
    return STEP.write(step)


def plan_schema_text() -> str:
    """The schema as it is in ``schema/plan.json``."""
    pattern = text("^sha256:[0-9a-f]{64}$")
    digest = field("digest", pattern, "Of every byte before this line.", f"sha256:{'0' * 64}")
    return schema_text("A saved plan", record_of(_Document, digest, first=(_FORMAT,)))


def seal(body: str) -> str:
    """Close the text with the digest of what comes before it."""
    return f'{body},\n"digest":"{body_digest(body)}"\n}}\n'


def body_digest(body: str) -> str:
    """The digest that the last line carries."""
    return "sha256:" + hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def verify_digest(text: str) -> int:
    """Where the digest's line begins; raises :class:`PlanFileError` where the text is not what was saved."""
    match = list(_DIGEST_LINE.finditer(text))
    if not match or match[-1].end() != len(text):
        raise PlanFileError("not a saved plan, or its end is missing: there is no digest on its last line")
    if body_digest(text[: match[-1].start()]) != match[-1].group(1):
        raise PlanFileError("the file was altered after it was written: its digest does not match")
    return match[-1].start()


def _read(document: Mapping[str, Any]) -> _Document:
    """The plan with the ids that the document says; raises :class:`PlanFileError`."""
    try:
        known_minor(document, FORMAT_VERSION)
        parsed = _DOCUMENT.read(document)
    except SchemaError as error:
        raise PlanFileError(f"not a plan of format {FORMAT_VERSION}: {error}") from error
    # Ids show that a file is what was approved. These two show that what was approved is a plan, whoever wrote it.
    steps = parsed.plan.steps
    if list(steps) != sorted(steps, key=lambda step: step.phase):
        raise PlanFileError("the steps are in an illegal order: the file was altered")
    if (twice := _touched_twice(steps)) is not None:
        raise PlanFileError(f"two steps touch one thing, “{describe(twice)}” is the second: the file was altered")
    return parsed


def _is_text_of(parsed: _Document, text: str, end: int, digest: PlanDigest) -> bool:
    """Whether ``text`` up to ``end`` is, byte for byte, what this program writes for the plan in it.

    What follows from other fields (ids of steps, whether one is destructive) is then what follows from them, nothing
    is there that was not read, and no value has a second spelling that would have another id.
    """
    at, between = 0, "{\n"
    # The same pass computes the ids, because to write 150,000 steps is what takes the time.
    for _, pieces in _written(parsed, digest):
        for piece in chain((between,), pieces):  # one at a time: all of them are another file in memory
            if not text.startswith(piece, at):
                return False
            at += len(piece)
        between = ",\n"
    return at == end


def _refuse(parsed: _Document, document: Mapping[str, Any]) -> Never:
    """Say in which place a document is not what this program writes for the plan in it."""
    written = _values(parsed, PlanDigest())
    _check_values(document, written)
    if unknown := sorted(document.keys() - written.keys() - {"digest"}):
        raise PlanFileError(f"it has fields that this version does not know and could not show: {', '.join(unknown)}")
    raise PlanFileError("it says what a plan says, and spells it otherwise than this version: the file was altered")


def _check_values(document: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """What follows from other fields must be what follows from them."""
    for name, value in written.items():
        if document.get(name) != value and name not in ("changeId", "planId"):
            place = _difference(name, document.get(name), value)
            raise PlanFileError(f"{place} is not what follows from the rest of the plan: the file was altered")


def _check_ids(parsed: _Document, digest: PlanDigest) -> None:
    if (parsed.change_id, parsed.plan_id) != _remember(parsed.plan, digest):
        raise PlanFileError("the plan's ids do not belong to its content: the file was altered")


def _difference(place: str, actual: Any, expected: Any) -> str:
    """The first place at which two JSON values differ."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in {**expected, **actual}:
            if key not in actual or key not in expected or actual[key] != expected[key]:
                return _difference(f"{place}.{key}", actual.get(key), expected.get(key))
    if isinstance(actual, list) and isinstance(expected, list) and len(actual) == len(expected):
        for index, (item, other) in enumerate(zip(actual, expected, strict=True)):
            if item != other:
                return _difference(f"{place}[{index}]", item, other)
    return place


def _written(document: _Document, digest: PlanDigest) -> Iterator[tuple[str, Iterator[str]]]:
    """Each field of the file with its text in pieces, a list's item by item; ``digest`` gets what is written."""
    for name, value in _DOCUMENT.write(document).items():
        yield name, _pieces(name, value, digest)


def _pieces(name: str, value: Any, digest: PlanDigest) -> Iterator[str]:
    if not isinstance(value, Lines):
        text = canonical(value)
        digest.field(name, value, text)
        yield f'"{name}":{escape_invisible_json(text)}'
        return
    digest.begin(name)
    first = between = f'"{name}":[\n '
    for item in value.items:
        text = canonical(item)
        digest.item(name, item, text)
        yield between + escape_invisible_json(text)
        between = ",\n "
    yield f'"{name}":[]' if between is first else "\n]"


def _values(document: _Document, digest: PlanDigest) -> dict[str, Any]:
    """The document with its ids; ``digest`` gets what is written."""
    written: dict[str, Any] = {}
    for name, value in _DOCUMENT.write(document).items():
        written[name] = list(value.items) if isinstance(value, Lines) else value
        again = Lines(iter(written[name])) if isinstance(value, Lines) else value
        for _ in _pieces(name, again, digest):
            pass
    written["changeId"], written["planId"] = _remember(document.plan, digest)
    return written


def as_shown(plan: Plan, shown: Plan) -> Plan:
    """``shown``, which is ``plan`` without what is told elsewhere, under the ids of the whole."""
    object.__setattr__(shown, "known_ids", ids(plan))
    return shown


def _remember(plan: Plan, digest: PlanDigest) -> tuple[str, str]:
    """The ids of a plan that ``digest`` has seen all of."""
    # A plan is frozen and so is all that it holds: what was computed once stays true.
    object.__setattr__(plan, "known_ids", digest.ids())
    return digest.ids()


def _touched_twice(steps: Iterable[Step]) -> Change | None:
    """The first change of what an earlier step changes: such a pair means one thing, and may do another."""
    seen: set[object] = set()
    for step in steps:
        keys = kind_of(step.change).touches(step.change)
        if not seen.isdisjoint(keys):
            return step.change
        seen |= keys
    return None
