"""Live client quotas as one ``Quotas`` document."""

from collections.abc import Collection, Iterator
from typing import Final

from reconciler.manifest import right_form
from reconciler.manifest.kinds.quotas import quota_name_problem
from reconciler.model import ClusterState, DesiredState
from reconciler.model.kinds.quota import CLIENT_ID, IP, MAX_LIMIT, QUOTA_KEYS, USER, ClientQuota
from reconciler.report.export.expressible import text_problem
from reconciler.report.export.kinds.interface import Inexpressible, Part
from reconciler.report.export.style import ExportStyle
from reconciler.report.export.yaml_text import document_head, scalar

_FIELDS: Final = {USER: "user", CLIENT_ID: "clientId", IP: "ip"}


def exported(state: ClusterState, style: ExportStyle) -> Part:
    """``quotas.yaml``, an item for each entity; nothing where nobody asked for quotas."""
    listing = state.listing(ClientQuota)
    found: list[tuple[ClientQuota, str | None]] = []
    addresses: set[str] = set()
    for quota in sorted(listing.items or ()):
        address = right_form(dict(quota.entity.parts).get(IP, "")) or ""
        spelt = "another quota is of the same address in another spelling" if address in addresses else None
        found.append((quota, quota_problem(quota) or spelt))
        addresses |= {address} - {""}
    left = tuple(Inexpressible(quota, f"quota of {quota.entity}", reason) for quota, reason in found if reason)
    lines = [line for quota, reason in found if reason is None for line in _item(quota)]
    files = {f"{ClientQuota.KIND}.yaml": [*document_head("Quotas", "quotas"), "  quotas:", *lines]} if lines else {}
    comments = [f"{item.subject}: {item.reason}" for item in left]
    comments += [f"The quotas may not be whole: {listing.gap}"] if listing.gap is not None else []
    return Part(files, left, tuple(comments))


def differences(
    state: ClusterState, wanted: DesiredState, left: Collection[object], style: ExportStyle
) -> Iterator[str]:
    """Quotas that the manifests have otherwise, or too many."""
    quotas = {quota.entity: quota for quota in state.listing(ClientQuota).items or () if quota not in left}
    declared = {entity: one.item for entity, one in wanted.of(ClientQuota).items() if not one.goes}
    yield from (f"quota of {entity} differs" for entity in sorted(quotas) if declared.get(entity) != quotas[entity])
    yield from (f"too much: quota of {entity}" for entity in sorted(declared.keys() - quotas.keys()))


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
