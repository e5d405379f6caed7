"""Man pages for the wheel, made of the help texts in ``docs/commands``, so that a build imports nothing of ours.

Tests hold these pages to the program. A source tree without them, such as that of the image, gets no man pages.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_HELP = re.compile(
    r"```console\n\$ (?P<command>reconciler[a-z -]*?) --help\nUsage: (?P<usage>.*?)\n\n(?P<text>.*?)```", re.S
)
_STATUSES = re.compile(r"^## Exit statuses\n.*?\|---\|---\|\n(?P<rows>(?:\|.*\n)+)", re.M | re.S)
#: The line of a page that stands for the options with which every command connects.
_FOLDED = re.compile(r"^  Connection options: .*\n", re.M)
_HEADING = re.compile(r"^([A-Z][A-Za-z ]*):$")


class ManPages(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the pages while a wheel is built, and removes them afterwards."""

    _made: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pages to the wheel's data."""
        folder = Path(self.root, "docs", "commands")
        if not folder.is_dir():
            return
        self._made = Path(tempfile.mkdtemp(prefix="man-pages-"))
        index = (folder / "index.md").read_text(encoding="utf-8")
        helps = "\n".join(page.read_text(encoding="utf-8") for page in sorted(folder.glob("*.md")))
        for name, text in man_pages(helps, index, self.metadata.version):
            file = self._made / f"{name}.1"
            file.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(file)] = f"share/man/man1/{file.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was written."""
        if self._made is not None:
            shutil.rmtree(self._made)


def man_pages(helps: str, index: str, version: str) -> Iterator[tuple[str, str]]:
    """The name and the text of a page for each command; the index has what all of them share."""
    connection = re.search(r"^## Connection options\n.*?```text\n(.*?)```", index, re.M | re.S)
    if connection:
        helps = _FOLDED.sub(lambda _: connection[1], helps)
    statuses = _STATUSES.search(index)
    rows = re.findall(r"^\| (\d+) \| (.*?) \|$", statuses["rows"], re.M) if statuses else []
    for found in _HELP.finditer(helps):
        name = found["command"].replace(" ", "-")
        sections = _sections(found["text"])
        about = " ".join(sections.pop("DESCRIPTION").split())
        lines = [
            f'.TH "{name.upper()}" 1 "" "reconciler {version}"',
            ".SH NAME",
            f"{_roff(name)} \\- {_roff(_first(about))}",
        ]
        lines += [".SH SYNOPSIS", f".B {_roff(' '.join(found['usage'].split()))}"]
        lines += [".SH DESCRIPTION", *_paragraphs(found["text"])]
        for heading, text in sections.items():
            lines += [f".SH {heading}", *_entries(text)]
        lines += [
            ".SH EXIT STATUS",
            *(line for status, text in rows for line in (".TP", f".B {status}", _roff(_plain(text)))),
        ]
        lines += [".SH SEE ALSO", "reconciler(1)"]
        yield name, "\n".join(lines) + "\n"


def _sections(text: str) -> dict[str, str]:
    """What help says, by heading; what follows the options belongs to the description."""
    found, current = {"DESCRIPTION": ""}, "DESCRIPTION"
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            current = heading[1].upper()
            found[current] = ""
        else:
            found[current] += f"{line}\n"
    return found


def _paragraphs(text: str) -> Iterator[str]:
    """The description and the epilogue, line for line: examples in them are laid out by hand."""
    head, _, rest = text.partition("\nOptions:\n")
    epilogue = "\n".join(part for part in rest.split("\n\n")[1:] if not _HEADING.match(part.splitlines()[0]))
    for paragraph in (*head.split("\n\n"), epilogue):
        if paragraph.strip():
            yield from (".PP", ".nf", *(_roff(line.strip()) for line in paragraph.strip("\n").splitlines()), ".fi")


def _entries(text: str) -> Iterator[str]:
    """Options or commands, each with what it does."""
    for paragraph in text.split("\n\n")[:1]:
        for entry in re.split(r"\n(?=  \S)", paragraph.strip("\n")):
            head, _, said = entry.strip().replace("\n", "  ", 1).partition("  ")
            yield from (".TP", f".B {_roff(head)}", _roff(" ".join(said.split())))


def _first(text: str) -> str:
    return re.split(r"(?<=[.:])\s", text, maxsplit=1)[0].rstrip(".:")


def _plain(text: str) -> str:
    return text.replace("`", "")


def _roff(text: str) -> str:
    """Text that nothing in roff takes for a command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
