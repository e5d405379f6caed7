"""A plan's three names.

They detect change; they do not prove who wrote a plan. That comes from ``--require-id`` through a trusted channel,
or from planning the merged commit again and comparing ids.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from reconciler.codec import canonical
from reconciler.codec.scope import SCOPE
from reconciler.plan.file.terms import ACKNOWLEDGEMENT, OPTIONS
from reconciler.plan.kinds import CHANGE
from reconciler.plan.proposal import Plan


def change_id(plan: Plan) -> str:
    """``change-…``: the ordered changes with what they expect. Equal on every cluster in the same state."""
    return ids(plan)[0]


def plan_id(plan: Plan) -> str:
    """``plan-…``: the change id, the cluster, scope, options, acknowledgements, and the topics meant by their ids.

    Neither date nor commit nor lines nor times are part of it.
    """
    return ids(plan)[1]


def ids(plan: Plan) -> tuple[str, str]:
    """The change id and the plan id, for the price of one."""
    digest = ChangeDigest()
    for step in plan.steps:
        digest.add(int(step.phase), CHANGE.write(step.change))
    return digest.ids(plan)


class ChangeDigest:
    """The ids of a plan whose changes are added in order, as they are written: 150,000 are not written twice."""

    def __init__(self) -> None:
        """No change yet."""
        self._changes = hashlib.sha256()
        self._before = "["
        self._topics: dict[str, str] = {}

    def add(self, phase: int, change: Mapping[str, Any]) -> None:
        """The next change; ``change`` has its action, before and after."""
        before, after = self._without_id(change["before"]), self._without_id(change["after"])
        text = f"{self._before}{canonical([phase, change['action'], before, after])}"
        self._changes.update(_encoded(text))
        self._before = ","

    def ids(self, plan: Plan) -> tuple[str, str]:
        """The change id and the plan id of ``plan``, all of whose changes were added."""
        changes = self._changes.copy()
        changes.update(b"[]" if self._before == "[" else b"]")
        change = f"change-{changes.hexdigest()}"
        whole = {
            "change": change,
            "cluster": plan.cluster_id,
            "scope": SCOPE.write(plan.terms.scope),
            "options": OPTIONS.write(plan.options),
            "acknowledgements": [ACKNOWLEDGEMENT.write(ack) for ack in plan.acknowledgements],
            "topics": self._topics,
        }
        return change, f"plan-{hashlib.sha256(_encoded(canonical(whole))).hexdigest()}"

    def _without_id(self, side: dict[str, Any] | None) -> dict[str, Any] | None:
        """A topic's id is of one cluster: it is kept for the plan id."""
        if side is None or "topicId" not in side:
            return side
        if side["topicId"]:
            self._topics[side["name"]] = side["topicId"]
        return {key: value for key, value in side.items() if key != "topicId"}


def file_digest(text: str) -> str:
    """``file-…``: every byte of a saved plan."""
    return f"file-{hashlib.sha256(text.encode()).hexdigest()}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
