"""How soon a stranger finds the place to change, in figures: ``make figures``.

Prints a Markdown table of what ``docs/decisions/figures.md`` shows; with ``--write`` it also replaces the table there.
Figures before the redesign are those of revision 8164719, measured by the same definitions.
"""

import ast
import inspect
import io
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "reconciler"
PAGE: Final = ROOT / "docs" / "decisions" / "figures.md"
_TABLE: Final = re.compile(r"^\| figure \|.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
#: What a change can be and what it can be about, before and after the redesign.
_CHANGES: Final = frozenset(
    re.findall(
        r"\w+",
        "CreateAcl DeleteAcl CreateTopic DeleteTopic CreatePartitions AlterConfigs "
        "Create Update Delete Impossible TopicPartitions TopicConfigs TopicReplicas "
        "ClientQuota GroupConfig ClientMetrics ScramUser AclBinding Topic ConfigResource ListedItem",
    )
)
#: What answers for a kind: its class on some floor, its documents' or one of its bases.
_KINDS: Final = re.compile("(Listed|Planned|Reported|Declared|Written|Sent|Config|Message|ListedDocument)?Kind")
_MANIFEST: Final = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: figures}
spec: {barrier: {wait: 0s}}
---
apiVersion: reconciler/v1
kind: Acls
metadata: {name: one}
spec: {principal: User:a, rules: [{allow: READ, topics: [a]}]}
"""
_DOCUMENTED: Final = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Figure(NamedTuple):
    """One row: what is measured, what it was, what it is."""

    name: str
    before: str
    now: str


class ListedKind(NamedTuple):
    """A listed kind, as its files and its code spell it, and the files of the question that a command answers of it."""

    words: str
    files: str
    names: str
    question: frozenset[str] = frozenset()


#: Every listed kind. What a question costs is not the price of a kind: no kind needs a command of its own.
LISTED: Final = (
    ListedKind(
        "client quotas",
        r"/quota",
        r"(?<!_client_)quota(?!tion)",
        frozenset(
            {
                "cli/ask.py",
                "cli/main.py",
                "cli/recipes.py",
                "plan/review/access_change.py",
                "results/access.py",
                "results/__init__.py",
                "show/review.py",
                "show/questions.py",
                "show/quota.py",
                "api.py",
                "app/planning.py",
                "app/ask.py",
            }
        ),
    ),
    ListedKind(
        "group configs",
        r"/group_config",
        r"group_?config",
    ),
    ListedKind("client metrics subscriptions", r"/client_metrics", r"client_?metrics"),
    ListedKind(
        "SCRAM users",
        r"/scram_user",
        r"scram_?user|(?:alter|delete)_users",
        frozenset(
            {
                "cli/main.py",
                "cli/recipes.py",
                "parts/edit/cli/users.py",
                "results/access.py",
                "app/planning.py",
                "parts/edit/app/users.py",
            }
        ),
    ),
)


#: Modules of a ``kinds`` folder that are about no one kind, or about all.
COMMON: Final = frozenset({"__init__", "interface", "listed"})
_CONVERTS: Final = re.compile("/convert")
_WAITS: Final = re.compile(r"^ +(from|import) |import_module\(", re.M)
_IMPORT: Final = re.compile(r"^ *from (reconciler[\w.]*) import (\([^)]*\)|.*)", re.M)


class Source(NamedTuple):
    """One file of the package."""

    path: Path
    text: str

    @property
    def tree(self) -> ast.Module:
        """Parsed anew: to keep all trees, a million objects, would slow every collection of garbage."""
        return ast.parse(self.text)

    @property
    def of_a_kind(self) -> bool:
        """Whether it is the file of one kind: those of all kinds branch on none."""
        return self.path.parent.name == "kinds" and self.path.stem not in COMMON


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file of the package."""
    return tuple(
        Source(path.relative_to(PACKAGE), path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))
    )


def sizes(files: Sequence[Source]) -> Iterator[Figure]:
    """Files, functions, comments."""
    lines = [len(file.text.splitlines()) for file in files]
    yield Figure("files / lines of the package", "448 / 45,406", f"{len(files)} / {sum(lines):,}")
    yield Figure("file median / largest", "91 / 264", f"{statistics.median(lines):.0f} / {max(lines)}")
    functions = sorted(
        (node.end_lineno or 0) - node.lineno + 1
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    ninth = functions[len(functions) * 9 // 10]
    yield Figure(
        "function median / p90 / largest",
        "7 / 18 / 55",
        f"{statistics.median(functions):.0f} / {ninth} / {functions[-1]}",
    )
    comments = sum(
        token.type == tokenize.COMMENT
        for file in files
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline)
    )
    yield Figure("comment lines", "1.1 %", f"{100 * comments / sum(lines):.1f} %")
    own, others = map(sum, zip(*imports_in_functions(files).values(), strict=True))
    yield Figure("imports inside functions, of our own modules / of libraries", "", f"{own} / {others}")
    single = sum(len(users) == 1 for users in importers(files).values())
    yield Figure("modules with one importer", "", str(single))
    yield Figure("protocols", "", str(len(protocols(files))))


def imports_in_functions(files: Sequence[Source]) -> dict[Path, tuple[int, int]]:
    """How often a function imports our own modules when it runs, and how often others, of each file where one does.

    Calls of ``import_module`` count as our own: most of them name the module of a kind, a command or a format.
    """
    counts = {file.path: _waiting(file.tree) for file in files if _WAITS.search(file.text)}
    return {path: count for path, count in counts.items() if any(count)}


def _waiting(tree: ast.Module) -> tuple[int, int]:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    nodes = {part for function in functions for part in ast.walk(function)}
    ours = [modules[0].partition(".")[0] == "reconciler" for node in nodes if (modules := _imported(node))]
    calls = sum(isinstance(node, ast.Call) and "import_module" in _names(node.func) for node in nodes)
    return sum(ours) + calls, len(ours) - sum(ours)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def circles(files: Sequence[Source]) -> list[str]:
    """The modules that import each other around, or stand between two such; an import for types counts as any other."""
    modules = {_module(file.path): file for file in files}
    graph = {
        name: {
            found
            for module, names in _IMPORT.findall(file.text)
            for word in re.findall(r"\w+", names)
            for found in [f"{module}.{word}" if f"{module}.{word}" in modules else module]
        }
        & modules.keys() - {name}
        for name, file in modules.items()
    }
    while True:
        users = {name for imported in graph.values() for name in imported}
        inner = {name: imported & users for name, imported in graph.items() if name in users and imported & users}
        if inner == graph:
            return sorted(graph)
        graph = inner


def importers(files: Sequence[Source]) -> dict[str, set[Path]]:
    """Which files import each module of ours, itself or a name of it; packages are not counted."""
    modules = {_module(file.path) for file in files if file.path.name != "__init__.py"}
    found: dict[str, set[Path]] = {name: set() for name in modules}
    for file in files:
        for module, names in _IMPORT.findall(file.text):
            for name in {module, *(f"{module}.{word}" for word in re.findall(r"\w+", names))} & modules:
                found[name].add(file.path)
    return found


def _module(path: Path) -> str:
    return ".".join(("reconciler", *path.with_suffix("").parts)).removesuffix(".__init__")


def protocols(files: Sequence[Source]) -> list[str]:
    """The classes that say what others must have."""
    return [name for file in files for name in re.findall(r"^class (\w+)\(.*\bProtocol\b.*\):", file.text, re.M)]


def homonyms(files: Sequence[Source]) -> Iterator[Figure]:
    """Classes, and names that more than one of them has."""
    names = Counter(node.name for file in files for node in ast.walk(file.tree) if isinstance(node, ast.ClassDef))
    twice = sorted(name for name, count in names.items() if count > 1)
    told = f" ({', '.join(twice)})" if 0 < len(twice) < 12 else ""
    yield Figure("classes", "551", str(names.total()))
    yield Figure("class names used twice or more", "45", f"{len(twice)}{told}")


def branches(files: Sequence[Source]) -> Iterator[Figure]:
    """Where code asks what kind a change is."""
    outside = [file for file in files if not file.of_a_kind]
    found = {file.path: sum(map(asks_for_a_kind, ast.walk(file.tree))) for file in outside}
    asking = sum(count > 0 for count in found.values())
    now = f"{sum(found.values())} in {asking} files" if asking else "0"
    yield Figure("branches on a change's kind outside `kinds/`", "106 in 41 files", now)


def asks_for_a_kind(node: ast.AST) -> bool:
    """``isinstance(x, Create | ListedKind)``, a ``match`` with a case of such a class, or ``type(kind) is …``."""
    if isinstance(node, ast.Match):
        patterns = (part for case in node.cases for part in ast.walk(case.pattern))
        return any(_of_kinds(part.cls) for part in patterns if isinstance(part, ast.MatchClass))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        return _of_kinds(node.args[1])
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    return any(re.match(r"type\((\w+\.)*(kind|change)\)", ast.unparse(side)) for side in sides)


def _of_kinds(classes: ast.AST) -> bool:
    return any(name in _CHANGES or _KINDS.fullmatch(name) for name in _names(classes))


def _names(node: ast.AST) -> set[str]:
    plain = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return plain | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def new_kind(files: Sequence[Source]) -> Iterator[Figure]:
    """What the newest listed kind needed: files of its own, and lines that name it elsewhere."""
    kind = LISTED[-1]
    others = mentions(files, kind)
    yield Figure(
        "files for a new kind of resource",
        "about 61 touched, 9 new",
        f"{len(own_files(files, kind))} new, {sum(others.values())} lines in {len(others)} others ({kind.words})",
    )


def own_files(files: Sequence[Source], kind: ListedKind) -> list[Path]:
    """The files that a listed kind added."""
    return [file.path for file in files if _is_own(file, kind) and str(file.path) not in kind.question]


def mentions(files: Sequence[Source], kind: ListedKind) -> dict[Path, int]:
    """How many lines of code name a listed kind, of each file that does and is not its own.

    What converters say of it in other tools' files is not counted.
    """
    named = re.compile(rf"^.*(?:{kind.names}).*$", re.I | re.M)
    found = {
        file.path: len(named.findall(_code(file)))
        for file in files
        if named.search(file.text)
        and not (_is_own(file, kind) or _CONVERTS.search(str(file.path)) or str(file.path) in kind.question)
    }
    return {path: count for path, count in found.items() if count}


def _is_own(file: Source, kind: ListedKind) -> bool:
    return re.search(kind.files, str(file.path)) is not None


@cache
def _code(file: Source) -> str:
    """The file without comments and docstrings, a statement a line."""
    tree = ast.parse(file.text)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


def frames() -> Iterator[Figure]:
    """How deep the package's own stack is where a request leaves it, on a real broker."""
    from confluent_kafka.admin import AdminClient

    from reconciler.cli.main import run
    from reconciler.parts.local.sandbox.layout import SandboxSpec
    from reconciler.parts.local.sandbox.lifecycle import running

    with tempfile.TemporaryDirectory() as name, running(SandboxSpec(name="figures"), root=Path(name)) as sandbox:
        # The file with the connections must not lie among the manifests.
        manifest = Path(name) / "manifests" / "figures.yaml"
        manifest.parent.mkdir()
        manifest.write_text(_MANIFEST, encoding="utf-8")
        reach = [str(manifest), "--cluster", "figures", "--connections", str(sandbox.connections)]
        reads = [(AdminClient, method) for method in vars(AdminClient) if re.match(r"(list|describe)_", method)]
        planned = _depth(lambda: run(["plan", *reach]), [*reads, (subprocess.Popen, "__init__")])
        sent = _depth(lambda: run(["apply", *reach, "--yes"]), [(AdminClient, "create_acls")])
    yield Figure("frames from `main` to the wire, `apply`", "19", str(sent))
    yield Figure("frames from `main` to the wire, `plan`", "12 and a child process", f"{planned} and a child process")


def _depth(command: Callable[[], int], watched: list[tuple[type[Any], str]]) -> int:
    """The package's frames, from ``main``, in the deepest stack that calls one of the methods."""
    depths: list[int] = []

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            names = [one.frame.f_globals.get("__name__", "") for one in inspect.stack(context=0)]
            if "reconciler.cli.main" in names:  # what a thread of its own does has no stack from main
                depths.append(sum(name.startswith("reconciler.") for name in names))
            return original(*arguments, **options)

        return call

    with ExitStack() as stack, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
        for owner, method in watched:
            stack.enter_context(patch.object(owner, method, counted(getattr(owner, method))))
        status = command()
    assert status == 0, errors.getvalue()
    return max(depths)


def start_up() -> Figure:
    """The best processor time of fifteen runs of ``--help``, interpreter included: the machine may be busy."""
    program = str(Path(sys.executable).with_name("reconciler"))
    taken = []
    for _ in range(15):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return Figure("processor time of `--help`", "0.15 s allowed", f"{min(taken):.3f} s")


def main() -> None:
    """Prints the table."""
    files = sources()
    rows = [*sizes(files), *homonyms(files), *branches(files), *new_kind(files), *frames(), start_up()]
    table = "\n".join(["| figure | before | now |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)])
    print(table)
    if "--write" in sys.argv[1:]:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_TABLE.sub(lambda _: table, page, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
