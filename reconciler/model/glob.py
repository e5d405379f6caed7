"""Globs over names and paths, matched in linear time.

Whoever writes a manifest writes its globs, and a backtracking matcher never ends on ``*a*a*a*…z``. RE2 does not
backtrack.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

#: Kafka's principals may hold brackets, so nothing else is special.
_IN_NAMES: Final = {"*": ".*", "?": "."}
_IN_PATHS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
#: Bytes that a compiled glob may take: one of a few hundred thousand characters still fits.
_MEMORY: Final = 1 << 28
_PATH_PARTS: Final = re.compile(r"(\*\*/|\*\*|\*|\?)")


def name_glob(glob: str) -> Callable[[str], bool]:
    """Match whole names: ``*`` is any text and ``?`` any one character."""
    return _matcher(glob, _IN_NAMES)


def path_glob(glob: str) -> Callable[[str], bool]:
    """Match whole paths: ``*`` and ``?`` stay inside a name, ``**`` is any directories or everything below."""
    return _matcher(_PATH_PARTS.split(glob), _IN_PATHS)


def _matcher(parts: Iterable[str], wildcards: Mapping[str, str]) -> Callable[[str], bool]:
    import re2  # noqa: PLC0415 - native code, for manifests with globs only

    options = re2.Options()
    options.log_errors, options.dot_nl, options.max_mem = False, True, _MEMORY
    pattern = "".join(wildcards.get(part) or re2.escape(_encodable(part)) for part in parts)
    compiled = re2.compile(pattern, options)
    return lambda text: compiled.fullmatch(_encodable(text)) is not None


def _encodable(text: str) -> str:
    """``text`` with ``?`` for half surrogates: RE2 reads UTF-8, which has none, and no glob can name them."""
    return text.encode("utf-8", "replace").decode()
