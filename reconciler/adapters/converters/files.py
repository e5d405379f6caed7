"""The files of another tool, all inside the given directory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import javaproperties

from reconciler.adapters.converters.tree import SourceError, Tree, json_tree, yaml_trees
from reconciler.model import FrozenMap

#: A Terraform state with 100,000 ACLs has about 60 MB.
MAX_FILE_BYTES: Final = 256 * 1024 * 1024
#: Stands for standard input.
STDIN: Final = "-"
_JSON: Final = (".json", ".tfstate")


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The files, by paths relative to ``root``, and the options of the command line.

    ``settings`` are the tool's own; ``cluster`` selects one if the files are about several.
    """

    root: Path
    names: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=FrozenMap)
    cluster: str | None = None
    stdin: str = ""

    def ending(self, *suffixes: str) -> Sequence[str]:
        """The files with one of these endings; a single given file, with any ending. Raises :class:`SourceError`."""
        found = self.names if len(self.names) == 1 else [name for name in self.names if name.lower().endswith(suffixes)]
        if not found:
            raise SourceError(f"{self.root}: there is no file ending in {' or '.join(suffixes)}")
        return found

    def text(self, name: str) -> str:
        """The text of a file; raises :class:`SourceError` if it cannot be read or is outside the directory."""
        if name == STDIN:
            return self.stdin
        path = self.root / name
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise SourceError(f"{name}: the file is outside {self.root}")
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise SourceError(f"{name}: the file has more than {MAX_FILE_BYTES:,} bytes")
            return path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SourceError(f"{name}: the file cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise SourceError(f"{name}: the file is not UTF-8") from error

    def trees(self, name: str) -> list[Tree]:
        """A file's documents: JSON if its name ends so, else YAML."""
        text = self.text(name)
        return [json_tree(name, text)] if name.lower().endswith(_JSON) else yaml_trees(name, text)

    def one(self, name: str) -> Tree:
        """The only document of a file; raises :class:`SourceError` if there is none or more than one."""
        trees = self.trees(name)
        if len(trees) != 1:
            raise SourceError(f"{name}: one document is expected, there are {len(trees)}")
        return trees[0]


def source_files(path: str, *, config: str | None = None, cluster: str | None = None, stdin: str = "") -> SourceFiles:
    """A file, all files of a directory, or ``-`` for ``stdin``; ``config`` is a file of Java properties.

    Raises :class:`SourceError`.
    """
    settings = {}
    if config is not None:
        try:
            settings = javaproperties.loads(SourceFiles(Path(config).parent, ()).text(Path(config).name))
        except javaproperties.InvalidUEscapeError as error:
            raise SourceError(f"{config}: {error}") from error
    if path == STDIN:
        return SourceFiles(Path(), (STDIN,), settings, cluster, stdin)
    chosen = Path(path)
    if chosen.is_dir():
        names = (file.relative_to(chosen) for file in chosen.rglob("*") if file.is_file())
        shown = sorted(name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts))
        return SourceFiles(chosen, shown, settings, cluster)
    if not chosen.is_file():
        raise SourceError(f"{path}: there is no such file or directory")
    return SourceFiles(chosen.parent, (chosen.name,), settings, cluster)
