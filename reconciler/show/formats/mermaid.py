"""Who gains and loses what as a picture: a flowchart that GitHub and GitLab draw from a fence of Markdown.

A picture of more than a dozen nodes is an unreadable strip, so beyond that there is none. Labels are other people's
text: no sign of theirs means anything to Mermaid.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from reconciler.model.characters import safe, with_points
from reconciler.plan.review.access_change import AccessChange
from reconciler.show.access_lines import AccessLine, access_lines

#: More nodes or edges than these are not read but skipped.
MOST_NODES: Final = 12
MOST_EDGES: Final = 16
_NAMES_SHOWN: Final = 3
_LONGEST: Final = 40
#: A sign that joins two letters of a name: nothing begins or ends with it, for Mermaid or for Markdown in its labels.
_JOINING: Final = re.compile(r"(?<=[A-Za-z0-9])[.-](?=[A-Za-z0-9])")
#: Mermaid puts these around numbers of signs until it has drawn; a name that holds them would be taken for one.
_ITS_OWN: Final = str.maketrans({"\ufb02": "\\ufb02", "\xb6": "\\u00b6"})


def access_chart(rows: Iterable[AccessChange]) -> str:
    """The text of a flowchart, principals to names; empty where nothing moves, or too much for a picture."""
    lines = list(access_lines(rows, most_names=_NAMES_SHOWN, gravest_first=True))
    nodes = dict.fromkeys([*((line.who, "") for line in lines), *(("", _names(line)) for line in lines)])
    if not lines or len(nodes) > MOST_NODES or len(lines) > MOST_EDGES:
        return ""
    ids = {node: f"n{number}" for number, node in enumerate(nodes, 1)}
    shown = [f"  {ids[node]}[{_label(with_points(node[0]) or node[1])}]" for node in nodes]
    shown += [_edge(line, ids[line.who, ""], ids["", _names(line)]) for line in lines]
    return "\n".join(["flowchart LR", *shown, ""])


def _names(line: AccessLine) -> str:
    hosts = f" from {line.hosts}" if line.hosts else ""
    return f"{line.names.replace('`', '')}{hosts}"


def _edge(line: AccessLine, start: str, end: str) -> str:
    doubt = "" if line.certain else " perhaps"
    if line.sign == "+":
        return f"  {start} == {_label(f'gains {line.operations}{doubt}')} ==> {end}"
    return f"  {start} -. {_label(f'loses {line.operations}{doubt}')} .-> {end}"


def _label(text: str) -> str:
    """``text`` in quotes: letters and digits as they are, whatever else as its number."""
    shown = safe(text).translate(_ITS_OWN)
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    joining = {match.start() for match in _JOINING.finditer(shown)}
    return f'"{"".join(_sign(sign, joined=place in joining) for place, sign in enumerate(shown))}"'


def _sign(sign: str, *, joined: bool) -> str:
    plain = joined or (sign.isascii() and sign.isalnum())
    return sign if plain else f"#{ord(sign)};"


def chart_fence(rows: Sequence[AccessChange]) -> str:
    """The same as a fence of Markdown; empty where there is no picture."""
    chart = access_chart(rows)
    return f"\n```mermaid\n{chart}```\n" if chart else ""
