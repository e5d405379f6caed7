"""Text for people: safe to show on a terminal whatever a cluster's names hold, coloured where somebody looks.

Principals and names are hostile input: control and bidirectional characters are shown by their code.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

#: Takes a style (``add``, ``remove``, ``change``, ``warn``, ``error``, ``dim``, ``title``) and a text.
Paint: TypeAlias = Callable[[str, str], str]

#: Besides those: what no encoding can carry, and what some build servers take for a command wherever it stands.
_UNSAFE = re.compile(
    "(?<=#)#|[\ud800-\udfff\ufffe\uffff\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def plain(_style: str, text: str) -> str:
    """No colour."""
    return text


def safe(text: str) -> str:
    """``text`` with every character that could steer a terminal or hide shown by its code."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def counted(number: int, noun: str) -> str:
    """``1 topic``, ``2,000 topics``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
