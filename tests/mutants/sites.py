"""Every place in the bodies of functions where a fault can be put, and the code that has it."""

import ast
import random
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from tests.mutants.mutant import ROOT
from tests.mutants.operators import replacements

_ANNOTATIONS = {"annotation", "returns", "decorator_list", "defaults", "kw_defaults", "bases"}


class Site(NamedTuple):
    """A fault: the ``choice``-th replacement of the file's ``node``-th node, in the order of :func:`_places`."""

    file: str
    line: int
    function: str
    node: int
    choice: int
    before: str
    after: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What the fault is, wherever in its file the function moves."""
        return (self.file, self.function, self.before, self.after)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.before}  →  {self.after}"


class _Place(NamedTuple):
    """A node that runs in a function, and where it hangs: ``at`` is -1 where the field holds no list."""

    node: ast.AST
    function: str
    parent: ast.AST
    field: str
    at: int


def _places(node: ast.AST, around: str = "", running: bool = False) -> Iterator[_Place]:
    """In the order of the text; what runs at import (statements of the module and of its classes) is left out."""
    for field, value in ast.iter_fields(node):
        if field in _ANNOTATIONS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((-1, value),):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{around}.{child.name}".lstrip(".")
                yield from _places(child, name, running or not isinstance(child, ast.ClassDef))
            elif isinstance(child, ast.AST):
                if running:
                    yield _Place(child, around, node, field, index)
                yield from _places(child, around, running)


def sites_of(file: str) -> list[Site]:
    """All faults of a file (relative to the repository)."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = []
    for number, (node, function, *_) in enumerate(_places(tree)):
        for choice, instead in enumerate(replacements(node)):
            line = getattr(node.target if isinstance(node, ast.comprehension) else node, "lineno", 0)
            _located(instead, node)
            found.append(Site(file, line, function, number, choice, _text(node), _text(instead)))
    return found


def _located(instead: ast.AST, node: ast.AST) -> None:
    if isinstance(node, ast.expr | ast.stmt):
        ast.copy_location(instead, node)


def _text(node: ast.AST) -> str:
    """One line, shortened in its middle."""
    line = " ".join(ast.unparse(node).split())
    return line if len(line) <= 120 else f"{line[:80]} … {line[-38:]}"


def faulty(site: Site) -> CodeType:
    """The module's code with the fault."""
    path = ROOT / site.file
    tree = ast.parse(path.read_text(encoding="utf-8"))
    node, _, parent, field, index = [*_places(tree)][site.node]
    instead = [*replacements(node)][site.choice]
    _located(instead, node)
    if index < 0:
        setattr(parent, field, instead)
    else:
        getattr(parent, field)[index] = instead
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def package_of(file: str, packages: tuple[str, ...]) -> str | None:
    """The longest beginning of a file's path that is among ``packages``."""
    return max((package for package in packages if file.startswith(package)), key=len, default=None)


def sample(packages: tuple[str, ...], count: int, seed: int) -> list[Site]:
    """``count`` faults of each package, in an order that does not depend on it: a larger count only adds some."""
    files = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "reconciler").rglob("*.py"))
    chosen = []
    for package in packages:
        sites = [site for file in files if package_of(file, packages) == package for site in sites_of(file)]
        random.Random(f"{seed} {package}").shuffle(sites)
        chosen.append(sites[:count])
    # One package after the other, so that a run that is cut short has seen all of them.
    return [row[i] for i in range(count) for row in chosen if i < len(row)]
