"""MkDocs hook: a link to a file of the repository outside of ``docs/`` leads to a page with that file.

In the repository such links work as they stand. On the site the file becomes a page below ``files/``: Markdown as it
is, a directory or any other text in code blocks, a JSON Schema as a file. Pages that it links to are added too.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).resolve().parents[1]
DOCS: Final = ROOT / "docs"
FOLDER: Final = "files"
_LINK: Final = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_LANGUAGES: Final = {".yml": "yaml", ".yaml": "yaml", ".sh": "bash", ".json": "json", ".toml": "toml", ".py": "python"}
#: Directories whose files are shown; of others only the names.
_WHOLE: Final = frozenset({"examples", "charts", "action"})
_DECISIONS: Final = "decisions/README.md"
#: Where the text of a page is, by the page's path on the site.
_SOURCES: Final[dict[str, Path]] = {}


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each file outside of ``docs/`` that a page links to, and for those that they link to."""
    waiting = [(file.src_uri, DOCS / file.src_uri) for file in files if file.src_uri.endswith(".md")]
    _SOURCES.clear()
    while waiting:
        uri, source = waiting.pop()
        if uri in _SOURCES:
            continue
        _SOURCES[uri] = source
        if files.get_file_from_path(uri) is None:
            files.append(_file(uri, source, config))
        if source.suffix == ".md":
            waiting += [
                (page_of(target), target)
                for target in _targets(source)
                if target.exists() and not target.is_relative_to(DOCS) and target.is_relative_to(ROOT)
            ]
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """The page with its links as they are on the site."""
    uri = page.file.src_uri
    here = _SOURCES[uri].parent
    if uri == _DECISIONS:
        markdown += "".join(_titles(here))

    def relinked(found: re.Match[str]) -> str:
        target, fragment = _split(found[1])
        path = (here / target).resolve()
        if not target or not path.is_relative_to(ROOT) or not path.exists():
            return found[1]
        return os.path.relpath(page_of(path), PurePosixPath(uri).parent) + fragment

    return _outside_of_code(markdown, lambda text: _LINK.sub(relinked, text))


def page_of(path: Path) -> str:
    """Where a file or a directory of the repository is on the site, below ``docs/``."""
    if path.is_relative_to(DOCS):
        return (path / "README.md" if path.is_dir() else path).relative_to(DOCS).as_posix()
    name = path.relative_to(ROOT).as_posix()
    return f"{FOLDER}/{name}" if path.suffix in (".md", ".json") else f"{FOLDER}/{name}.md"


def _titles(folder: Path) -> Iterator[str]:
    """A list of the pages beside an index; a code forge lists the folder itself."""
    for page in sorted(folder.glob("*.md")):
        if page.name != "README.md":
            title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            yield f"\n- [{title}]({page.name})"


def _targets(source: Path) -> list[Path]:
    paths = (_split(link)[0] for link in _LINK.findall(source.read_text(encoding="utf-8")))
    return [(source.parent / path).resolve() for path in paths if path]


def _split(link: str) -> tuple[str, str]:
    """The path and the fragment; no path for an address elsewhere."""
    parts = urlsplit(link)
    return "" if parts.scheme else parts.path, f"#{parts.fragment}" if parts.fragment else ""


def _file(uri: str, source: Path, config: Any) -> File:
    if source.suffix in (".md", ".json"):
        return File.generated(config, uri, abs_src_path=str(source))
    return File.generated(config, uri, content=_as_code(source))


def _as_code(source: Path) -> str:
    """A page with the text of a file, or of each file of a directory."""
    name = source.relative_to(ROOT)
    parts = [f"# `{name.as_posix()}`\n"]
    files = (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for file in sorted(files) if source.is_dir() else [source]:
        within = file.relative_to(source).as_posix()
        if name.parts[0] not in _WHOLE:
            parts.append(f"- `{within}`")
            continue
        heading = f"## `{within}`\n\n" if source.is_dir() else ""
        language = _LANGUAGES.get(file.suffix, "text")
        parts.append(f"{heading}~~~~{language}\n{file.read_text(encoding='utf-8').rstrip()}\n~~~~\n")
    return "\n".join(parts) + "\n"


def _outside_of_code(markdown: str, change: Callable[[str], str]) -> str:
    """The text with a change to everything but fenced blocks."""
    parts = re.split(r"(^```.*?^```|^~~~~.*?^~~~~)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))
