"""How a state is written as manifests: which roles, which files, which comments."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from reconciler.dataclass import dataclass
from reconciler.model import AclBinding
from reconciler.report.export.yaml_text import comment

_MOST_FILES: Final = 4
_MOST_TOPS: Final = 12
#: In characters, for the places in one file.
_ROOM: Final = 60


@dataclass(frozen=True, slots=True)
class ExportStyle:
    """With ``roles``, built-in roles say what they say exactly; with ``implied``, they may add DESCRIBE, if implied.

    ``places`` are paths without an ending, by binding and by the name of a topic: everything with one path goes into
    one file. What has none goes to the file of its principal, or to that of its topic's prefix. ``notes`` become
    comments above the rule or the topic, ``origins`` (``file:line`` or ``file:address``) one above the document,
    and ``tops``, the comments above the source's documents, too.
    With ``together``, principals of one file with equal rules share a document, and a rule names topics, groups and
    transactional ids at once where it allows the same on them.
    With ``applications``, principals whose rules differ in one id alone use a role that is written for them.
    ``absent`` are names of topics that the manifests say must not exist, ``absent_listed`` those of resources of listed
    kinds, by ``KIND``.
    """

    roles: bool = True
    implied: bool = False
    places: Mapping[AclBinding | str, str] = field(default_factory=dict)
    notes: Mapping[AclBinding | str, tuple[str, ...]] = field(default_factory=dict)
    origins: Mapping[AclBinding | str, str] = field(default_factory=dict)
    tops: Mapping[AclBinding | str, tuple[str, ...]] = field(default_factory=dict)
    together: bool = False
    applications: bool = False
    absent: frozenset[str] = frozenset()
    absent_listed: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def origin_lines(self, items: Iterable[AclBinding | str]) -> list[str]:
        """Comments that say where the source has these, and what it says of them; nothing if that is not known."""
        places: dict[str, list[str]] = {}
        items = sorted(items, key=lambda item: _natural(self.origins.get(item, "")))
        tops = dict.fromkeys(text for item in items for text in self.tops.get(item, ()))
        known = {origin for item in items if (origin := self.origins.get(item)) is not None}
        for origin in sorted(known, key=_natural):
            file, _, place = origin.partition(":")
            places.setdefault(file, []).append(place)
        shown = [f"{file}:{_some(found)}" for file, found in places.items()]
        more = f" and {len(shown) - _MOST_FILES} more files" if len(shown) > _MOST_FILES else ""
        said = [comment(text) for text in list(tops)[:_MOST_TOPS]]
        return [comment(f"From {', '.join(shown[:_MOST_FILES])}{more}"), *said] if shown else []


def _some(places: Sequence[str]) -> str:
    """The first places of a file, as many as a line has room for."""
    shown = list(places[:1])
    for place in places[1:]:
        if sum(map(len, shown)) + len(place) > _ROOM:
            return f"{', '.join(shown)} and {len(places) - len(shown)} more"
        shown.append(place)
    return ", ".join(shown)


def _natural(origin: str) -> tuple[str, int, str]:
    """Line 9 before line 10."""
    file, _, place = origin.partition(":")
    number = re.match("[0-9]+", place)
    return file, int(number[0]) if number else 0, place


DEFAULT_STYLE: Final = ExportStyle()
