"""A plan's access review in words: who gains and who loses what, what stands out, what each step does."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from reconciler.plan import EVERYBODY_ELSE, AccessReview, Effect, EffectKind
from reconciler.plan.review.access_change import ending_words
from reconciler.plan.review.callouts import LOGIN
from reconciler.report.access_lines import LINES_SHOWN, NAMES_SHOWN, AccessLine, ordered_lines, rows_shown
from reconciler.report.document import Row, Section, SectionName, section_lines
from reconciler.report.style import Style, counted, plain, safe
from reconciler.report.words import binding_words

_GRAVEST_SHOWN: Final = 20
_PERHAPS: Final = "  (perhaps)"
_WHY_PERHAPS: Final = "perhaps: depends on what is not known about the cluster (default-allow, unreadable ACLs)"


def review_lines(access: AccessReview, style: Style = plain, *, expand: bool = False) -> Iterator[str]:
    """The section of :func:`access_section` as lines."""
    yield from section_lines(access_section(access, access_lines_of(access, expand=expand), expand=expand), style)


def access_section(access: AccessReview, lines: Sequence[AccessLine], *, expand: bool = False) -> Section:
    """A title that counts, gains and losses (of more than 40 lines the gravest 20 unless ``expand``), callouts.

    ``lines`` are those of :func:`access_lines_of`.
    """
    rows = access_rows(access, lines, expand=expand)
    found = access.callouts[: callouts_shown(access, expand=expand)]
    rows += [Row(callout.text, "!", "warn", callout.rule) for callout in found]
    return Section(SectionName.ACCESS, f"Access: {access_title(access)}", tuple(rows))


def access_rows(access: AccessReview, lines: Sequence[AccessLine], *, expand: bool = False) -> list[Row]:
    """The rows of ``lines``, which are those of ``access``, and what is said about all of them."""
    shown = lines[: _shown(len(lines), expand=expand)]
    rows = [Row(line_words(line), line.sign, "add" if line.sign == "+" else "remove") for line in shown]
    if len(lines) > len(shown):
        rows.append(Row("", unnamed=len(lines) - len(shown)))
    if not all(line.certain for line in lines):
        rows.append(Row(_WHY_PERHAPS, role="dim"))
    if access.more_principals:
        more = counted(access.more_principals, "more principal")
        rows.append(Row(f"{more} with ACLs of their own gain or lose through User:* and are not listed", role="dim"))
    return rows


def callouts_shown(access: AccessReview, *, expand: bool = False) -> int:
    """How many callouts :func:`review_lines` shows; they come the gravest first."""
    return _shown(len(access.callouts), expand=expand)


def _shown(lines: int, *, expand: bool) -> int:
    """All, or where there are so many that most of them are left out, as many as fit a screen with what follows."""
    return lines if expand or lines <= LINES_SHOWN else _GRAVEST_SHOWN


def cut_words(access: AccessReview, *, expand: bool = False, lines: Sequence[AccessLine] | None = None) -> str:
    """``40 of 3,996 rows of access shown``; empty where :func:`review_lines` shows all that the plan holds."""
    cut = rows_cut(access, expand=expand, lines=lines)
    return "" if cut is None else rows_shown(*cut)


def rows_cut(
    access: AccessReview, *, expand: bool = False, lines: Sequence[AccessLine] | None = None
) -> tuple[int, int] | None:
    """How many rows :func:`review_lines` shows, and of how many; ``None`` where it shows all that the plan holds."""
    lines = access_lines_of(access, expand=expand) if lines is None else lines
    shown = lines[: _shown(len(lines), expand=expand)]
    rows, named = sum(line.rows for line in lines), sum(line.rows - line.unnamed for line in shown)
    return (named, rows) if named < rows else None


def access_lines_of(access: AccessReview, *, expand: bool) -> list[AccessLine]:
    """All lines of gains and losses, in the order of the text."""
    return ordered_lines(access.access_changes, expand=expand, most_names=None if expand else NAMES_SHOWN)


def line_words(line: AccessLine) -> str:
    """``User:a: READ on topic `x` from 10.0.0.1``, safe to show; without its sign."""
    topics = f" ({line.topics})" if line.topics else ""
    hosts = f" from {line.hosts}" if line.hosts else ""
    note = f"  ({line.note})" if line.note else ""
    return safe(
        f"{line.name}: {line.operations} on {line.names}{topics}{hosts}{'' if line.certain else _PERHAPS}{note}"
    )


def access_title(access: AccessReview) -> str:
    """``2 principals gain, 1 principal loses``."""
    gaining, losing, later = movers(access)
    verbs = ((gaining, "gain", ""), (losing, "lose", ""), (later, "gain", later_words(access)))
    said = [f"{_who(found)} {verb}{'' if len(found) > 1 else 's'}{more}" for found, verb, more in verbs if found]
    if said:
        return ", ".join(said)
    logins = any(one.rule == LOGIN for one in access.callouts)
    return "no ACL gives or takes anything, and logins change" if logins else "nobody gains or loses anything"


def movers(access: AccessReview) -> tuple[set[str | None], set[str | None], set[str | None]]:
    """Who gains now, who loses now, and who gains at a later end; ``None`` is everybody else."""
    now = access.at_once.access_changes
    later = {row.principal for row in access.access_changes if row.since is not None}
    return {row.principal for row in now if row.gained}, {row.principal for row in now if row.lost}, later


def later_words(access: AccessReview) -> str:
    """`` on 2027-02-23, when a DENY ends``: the first end at which somebody gains; empty where there is none."""
    first = min((row.since for row in access.access_changes if row.since is not None), default=None)
    return "" if first is None else f" {ending_words(first)}"


def _who(found: Collection[str | None]) -> str:
    """``2 principals``, ``everybody else and 1 principal``."""
    named = len(found) - (None in found)
    parts = [EVERYBODY_ELSE] if None in found else []
    return " and ".join([*parts, counted(named, "principal")] if named else parts)


def effect_words(effect: Effect | None) -> str:
    """``grant``; ``redundant: covered by User:a ALLOW ALL on TOPIC PREFIXED x, acls.yaml:3:5``."""
    if effect is None:
        return ""
    if effect.kind is EffectKind.NARROWS_NEW:
        return "narrows an ALLOW of this plan"
    if effect.kind is not EffectKind.REDUNDANT or effect.covered_by is None:
        return str(effect.kind).replace("-", " ")
    place = "" if effect.origin is None else f", {effect.origin}"
    return f"redundant: covered by {binding_words(effect.covered_by)}{place}"
