"""Hostile text in other languages: whatever a principal, a name or a manifest holds, it comes out as text.

Everything passes ``safe`` first: controls, line ends, bidirectional and invisible characters are shown by their code.
"""

import json
import re
from typing import Any, Final

from reconciler.model.characters import compatible, safe

#: What may stand in a Markdown code span as it is: nothing of it ends one, and nothing is a mention or a reference.
_PLAIN_CODE: Final = re.compile(r"[\w.:*/,=+() -]*", re.ASCII)
#: Words that mean nothing to Markdown, GitHub or GitLab; ``GH-1`` and anything like a commit would.
_PLAIN_WORD: Final = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*|[0-9]{1,3}(?:,[0-9]{3})*|[0-9]{1,6}", re.ASCII)
_COMMIT: Final = re.compile(r"[0-9a-fA-F]{6,}")
#: A name where a word begins: in backticks, or in quotes with escapes.
_NAME: Final = re.compile(r"""(?<![^\s(])(`[^`]+`|'(?:[^'\\]|\\.)+'(?!\w)|"(?:[^"\\]|\\.)+"(?!\w))""")
_PUNCTUATED: Final = re.compile(r"(\(?)(.*?)([,;:.)]*)", re.DOTALL)
#: What a spreadsheet takes for the beginning of a formula.
_FORMULA: Final = ("=", "+", "-", "@", "|", "\N{MINUS SIGN}")


def markdown_code(text: str) -> str:
    """``text`` as code in Markdown, in tables and inside HTML elements, too: no markup, mention, link or formula.

    A code span where nothing in the text could end one; otherwise an element with each sign as its number, which
    CommonMark never takes for structure, and in which GitHub and GitLab look for no mention.
    """
    text = safe(text)
    if text and _PLAIN_CODE.fullmatch(text) and text == text.strip():
        return f"`{text}`"
    return markdown_element(text)


def markdown_cell(text: str) -> str:
    """The same for a cell of a table, which somebody may copy into a spreadsheet."""
    return markdown_code(unformulaic(text))


def markdown_element(text: str) -> str:
    """``text`` as code where Markdown is not read, as in a ``summary``."""
    parts = [sign if sign.isascii() and sign.isalnum() else f"&#{ord(sign)};" for sign in safe(text)]
    return f"<code>{''.join(parts)}</code>"


def markdown_text(text: str) -> str:
    """A sentence in Markdown: a name in backticks or quotes as one code, plain words as they are, others as code.

    A name cannot close what it stands in (``model.characters``; quotes are as Python writes them), so it is one
    thing whatever it holds. Not by numbers alone: mentions and references are looked for in the finished text, except
    in code.
    """
    pieces = names_apart(safe(text))
    shown = [markdown_code(bare_name(piece)) if number % 2 else _words(piece) for number, piece in enumerate(pieces)]
    return "".join(shown).strip() or markdown_element("")


def names_apart(text: str) -> list[str]:
    """What a sentence says and the names in it by turns: words, a name with its backticks or quotes, words."""
    return _NAME.split(text)


def bare_name(text: str) -> str:
    """A name without its backticks; quotes stay, because they belong to what they hold."""
    return text[1:-1] if text[0] == "`" else text


def _words(text: str) -> str:
    """The words between two names, with the blanks around them."""
    words = " ".join(map(_word, text.split()))
    return f"{' ' if text[:1].isspace() else ''}{words}{' ' if words and text[-1:].isspace() else ''}"


def _word(word: str) -> str:
    match = _PUNCTUATED.fullmatch(word)
    before, core, after = ("", word, "") if match is None else match.groups()
    if _PLAIN_WORD.fullmatch(core) and not _COMMIT.fullmatch(core):
        return word
    if len(core) > 2 and core[0] == core[-1] == "`":
        core = core[1:-1]
    return f"{before}{markdown_code(core)}{after}" if core else f"{before}{after}"


def workflow_data(text: str) -> str:
    """``text`` as the message of a workflow command (``ActionCommand`` of GitHub's runner)."""
    return safe(text).replace("%", "%25")


def workflow_value(text: str) -> str:
    """``text`` as a property of a workflow command."""
    return workflow_data(text).replace(":", "%3A").replace(",", "%2C")


def unformulaic(text: str) -> str:
    """``text`` in quotes where a spreadsheet would take it for a formula, once somebody has copied it into one.

    A sign may be written wide or small: spreadsheets for Japanese and Chinese take such a one for the plain sign.
    """
    shown = safe(text)
    first = compatible(shown.lstrip()[:1])
    return f'"{shown}"' if first.startswith(_FORMULA) else shown


def json_text(document: Any, *, indent: int | None = 2) -> str:
    """JSON in ASCII, keys in order; no sign in it can steer a terminal or a build server that prints it."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(document, ensure_ascii=True, indent=indent, sort_keys=True, separators=separators)
    return text.replace("\x7f", "\\u007f").replace("##", "#\\u0023")
