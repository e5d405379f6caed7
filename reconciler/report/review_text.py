"""A plan's access review as text: who gains and who loses what, what stands out, what each step does."""

from collections.abc import Collection, Iterator
from typing import Final

from reconciler.plan import EVERYBODY_ELSE, AccessReview, Effect, EffectKind
from reconciler.report.access_lines import AccessLine, access_lines
from reconciler.report.style import Style, counted, plain, safe
from reconciler.report.words import binding_words

_LINES_SHOWN: Final = 40
_NAMES_SHOWN: Final = 4
_PERHAPS: Final = "  (perhaps)"
_WHY_PERHAPS: Final = (
    "  perhaps: depends on what is not known about the cluster (default-allow, ACLs that cannot be named)"
)


def review_lines(access: AccessReview, style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """A title that counts, a line for each gain and each loss (at most 40 unless ``expand``), callouts."""
    lines = list(access_lines(access.access_changes, expand=expand, most_names=_NAMES_SHOWN))
    yield style("title", f"Access: {_title(access)}")
    shown = lines if expand or len(lines) <= _LINES_SHOWN else lines[:_LINES_SHOWN]
    yield from (style("add" if line.sign == "+" else "remove", f"  {line.sign} {_words(line)}") for line in shown)
    if len(lines) > len(shown):
        yield f"    {len(lines) - len(shown):,} more lines; --expand shows them"
    if not all(line.certain for line in lines):
        yield style("dim", _WHY_PERHAPS)
    if access.more_principals:
        more = counted(access.more_principals, "more principal")
        yield style("dim", f"  {more} with ACLs of their own gain or lose through User:* and are not listed")
    for callout in access.callouts:
        yield style("warn", f"  ! {safe(callout.text)}") + style("dim", f"  [{safe(callout.rule)}]")


def _words(line: AccessLine) -> str:
    topics = f" ({line.topics})" if line.topics else ""
    hosts = f" from {line.hosts}" if line.hosts else ""
    return safe(f"{line.who}: {line.operations} on {line.names}{topics}{hosts}{'' if line.certain else _PERHAPS}")


def _title(access: AccessReview) -> str:
    gaining = {row.principal for row in access.access_changes if row.gained}
    losing = {row.principal for row in access.access_changes if row.lost}
    verbs = ((gaining, "gain"), (losing, "lose"))
    said = [f"{_who(found)} {verb}{'' if len(found) > 1 else 's'}" for found, verb in verbs if found]
    return ", ".join(said) if said else "nobody gains or loses anything"


def _who(found: Collection[str | None]) -> str:
    """``2 principals``, ``everybody else and 1 principal``."""
    named = len(found) - (None in found)
    parts = [EVERYBODY_ELSE] if None in found else []
    return " and ".join([*parts, counted(named, "principal")] if named else parts)


def _capped(lines: list[str], *, expand: bool) -> Iterator[str]:
    if expand or len(lines) <= _LINES_SHOWN:
        yield from lines
        return
    yield from lines[:_LINES_SHOWN]
    yield f"    {len(lines) - _LINES_SHOWN:,} more lines; --expand shows them"


def effect_words(effect: Effect | None) -> str:
    """``grant``; ``redundant: covered by User:a ALLOW ALL on TOPIC PREFIXED x, acls.yaml:3:5``."""
    if effect is None:
        return ""
    if effect.kind is not EffectKind.REDUNDANT or effect.covered_by is None:
        return str(effect.kind).replace("-", " ")
    place = "" if effect.origin is None else f", {effect.origin}"
    return f"redundant: covered by {binding_words(effect.covered_by)}{place}"
