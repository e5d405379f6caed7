"""Live client quotas as one ``Quotas`` document."""

from collections.abc import Iterator
from typing import Any, Final

from reconciler.codec.kinds import json_kind
from reconciler.manifest import right_form
from reconciler.manifest.kinds.quotas import quota_name_problem
from reconciler.model import ListedItem
from reconciler.model.kinds.quota import CLIENT_ID, IP, MAX_LIMIT, QUOTA_KEYS, USER, ClientQuota
from reconciler.report.export.expressible import text_problem
from reconciler.report.export.kinds.interface import Kind
from reconciler.report.export.kinds.listed import ListedKind
from reconciler.report.export.yaml_text import scalar

_FIELDS: Final = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}


def quota_problem(quota: ClientQuota) -> str | None:
    """Why no manifest can declare the quota, or ``None``."""
    named = dict(quota.entity.parts)
    if named.keys() - _FIELDS.keys() or (IP in named and len(named) > 1):
        return "no manifest has such an entity"
    if problem := next(filter(None, map(text_problem, named.values())), None):
        return problem
    for kind, name in quota.entity.parts:
        if name and (problem := quota_name_problem(kind, name)):
            return problem
    for key, value in quota.values.items():
        if key not in QUOTA_KEYS or QUOTA_KEYS[key].of_ip is not (IP in named):
            return f"no manifest has {key} for it"
        if not 0 < value <= MAX_LIMIT or (QUOTA_KEYS[key].whole and value != int(value)):
            return f"{key} is {value:g}, which Kafka does not take from a client"
        if float(_number(value)) != value:
            return f"{key} has more decimals than a manifest"
    return None if quota.values else "it limits nothing"


def _item(quota: ClientQuota) -> Iterator[str]:
    named = dict(quota.entity.parts)
    sides = (f"{field}: {_name(named[kind])}" for kind, field in _FIELDS.items() if kind in named)
    limits = ", ".join(f"{key}: {_number(value)}" for key, value in quota.values.items())
    yield f"    - {{{', '.join(sides)}, limits: {{{limits}}}}}"


def _name(name: str) -> str:
    return scalar(name, flow=True) if name else "{default: true}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.9f}".rstrip("0")


class _Quotas(ListedKind):
    def problem_among(self, item: ListedItem, items: list[ListedItem]) -> str | None:
        """Also that an earlier one is of the same address, which no manifest declares twice."""
        address = _address(item)
        earlier = items[: items.index(item)] if address else []
        spelt = any(_address(other) == address for other in earlier)
        return self.problem(item) or ("another quota is of the same address in another spelling" if spelt else None)


def _address(item: Any) -> str | None:
    return right_form(dict(item.entity.parts).get(IP, "")) or None


KIND: Final[Kind] = _Quotas(json_kind(ClientQuota), "Quotas", "quotas", quota_problem, _item)
