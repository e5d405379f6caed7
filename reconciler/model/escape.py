"""Characters that steer a terminal, turn text around or hide: names, principals and brokers' messages may hold any.

Text for people shows them by their code; JSON writes them as escapes, which read back to the same value.
"""

import re
import shlex

from reconciler.model.characters import replace_unsafe

_ASCII_UNSAFE = re.compile("[\x00-\x1f\x7f]")
#: What build servers would take for a command, so that text for people never has it.
_COMMAND = re.compile("(?<=#)#")


def escape_invisible(text: str) -> str:
    """``text`` on one line, every such character shown by its code."""
    return _unsafe_replaced(text, 4, "\\u")


def escape_invisible_json(text: str) -> str:
    """JSON with every such character escaped: the same value, and text that any encoding of Unicode can carry."""
    if text.isascii() and "\x7f" not in text:  # a plan or a snapshot may have 100 MB
        return text
    return replace_unsafe(text, _escaped_json)


def shell_quoted(text: str) -> str:
    """``text`` as one word to paste into a shell: what nobody could see, or output would show otherwise, by its code.

    ``$'…'`` is understood by bash, zsh and ksh; only names that need it are written so.
    """
    spelled = text.replace("\\", r"\\").replace("'", r"\'")
    safe = _COMMAND.sub(r"\\U00000023", _unsafe_replaced(spelled, 8, "\\U"))
    return shlex.quote(text) if safe == spelled else f"$'{safe}'"


def _unsafe_replaced(text: str, digits: int, escape: str) -> str:
    def escaped(character: str) -> str:
        return f"{escape}{ord(character):0{digits}x}"

    if text.isascii():
        return _ASCII_UNSAFE.sub(lambda found: escaped(found[0]), text)
    return replace_unsafe(text, escaped)


def _escaped_json(character: str) -> str:
    code = ord(character)
    if character in "\t\n\r":  # between the values of a document
        return character
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
