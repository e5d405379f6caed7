"""Small pieces that the sections of a Markdown report share."""

from collections.abc import Callable
from typing import Final

from reconciler.model import Origin
from reconciler.report.formats.escaping import markdown_code as code
from reconciler.report.style import counted

#: So many plans are shown; of others only their number, and what stands out in them.
MOST_PLANS: Final = 20
_LONGEST_NAME: Final = 100
#: The same as it is written: a sign that Markdown could take for something becomes up to nine.
_LONGEST_CODE: Final = 200


def cut(text: str) -> str:
    """What always stands has to stay short, however long its signs become."""
    if len(text) <= _LONGEST_NAME and len(code(text)) <= _LONGEST_CODE:
        return text
    kept = text[: _LONGEST_NAME - 1]
    while len(code(kept)) > _LONGEST_CODE:
        kept = kept[:-1]
    return f"{kept}…"


def on_cluster(cluster: str) -> str:
    """`` on `prod```; empty for no cluster."""
    return f" on {code(cluster)}" if cluster else ""


def at(place: Origin | None) -> str:
    """The place, small."""
    return f" <sub>{code(str(place))}</sub>" if place is not None else ""


def more(noun: str, plural: str = "") -> Callable[[int], str]:
    """What a section says of rows that had no room."""

    def words(number: int) -> str:
        which = counted(number, noun) if number == 1 or not plural else f"{number:,} {plural}"
        return f"\n*{which} more; the full report has them.*\n"

    return words
