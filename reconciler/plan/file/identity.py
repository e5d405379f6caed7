"""A plan's three names.

``change-…`` and ``plan-…`` are digests over the whole document, less what differs between two plannings of one change
in one state: :data:`NOT_BOUND` lists it. What is not listed is bound, also fields that are added later, so nobody can
show one thing and have another approved. They detect change; they do not prove who wrote a plan: that comes from an
id that came through a trusted channel, from planning the merged commit again, or from signatures.

A person may write the beginning of an id for the whole id. Eight hexadecimal digits tell the plans of a day apart. They
do not withstand somebody who makes plans until one begins as the approved one does, some four billion tries: where no
person looks, ids are written in full.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from reconciler.codec.document import canonical

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
    "refusals": lambda found: [*map(_refusal, found)],
    "topics": _topics,
}


def whole_id(given: str, known: Collection[str]) -> str:
    """The only id of ``known`` that ``given`` is the beginning of; ``given`` itself where there is none, or several."""
    if given in known or not _ID.fullmatch(given):
        return given
    found = {item for item in known if item.startswith(given)}
    return found.pop() if len(found) == 1 else given


def _bound_text(name: str, value: Any, text: str) -> str:
    """The canonical text of what is bound of a field, whose own is ``text``."""
    less = _FIELDS.get(name)
    return _without_places(text) if less is None else canonical(less(value))


def _files_alone(value: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_without_places(canonical(value)))
    return found


def _without_places(text: str) -> str:
    """Canonical text with the files of its places alone: ``teams/pay.yaml:8:16`` as ``teams/pay.yaml``."""
    return _PLACE.sub(r'\1"', text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
