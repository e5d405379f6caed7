"""The directories of ``.tf`` files: their blocks with labels and places, and which directory uses which as a module.

Nothing is evaluated here: values are what the parser gives. Needs the extra ``terraform`` (python-hcl2).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import normpath
from typing import Any, Final

from reconciler.adapters.converters.files import SourceFiles
from reconciler.adapters.converters.tree import SourceError
from reconciler.dataclass import dataclass

_EXTRA: Final = "files of Terraform need python-hcl2: pip install './reconciler[terraform]', or pass a state"
_RELATIVE: Final = ("./", "../")


@dataclass(frozen=True, slots=True)
class TerraformBlock:
    """A block with its labels, and where it stands."""

    labels: tuple[str, ...]
    body: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class TerraformDirectory:
    """The files of one directory: a module."""

    path: str
    locals: Mapping[str, Any]
    blocks: Mapping[str, Sequence[TerraformBlock]]

    def named(self, kind: str, *labels: str) -> TerraformBlock | None:
        """The block of that kind with these labels."""
        return next((block for block in self.blocks.get(kind, ()) if block.labels == labels), None)


def module_source(directory: TerraformDirectory, call: TerraformBlock) -> str | None:
    """The directory of a module with a relative path."""
    text = str(call.body.get("source", "")).strip('"')
    return normpath(f"{directory.path or '.'}/{text}") if text.startswith(_RELATIVE) else None


def read_directory(path: str, names: Sequence[str], files: SourceFiles) -> TerraformDirectory:
    """The blocks and locals of the files of one directory; raises :class:`SourceError`."""
    of: dict[str, Any] = {}
    blocks: dict[str, list[TerraformBlock]] = {}
    for name in names:
        text = files.text(name)
        found = parsed_file(name, text)
        for block in found.get("locals", ()):
            of |= block
        for kind in ("resource", "module", "variable", "output"):
            for labels, body in _labelled(found.get(kind, ()), 2 if kind == "resource" else 1):
                blocks.setdefault(kind, []).append(TerraformBlock(labels, body, f"{name}:{_line(text, kind, *labels)}"))
    return TerraformDirectory(path, of, blocks)


def _labelled(blocks: Any, labels: int) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The blocks with so many labels, with their labels."""
    for block in blocks:
        for label, inner in block.items():
            if not isinstance(inner, Mapping) or label.startswith("__"):
                continue
            if labels == 1:
                yield (label.strip('"'),), inner
            else:
                yield from (((label.strip('"'), *more), body) for more, body in _labelled((inner,), labels - 1))


def parsed_file(name: str, text: str) -> Mapping[str, Any]:
    """What the parser gives for one file; raises :class:`SourceError` with the name of the file."""
    try:
        import hcl2  # noqa: PLC0415 - an extra, for sources without a state only
    except ImportError as error:
        raise SourceError(f"{name}: {_EXTRA}") from error
    try:
        options = hcl2.SerializationOptions(with_comments=False)
        found: Mapping[str, Any] = hcl2.loads(text + "\n", serialization_options=options)
    except RecursionError:
        raise SourceError(f"{name}: the nesting is too deep") from None
    except Exception as error:
        # The parser has no class of its own for what it refuses.
        reason = str(error).partition("\n")[0]
        raise SourceError(f"{name}: this is not Terraform's language: {reason}") from error
    return found


def _line(text: str, *words: str) -> int:
    """The line where a block begins; the parser does not tell it."""
    pattern = r"\s+".join(f'"?{re.escape(word)}"?' for word in words)
    found = re.search(rf"^[ \t]*{pattern}\s*\{{", text, re.M)
    return text.count("\n", 0, found.start()) + 1 if found else 1
