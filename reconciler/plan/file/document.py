"""A plan as canonical JSON: one top-level field a line, one list item a line, the digest of all that last.

``formatVersion`` keeps Terraform's rule: a reader ignores what it does not know in a newer minor version, and
refuses another major version. The file holds no address and no setting of a client.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from reconciler.codec import (
    Lines,
    Record,
    SchemaError,
    canonical,
    derived,
    field,
    flat,
    known_minor,
    load,
    record,
    same,
    schema_text,
    text,
)
from reconciler.model import Change
from reconciler.model.escape import escape_invisible_json
from reconciler.plan.file.codec import PLAN, STEP
from reconciler.plan.file.identity import ChangeDigest
from reconciler.plan.kinds import CHANGE, describe, kind_of
from reconciler.plan.proposal import Plan
from reconciler.plan.step import Step, id_of

T = TypeVar("T")
FORMAT_VERSION: Final = "1.0"
_DIGEST_LINE = re.compile(r',\n"digest":"(sha256:[0-9a-f]{64})"\n}\n')


class PlanFileError(Exception):
    """The text is no plan that this version can read, or it was altered; ``str()`` says which."""


class _Document(NamedTuple):
    """A plan with its ids."""

    change_id: str
    plan_id: str
    plan: Plan


_DOCUMENT: Final[Record[_Document]] = record(
    _Document,
    derived(
        "formatVersion",
        text(r"^1\.[0-9]+$"),
        "Another major version is not readable.",
        "1.0",
        get=lambda _: FORMAT_VERSION,
    ),
    field(
        "changeId",
        text("^change-[0-9a-f]{64}$"),
        "The ordered changes with what they expect; equal on clusters in the same state.",
        f"change-{'0' * 64}",
    ),
    field(
        "planId",
        text("^plan-[0-9a-f]{64}$"),
        "The change id with cluster, scope, options, acknowledgements and topic ids.",
        f"plan-{'0' * 64}",
    ),
    flat(PLAN, "plan"),
)


def plan_text(plan: Plan) -> str:
    """The file's text: byte for byte the same for the same plan."""
    document, items = _written(plan, _line)
    return seal(escape_invisible_json("{\n" + ",\n".join(_lines(document, items))))


def parse_plan(text: str) -> Plan:
    """The plan that :func:`plan_text` wrote; raises :class:`PlanFileError`."""
    verify_digest(text)
    try:
        document = load(text)
    except SchemaError as error:
        raise PlanFileError(f"not a saved plan: {error}") from error
    return plan_from_json(document)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON values, without the digest; what ``--output json`` prints."""
    document, items = _written(plan, same)
    return document | items


def plan_from_json(document: Mapping[str, Any]) -> Plan:
    """The plan of a document as :func:`plan_to_json` gives it; raises :class:`PlanFileError`.

    Guards' refusals are no part of it.
    """
    try:
        known_minor(document, FORMAT_VERSION)
        change, whole, plan = _DOCUMENT.read(document)
        found = _ids(plan, document["steps"])
    except SchemaError as error:
        raise PlanFileError(f"not a plan of format {FORMAT_VERSION}: {error}") from error
    if (change, whole) != found:
        raise PlanFileError("the plan's ids do not belong to its steps: the file was altered")
    if list(plan.steps) != sorted(plan.steps, key=lambda step: step.phase):
        raise PlanFileError("the steps are in an illegal order: the file was altered")
    if (twice := _touched_twice(plan.steps)) is not None:
        raise PlanFileError(f"two steps touch one thing, “{describe(twice)}” is the second: the file was altered")
    return plan


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as JSON values, without its effect on access."""
    return STEP.write(step)


def plan_schema_text() -> str:
    """The schema as it is in ``schema/plan.json``."""
    pattern = text("^sha256:[0-9a-f]{64}$")
    digest = field("digest", pattern, "Of every byte before this line.", f"sha256:{'0' * 64}")
    return schema_text("A saved plan", record(_Document, *_DOCUMENT.fields, digest))


def seal(body: str) -> str:
    """Close the text with the digest of what comes before it."""
    return f'{body},\n"digest":"{body_digest(body)}"\n}}\n'


def body_digest(body: str) -> str:
    """The digest that the last line carries."""
    return "sha256:" + hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def verify_digest(text: str) -> None:
    """Raises :class:`PlanFileError` where the text is not what was saved."""
    match = list(_DIGEST_LINE.finditer(text))
    if not match or match[-1].end() != len(text):
        raise PlanFileError("not a saved plan, or its end is missing: there is no digest on its last line")
    if body_digest(text[: match[-1].start()]) != match[-1].group(1):
        raise PlanFileError("the file was altered after it was written: its digest does not match")


def _written(plan: Plan, form: Callable[[Any], T]) -> tuple[dict[str, Any], dict[str, list[T]]]:
    """The document, and apart from it, by field, what ``form`` makes of each item that has a line of its own.

    The ids are taken from the steps as they are written, one at a time.
    """
    document: dict[str, Any] = _DOCUMENT.write(_Document("", "", plan))
    lines = {name: value.items for name, value in document.items() if isinstance(value, Lines)}
    changes = ChangeDigest()
    lines["steps"] = _added(lines["steps"], changes)
    items = {name: [form(item) for item in found] for name, found in lines.items()}
    document["changeId"], document["planId"] = changes.ids(plan)
    return document, items


def _ids(plan: Plan, steps: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """The ids of a plan that was read of ``steps``; raises :class:`SchemaError` where theirs are not right."""
    changes = ChangeDigest()
    for index, (step, found) in enumerate(zip(plan.steps, steps, strict=True)):
        written = CHANGE.write(step.change)
        if id_of(written) != found["id"]:
            raise SchemaError("is not the id of this change", f"steps[{index}].id")
        changes.add(int(step.phase), written)
    return changes.ids(plan)


def _added(steps: Iterable[dict[str, Any]], changes: ChangeDigest) -> Iterator[dict[str, Any]]:
    for step in steps:
        changes.add(step["phase"], step)
        yield step


def _line(item: Any) -> str:
    return f" {canonical(item)}"


def _lines(document: Mapping[str, Any], items: Mapping[str, list[str]]) -> Iterator[str]:
    for key, value in document.items():
        if (found := items.get(key)) is None:
            yield f'"{key}":{canonical(value)}'
        else:
            yield '"{}":[\n{}\n]'.format(key, ",\n".join(found)) if found else f'"{key}":[]'


def _touched_twice(steps: Iterable[Step]) -> Change | None:
    """The first change of what an earlier step changes: such a pair means one thing, and may do another."""
    seen: set[object] = set()
    for step in steps:
        keys = kind_of(step.change).touches(step.change)
        if not seen.isdisjoint(keys):
            return step.change
        seen |= keys
    return None
