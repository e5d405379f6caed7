"""Which names a resource can have, and the shortest name in a set: an emptiness test and an example in one.

Topics: the names that Kafka accepts. CLUSTER: its one name. All other types: any non-empty text.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Final

from reconciler.access.name_set import ASTERISK_NAMES, NameSet, literal
from reconciler.model import CLUSTER_NAME, MAX_TOPIC_NAME_LENGTH, ResourceType, topic_name_problem

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_."
_SURROGATES = range(0xD800, 0xE000)
_TOPIC_TEXT = re.compile(r"[a-zA-Z0-9._-]*", re.ASCII)


def is_name(resource_type: ResourceType, name: str) -> bool:
    """Whether a resource of this type can be called ``name``."""
    if resource_type is ResourceType.TOPIC:
        return topic_name_problem(name) is None
    if resource_type is ResourceType.CLUSTER:
        return name == CLUSTER_NAME
    return bool(name)


def has_names(resource_type: ResourceType, key: NameSet) -> bool:
    """Whether some resource of this type can have a name of ``key``."""
    if key.literal:
        return is_name(resource_type, key.text)
    if resource_type is ResourceType.TOPIC:
        return len(key.text) <= MAX_TOPIC_NAME_LENGTH and _TOPIC_TEXT.fullmatch(key.text) is not None
    return resource_type is not ResourceType.CLUSTER or key.matches(CLUSTER_NAME)


def shortest_name(resource_type: ResourceType, key: NameSet, cuts: Iterable[NameSet] = ()) -> str | None:
    """The shortest name of ``key`` that is in none of ``cuts``, letters first; ``None`` if there is none.

    ``cuts`` are inside ``key``. Searches breadth first; each text that is not the answer is one of the cuts, so their
    number bounds the work.
    """
    cuts = set(cuts)
    if not has_names(resource_type, key) or key in cuts:
        return None
    if resource_type is ResourceType.CLUSTER:
        return CLUSTER_NAME if not any(cut.matches(CLUSTER_NAME) for cut in cuts) else None
    if key.matches(key.text) and is_name(resource_type, key.text) and literal(key.text) not in cuts:
        return key.text
    return None if key.literal else _longer_name(resource_type, key.text, cuts)


def _longer_name(resource_type: ResourceType, text: str, cuts: set[NameSet]) -> str | None:
    """The shortest name that is longer than ``text`` and starts with it."""
    pending = [text]
    for start in pending:
        if resource_type is ResourceType.TOPIC and len(start) >= MAX_TOPIC_NAME_LENGTH:
            continue
        # Everything longer than * is cut out.
        if start == ASTERISK_NAMES.text and ASTERISK_NAMES in cuts:
            continue
        for letter in _letters(resource_type):
            name = start + letter
            if NameSet(name) in cuts:
                continue
            if is_name(resource_type, name) and literal(name) not in cuts:
                return name
            pending.append(name)
    return None


def _letters(resource_type: ResourceType) -> Iterator[str]:
    """Characters that may follow in a name. Unlimited for most types, so cuts can never exhaust them."""
    if resource_type is ResourceType.TOPIC:
        return iter(_LETTERS)
    return chain(_LETTERS, (chr(code) for code in count(0xA1) if code not in _SURROGATES))
