"""File names for principals: safe on every file system, unique without regard to case, and the same on each export."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from reconciler.manifest import document_name_problem
from reconciler.model import WILDCARD_PRINCIPAL

_OTHER = re.compile(r"[^A-Za-z0-9._-]+|\.{2,}", re.ASCII)
_LONGEST: Final = 80
#: What Windows takes for a device, whatever the ending.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def file_stems(principals: Iterable[str]) -> dict[str, str]:
    """A stem for each principal, also fit as a document's name.

    A principal whose name says itself (``User:svc-pay`` is ``svc-pay``) keeps it; where two would share a stem,
    those whose names had to be changed get part of a digest.
    """
    wanted = {principal: stem(_bare(principal)) for principal in sorted(set(principals))}
    exact = Counter(text.casefold() for principal, text in wanted.items() if text == _bare(principal))
    shared = Counter(text.casefold() for text in wanted.values())
    keeps = {
        principal
        for principal, text in wanted.items()
        if shared[text.casefold()] == 1 or (text == _bare(principal) and exact[text.casefold()] == 1)
    }
    taken = {wanted[principal].casefold() for principal in keeps}
    stems = {}
    for principal, text in wanted.items():
        stems[principal] = text if principal in keeps else _distinct(text, principal, taken)
    return stems


def stem(text: str) -> str:
    """``text`` with everything but ASCII letters, digits, ``.``, ``_`` and ``-`` made to ``-``; never empty."""
    slug = _OTHER.sub("-", text).strip("._-")[:_LONGEST].rstrip("._-")
    return f"{slug}-file" if _DEVICES.fullmatch(slug) else slug or "unnamed"


def document_name(text: str) -> str:
    """``text`` where a document can be called so, else its stem."""
    return text if document_name_problem(text) is None else stem(text)


def _bare(principal: str) -> str:
    if principal == WILDCARD_PRINCIPAL:
        return "everyone"
    return principal.removeprefix("User:")


def _distinct(text: str, principal: str, taken: set[str]) -> str:
    digest = hashlib.sha256(principal.encode()).hexdigest()
    found = next(name for end in range(8, 65, 4) if (name := f"{text}-{digest[:end]}").casefold() not in taken)
    taken.add(found.casefold())
    return found
