"""The gravest of a plan's access in a few lines, for messages, test reports and code scanning.

Callouts have half the room, rows what callouts leave, and no line has much of it: whoever proposes a change chooses how
many rows it has and how long its names are, and must not be able to push out the one row that matters.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.plan import Plan
from reconciler.report.access_lines import AccessLine, access_lines, rows_shown
from reconciler.report.review_text import line_words
from reconciler.report.style import counted, safe

_NAMES_SHOWN: Final = 4
#: No line takes more of the room than this part of it.
_PART: Final = 3


@dataclass(frozen=True, slots=True)
class AccessDigest:
    """Lines that are safe to show: callouts first, then what is gained and lost, each the gravest first.

    They show ``shown`` of ``rows`` rows of access completely.
    """

    lines: tuple[str, ...] = ()
    shown: int = 0
    rows: int = 0

    @property
    def cut(self) -> str:
        """``11 of 3,996 rows of access shown``, which comes first; empty where all are shown."""
        return rows_shown(self.shown, self.rows) if self.shown < self.rows else ""


def access_digest(plans: Sequence[Plan], *, most: int, room: int) -> AccessDigest:
    """At most ``most`` lines, of ``room`` characters in all, about the access that all plans change together."""
    callouts = list(dict.fromkeys(f"! {safe(one.text)}" for plan in plans for one in plan.access.callouts))
    changes = [row for plan in plans for row in plan.access.access_changes]
    lines = list(access_lines(changes, most_names=_NAMES_SHOWN, gravest_first=True))
    said = [f"{line.sign} {line_words(line)}" for line in lines]
    above = _fitting(callouts, most // 2, room // 2)
    more = len(callouts) - len(above)
    above += [f"{counted(more, 'more warning')} about access"] if more else []
    below = _fitting(said, most - len(above), room - sum(len(line) + 1 for line in above))
    shown = sum(_named(line) for line, text, kept in zip(lines, said, below, strict=False) if text == kept)
    return AccessDigest((*above, *below), shown, sum(line.rows for line in lines))


def _named(line: AccessLine) -> int:
    return line.rows - line.unnamed


def _fitting(texts: Iterable[str], most: int, room: int) -> list[str]:
    """The first lines, as many as fit; one that is too long is cut and not skipped: it may be the grave one."""
    kept: list[str] = []
    longest = room // _PART
    for text in texts:
        line = text if len(text) <= longest else f"{text[: longest - 1]}…"
        room -= len(line) + 1
        if room < 0 or len(kept) == most:
            break
        kept.append(line)
    return kept
