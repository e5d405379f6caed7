"""The beginning of an id for the whole id, where a person writes it.

Eight hexadecimal digits tell the plans of a day apart. They do not withstand somebody who makes plans until one begins
as the approved one does, some four billion tries: where no person looks, ids are written in full.
"""

import re
from collections.abc import Collection
from typing import Final

#: The fewest digits that may stand for an id, and those of a whole one.
FEWEST_DIGITS: Final = 8
DIGITS: Final = 64
_ID: Final = re.compile(rf"[a-z]+-[0-9a-f]{{{FEWEST_DIGITS},{DIGITS}}}")


def whole_id(given: str, known: Collection[str]) -> str:
    """The only id of ``known`` that ``given`` is the beginning of; ``given`` itself where there is none, or several."""
    if given in known or not _ID.fullmatch(given):
        return given
    found = {one for one in known if one.startswith(given)}
    return found.pop() if len(found) == 1 else given
