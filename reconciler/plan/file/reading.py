"""A saved plan's text back to the plan, refused if a byte of it changed or its steps are in an illegal order.

Only the steps and what they expect are taken from a file: whoever applies it computes guards and order again.
"""

import datetime
import json
import re
from collections.abc import Iterable
from typing import Any

from reconciler.diff import Skipped, SkipReason
from reconciler.model import (
    Change,
    ClientQuota,
    Create,
    Delete,
    Impossible,
    Topic,
    TopicConfigs,
    TopicPartitions,
    Update,
)
from reconciler.plan.conditional import bridges_from
from reconciler.plan.coverage import CoverageChange
from reconciler.plan.file.access_form import access_from
from reconciler.plan.file.binding_form import binding_from, origin_from, pattern_from
from reconciler.plan.file.conformity import misfit
from reconciler.plan.file.document import FORMAT_VERSION, body_digest, camel
from reconciler.plan.file.identity import ids
from reconciler.plan.file.scope_form import scope_from
from reconciler.plan.file.topic_review_form import topic_review_from
from reconciler.plan.guards import Acknowledgement, Guard, Limits
from reconciler.plan.kinds import describe
from reconciler.plan.kinds import quota as quota_kind
from reconciler.plan.kinds.acl import touched_binding
from reconciler.plan.phase import Phase
from reconciler.plan.proposal import Counts, Options, Plan, Terms
from reconciler.plan.selection import Selection
from reconciler.plan.step import Step

_DIGEST_LINE = re.compile(r',\n"digest":"(sha256:[0-9a-f]{64})"\n}\n')


class PlanFileError(Exception):
    """The text is no plan that this version can read, or it was altered; ``str()`` says which."""


def parse_plan(text: str) -> Plan:
    """The plan that :func:`plan_text` wrote; raises :class:`PlanFileError`."""
    return plan_from(_sealed(text))


def plan_from(document: dict[str, Any]) -> Plan:
    """The plan of a document that was read already, as ``--output json`` prints it; raises :class:`PlanFileError`.

    Guards' refusals are no part of it.
    """
    _check_version(document.get("formatVersion"))
    # What a command prints is not sealed; what was saved had its digest checked before.
    if (place := misfit({"digest": body_digest(""), **document})) is not None:
        raise PlanFileError(f"not a plan of format {FORMAT_VERSION}: {place.lstrip('.')} is missing or of another kind")
    try:
        plan = _plan(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlanFileError(f"not a plan of format {FORMAT_VERSION}: {error!r}") from error
    named = (document.get("changeId"), document.get("planId"))
    if named != ids(plan):
        raise PlanFileError("the plan's ids do not belong to its steps: the file was altered")
    if list(plan.steps) != sorted(plan.steps, key=lambda step: step.phase):
        raise PlanFileError("the steps are in an illegal order: the file was altered")
    if (twice := _touched_twice(plan.steps)) is not None:
        raise PlanFileError(f"two steps touch one thing, “{describe(twice)}” is the second: the file was altered")
    return plan


def _touched_twice(steps: Iterable[Step]) -> Change | None:
    """The first change of what an earlier step changes: such a pair means one thing, and may do another.

    A live topic may get partitions and settings; one that is created or deleted has no other step.
    """
    seen: set[object] = set()
    for step in steps:
        match step.change:
            case Create(Topic() as topic) | Delete(Topic() as topic):
                keys: set[object] = {(topic.name, side) for side in (TopicPartitions, TopicConfigs)}
            case Create(ClientQuota(entity)) | Delete(ClientQuota(entity)) | Update(_, ClientQuota(entity)):
                keys = {entity}
            case Update(_, after):
                keys = {(after.name, type(after))}
            case change:
                keys = {touched_binding(change)}
        if not seen.isdisjoint(keys):
            return step.change
        seen |= keys
    return None


def _sealed(text: str) -> dict[str, Any]:
    match = list(_DIGEST_LINE.finditer(text))
    if not match or match[-1].end() != len(text):
        raise PlanFileError("not a saved plan, or its end is missing: there is no digest on its last line")
    body = text[: match[-1].start()]
    if body_digest(body) != match[-1].group(1):
        raise PlanFileError("the file was altered after it was written: its digest does not match")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanFileError(f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise PlanFileError("not a saved plan: the text is no JSON object")
    return document


def _check_version(version: object) -> None:
    if not isinstance(version, str) or version.partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        raise PlanFileError(f"plan format {version} cannot be read by this version, which writes {FORMAT_VERSION}")


def _plan(side: dict[str, Any]) -> Plan:
    options, coverage, counts = side["options"], side["coverage"], side["counts"]
    return Plan(
        cluster_id=side["cluster"]["id"],
        terms=_terms(side["terms"], side["cluster"]["name"]),
        options=Options(options["allowDeletes"], Selection(tuple(options["only"]), tuple(options["exclude"]))),
        as_of=datetime.date.fromisoformat(side["asOf"]),
        steps=tuple(_step(item) for item in side["steps"]),
        skipped=tuple(_left(item) for item in side["left"]),
        warnings=tuple(side["warnings"]),
        acknowledgements=tuple(
            Acknowledgement(Guard(ack["guard"]), ack["object"], ack["reason"]) for ack in side["acknowledgements"]
        ),
        coverage=CoverageChange(*(tuple(map(pattern_from, coverage[way])) for way in ("closed", "opened"))),
        counts=Counts(*(counts[camel(name)] for name in Counts.__slots__)),
        tool_version=side["toolVersion"],
        source_commit=side["sourceCommit"],
        topics=topic_review_from(side.get("topics")),
        access=access_from(side["access"], side["callouts"], [step["effect"] for step in side["steps"]]),
        bridges=bridges_from(side["conditional"], side["unbridged"]),
    )


def _terms(side: dict[str, Any], name: str) -> Terms:
    limits = side["limits"]
    return Terms(
        cluster=name,
        scope=scope_from(side["scope"]),
        default_allow=side["allowEveryoneIfNoAclFound"],
        limits=Limits(limits["maxDeletes"], limits["maxDeletePercent"]),
        prune_topics=side["pruneTopics"],
        prune_quotas=side["pruneQuotas"],
        ignore_configs=tuple(side["ignoreConfigs"]),
        barrier_wait=side["barrierWaitSeconds"],
        probe=side.get("barrierProbe"),
        barrier_seconds=side.get("barrierSeconds", 30.0),
        brokers=tuple(side.get("brokers", ())),
    )


def _step(side: dict[str, Any]) -> Step:
    step = Step(
        Phase(side["phase"]),
        change_from(side["action"], side["before"], side["after"]),
        origin_from(side["origin"]),
        None if side["expires"] is None else datetime.date.fromisoformat(side["expires"]),
        side["reason"],
        side["ticket"],
    )
    if step.id != side["id"]:
        raise ValueError(f"step {side['id']} is not what its id says")
    return step


def change_from(action: str, before: Any, after: Any) -> Change:
    """The inverse of :func:`reconciler.plan.step.sides`; raises ``KeyError``, ``TypeError`` or ``ValueError``."""
    match action:
        case "CreateAcl":
            return Create(binding_from(after))
        case "DeleteAcl":
            return Delete(binding_from(before))
        case "CreateTopic":
            return Create(_topic(after))
        case "DeleteTopic":
            return Delete(_topic(before))
        case "CreatePartitions":
            name, topic_id = before["name"], before["topicId"]
            fewer, more = before["partitions"], after["partitions"]
            if fewer is None or more is None:
                raise ValueError(f"topic {name} gets partitions, and how many is missing")
            return Update(
                TopicPartitions(name, fewer, topic_id), TopicPartitions(name, more, topic_id, _assignments(after))
            )
        case "AlterConfigs":
            if before["configs"].keys() != after["configs"].keys():
                raise ValueError(f"the settings of topic {before['name']} before and after are not the same ones")
            name, topic_id = before["name"], before["topicId"]
            return Update(
                TopicConfigs(name, before["configs"], topic_id), TopicConfigs(name, after["configs"], topic_id)
            )
        case "CreateQuota" | "AlterQuota" | "DeleteQuota":
            return quota_kind.from_json(action, before, after)
        case "Impossible":
            kind = next(key for key in before if key != "name")
            return Impossible(kind, before["name"], before[kind], after[kind], "")
    raise ValueError(f"unknown action {action!r}")


def _left(side: dict[str, Any]) -> Skipped:
    change = change_from(side["action"], side["before"], side["after"]) if "action" in side else None
    if isinstance(change, Impossible):
        change = Impossible(change.what, change.name, change.before, change.after, side["detail"])
    return Skipped(SkipReason(side["reason"]), side["subject"], side["detail"], change, origin_from(side["origin"]))


def _topic(side: dict[str, Any]) -> Topic:
    return Topic(
        side["name"],
        side["partitions"],
        side["replicationFactor"],
        side["configs"],
        side["topicId"],
        _assignments(side),
    )


def _assignments(side: dict[str, Any]) -> tuple[tuple[int, ...], ...] | None:
    found = side.get("replicaAssignments")
    return None if found is None else tuple(tuple(map(int, replicas)) for replicas in found)
