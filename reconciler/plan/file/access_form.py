"""The access review as a plan file spells it, and back: regions as manifests write names."""

from typing import Any

from reconciler.access import NameSet, Region, Witness
from reconciler.access.name_set import ALL_NAMES, ASTERISK_NAMES, literal
from reconciler.model import WILDCARD, AclOperation, ResourceType
from reconciler.plan.file.binding_form import binding_from, origin_from
from reconciler.plan.kinds.acl import binding_side
from reconciler.plan.review.access_review import AccessReview
from reconciler.plan.review.callouts import Callout
from reconciler.plan.review.consequence import Consequence, Spared
from reconciler.plan.review.effects import Effect, EffectKind


def access_side(access: AccessReview) -> dict[str, Any]:
    """Rows of gained and lost access, and whom they leave out."""
    return {
        "rows": [_row_side(row) for row in access.consequences],
        "exceptions": [{"principal": spared.principal, **_region_side(spared.region)} for spared in access.exceptions],
        "morePrincipals": access.more_principals,
        "denials": access.denials,
    }


def callout_side(callout: Callout) -> dict[str, str]:
    """One grant that stands out."""
    return {"rule": callout.rule, "principal": callout.principal, "text": callout.text}


def effect_side(effect: Effect | None) -> dict[str, Any] | None:
    """What a step does to access."""
    if effect is None:
        return None
    return {
        "kind": str(effect.kind),
        "coveredBy": None if effect.covered_by is None else binding_side(effect.covered_by),
        "origin": None if effect.origin is None else str(effect.origin),
    }


def access_from(side: dict[str, Any], callouts: list[Any], effects: list[Any]) -> AccessReview:
    """The inverse of the three; ``effects`` go in the order of the steps.

    Raises ``KeyError``, ``TypeError`` or ``ValueError``.
    """
    return AccessReview(
        tuple(map(_row_from, side["rows"])),
        tuple(map(_effect_from, effects)),
        tuple(Callout(item["rule"], item["principal"], item["text"]) for item in callouts),
        tuple(Spared(item["principal"], _region_from(item)) for item in side["exceptions"]),
        side["morePrincipals"],
        side["denials"],
    )


def _row_side(row: Consequence) -> dict[str, Any]:
    return {
        "principal": row.principal,
        "hosts": row.hosts,
        **_region_side(row.region),
        "gained": [operation.name for operation in row.gained],
        "lost": [operation.name for operation in row.lost],
        "witness": {"principal": row.witness.principal, "host": row.witness.host, "name": row.witness.resource_name},
        "topics": {"count": row.topic_count, "first": list(row.topics)},
        "reading": row.reading,
    }


def _row_from(side: dict[str, Any]) -> Consequence:
    witness = side["witness"]
    return Consequence(
        side["principal"],
        side["hosts"],
        _region_from(side),
        tuple(AclOperation[name] for name in side["gained"]),
        tuple(AclOperation[name] for name in side["lost"]),
        Witness(witness["principal"], witness["host"], witness["name"]),
        tuple(side["topics"]["first"]),
        side["topics"]["count"],
        side["reading"],
    )


def _region_side(region: Region) -> dict[str, Any]:
    return {
        "resourceType": region.resource_type.name,
        "names": _key_side(region.names),
        "except": [_key_side(cut) for cut in region.cuts],
        "description": region.describe(),
    }


def _region_from(side: dict[str, Any]) -> Region:
    return Region(ResourceType[side["resourceType"]], _key_from(side["names"]), tuple(map(_key_from, side["except"])))


def _key_side(key: NameSet) -> dict[str, Any]:
    if key == ALL_NAMES:
        return {"any": True}
    if key == ASTERISK_NAMES:
        return {"longerThan": WILDCARD}
    return {"literal" if key.literal else "prefix": key.text}


def _key_from(side: dict[str, Any]) -> NameSet:
    match side:
        case {"any": True}:
            return ALL_NAMES
        case {"longerThan": str()}:
            return ASTERISK_NAMES
        case {"literal": str(text)}:
            return literal(text)
        case {"prefix": str(text)}:
            return NameSet(text)
    raise ValueError(f"no names: {side!r}")


def _effect_from(side: dict[str, Any] | None) -> Effect | None:
    if side is None:
        return None
    covered = side["coveredBy"]
    return Effect(
        EffectKind(side["kind"]),
        None if covered is None else binding_from(covered),
        origin_from(side["origin"]),
    )
