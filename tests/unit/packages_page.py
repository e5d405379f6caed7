"""The list of files in ``docs/packages.md``: the first sentence of each module; run as a module it writes it again."""

import ast
import re
from collections import defaultdict
from pathlib import Path

from benchmarks import figures

PAGE = Path(__file__).parents[2] / "docs" / "packages.md"
_BEGIN = "<!-- generated: make reference -->\n"


def refreshed(page: str) -> str:
    """The page with the files as they are today."""
    head, mark, _ = page.partition(_BEGIN)
    assert mark, f"{PAGE} has lost the line {_BEGIN!r}"
    folders = defaultdict(list)
    for file in figures.sources():
        if about := _about(file.tree):
            folders[_folder(file.path)].append(f"| `{file.path.as_posix()}` | {about} |\n")
    return (
        head
        + mark
        + "".join(f"\n### {name}\n\n| file | |\n|---|---|\n{''.join(rows)}" for name, rows in sorted(folders.items()))
    )


def _folder(path: Path) -> str:
    """A package of the core, or a part."""
    return path.parts[0].removesuffix(".py") if path.parts[0] != "parts" else "/".join(path.parts[:2])


def _about(tree: ast.Module) -> str:
    first = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    plain = re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", " ".join(first.split()))
    return plain.replace("``", "`").replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
