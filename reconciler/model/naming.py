"""Names inside sentences: where each begins and ends, and which characters it has.

A principal may hold blanks, so it could write sentences of its own into a review: "User:nobody gains nothing. Nobody".
A name that is more than one plain word stands in backticks, which no name inside of them can close. Text for a terminal
keeps them; Markdown and HTML make code of them.
"""

import re
from typing import Final

from reconciler.model.acl import AclBinding, ResourcePattern
from reconciler.model.characters import code_point, is_hidden

#: One word of ASCII, that no reader and no format takes for more.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:*/=,@+-]+")
#: So many different characters are named.
_SHOWN: Final = 4


def as_name(text: str) -> str:
    """``text`` in a sentence: as it is where it is one plain word, else ``ticked``."""
    return text if _PLAIN.fullmatch(text) else ticked(text)


def ticked(text: str) -> str:
    """``text`` in backticks, then the code points of what is not ASCII; its own backticks by their code."""
    inner = text.replace("`", "\\u0060")
    return f"`{inner}`{points(text)}"


def pattern_name(pattern: ResourcePattern) -> str:
    """``TOPIC PREFIXED payments.`` in a sentence."""
    return str(pattern._replace(name=as_name(pattern.name)))


def binding_name(binding: AclBinding) -> str:
    """``User:alice ALLOW READ on TOPIC payments`` in a sentence."""
    entry = binding.entry._replace(principal=as_name(binding.entry.principal))
    return f"{entry} on {pattern_name(binding.pattern)}"


def with_points(text: str) -> str:
    """``text``, then the code points of what is not ASCII: letters of two scripts look alike."""
    return f"{text}{points(text)}"


def points(text: str) -> str:
    """`` (U+0430)``: the characters that are not ASCII, each once; empty where there are none.

    Those that nobody sees are not among them: reports show them by their code where they stand.
    """
    if text.isascii():
        return ""
    found = [one for one in dict.fromkeys(text) if not one.isascii() and not is_hidden(one)]
    if not found:
        return ""
    more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
    return f" ({', '.join(map(code_point, found[:_SHOWN]))}{more})"
