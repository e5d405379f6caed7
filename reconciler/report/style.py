"""Text for people: safe to show on a terminal whatever a cluster's names hold, coloured where somebody looks.

Principals and names are hostile input: control and bidirectional characters are shown by their code.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from reconciler.model.escape import escape_invisible

#: Takes a style (``add``, ``remove``, ``change``, ``warn``, ``error``, ``dim``, ``title``) and a text.
Style: TypeAlias = Callable[[str, str], str]

#: Besides those: what build servers take for a command wherever it stands, and what XML cannot carry.
_BESIDES = re.compile("(?<=#)#|^ *:(?=:[A-Za-z])|[\ufffe\uffff]")


def plain(_style: str, text: str) -> str:
    """No colour."""
    return text


def safe(text: str) -> str:
    """``text`` with every character that could steer a terminal or a build server, or hide, shown by its code."""
    return _BESIDES.sub(lambda match: f"{match.group()[:-1]}\\u{ord(match.group()[-1]):04x}", escape_invisible(text))


def counted(number: int, noun: str) -> str:
    """``1 topic``, ``2,000 topics``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
