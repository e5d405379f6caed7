"""The form of ``sasl.jaas.config``, the Java client's login settings: one login module with its options."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_ENTRY: Final = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*", re.DOTALL)
_OPTION: Final = re.compile(r"""\s*([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""", re.DOTALL)
#: ``java.io.StreamTokenizer``, which reads for Kafka's ``JaasConfig``: up to three octal digits, or a sign.
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_SIGNS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasEntry(NamedTuple):
    """A login module's class name, without its package, and its options."""

    module: str
    options: Mapping[str, str]


def parse_jaas(text: str) -> JaasEntry:
    """The one entry in ``text``; raises ``ValueError`` if the form is different. The error quotes no part of it."""
    entry = _ENTRY.fullmatch(text)
    if entry is None:
        raise ValueError('it is not of the form <login module> required <option>="<value>" …;')
    options: dict[str, str] = {}
    position, rest = 0, entry[2].rstrip()
    while position < len(rest):
        option = _OPTION.match(rest, position)
        if option is None:
            raise ValueError('an option is not of the form name="value"')
        value = next(group for group in option.groups()[1:] if group is not None)
        options[option[1]] = _ESCAPE.sub(_unescaped, value)
        position = option.end()
    return JaasEntry(entry[1].rpartition(".")[2], options)


def _unescaped(escape: "re.Match[str]") -> str:
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _SIGNS.get(text, text)
