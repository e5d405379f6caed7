"""The floor plan, held over the syntax tree: kinds of resources have a home, and a class name has one meaning."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import reconciler
from benchmarks import figures
from reconciler.cli.main import COMMANDS
from reconciler.codec.kinds import KINDS
from reconciler.kinds.listed import ListedKind
from reconciler.model.config_resource import ConfigResource
from reconciler.model.flavor import FLAVORS

PACKAGE = Path(reconciler.__file__).parent
#: One class a floor may have each of these names: they are the same idea.
ONE_A_FLOOR = {"Kind", "ListedKind", "Acls", "Topics"}
MOST_HOMONYMS = 0
#: What a listed kind may cost: new files, and changed lines in files that exist.
MOST_FILES = 2
MOST_LINES = 6
#: The same of a kind that is configs under a name: its value, its class, its line in the list, and one of hints.
MOST_OF_CONFIGS = (2, 2)
#: Imports that wait until a function runs: what starts a process first, loads an engine or a client, or is seldom used.
MOST_IMPORTS_IN_FUNCTIONS = 57
MOST_LIBRARIES_IN_FUNCTIONS = 34
#: A file is worth opening for its one noun, and for most nouns more than one file asks. To raise one of these numbers
#: is to say in the same change what the reader gains.
MOST_SOURCES = 420
MOST_LINES_OF_A_FILE = 600
MOST_WITH_ONE_IMPORTER = 42
MOST_PROTOCOLS = 15
#: Names that say nothing of what they hold, with how many values, parameters and functions still have them: fields of
#: JSON, a side beside the right one, a generic decorator. The numbers may only fall.
VAGUE = {"found": 9, "known": 10, "left": 9, "made": 3, "one": 7, "said": 0, "told": 0}
#: Words of our own for what Kafka and the glossary have a word for: no name of the code has one as a part.
DIALECT = {"attendant", "minimise", "minimised", "region", "regions", "sentinel", "sentinels", "told", "untold", "wish"}
#: Where a region is one of AWS.
OF_AWS = Path("kafka/sasl.py")
#: More values than that are an object without a name. The command line has an argument for each option.
MOST_PARAMETERS = 8
MOST_USE_CASES = 30
#: What other use cases may begin with: a plan, the end of a lock with performing it.
BEGUN_WITH = {("plan", "*"), ("apply", "lock")}


def test_every_package_says_that_it_is_one() -> None:
    """Without ``__init__.py`` it cannot be imported from a wheel, which has no entries for directories."""
    homes = {file.parent for file in PACKAGE.rglob("*.py")}
    assert [str(home) for home in sorted(homes) if not (home / "__init__.py").exists()] == []


def sources(words: str) -> Iterator[tuple[Path, ast.Module]]:
    """The files in which a regular expression finds something: to parse all takes some ten seconds."""
    for file in figures.sources():
        if re.search(words, file.text):
            yield PACKAGE / file.path, file.tree


def names(node: ast.AST) -> set[str]:
    plain = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return plain | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


def test_only_kinds_ask_what_kind_a_change_is() -> None:
    found = [
        f"{file.path}:{getattr(node, 'lineno', 0)}"
        for file in figures.sources()
        if not file.of_a_kind
        for node in ast.walk(file.tree)
        if figures.asks_for_a_kind(node)
    ]
    assert found == []


def test_no_kind_imports_another() -> None:
    found = []
    for file in figures.sources():
        path, tree = PACKAGE / file.path, file.tree if file.of_a_kind else ast.Module([], [])
        if path.parent.name != "kinds" or path.stem in figures.COMMON:
            continue
        folder = ".".join(("reconciler", *path.parent.relative_to(PACKAGE).parts))
        others = {other.stem for other in path.parent.iterdir()} - {*figures.COMMON, "__pycache__", path.stem}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith(folder):
                named = {node.module.removeprefix(folder).strip(".").partition(".")[0], *(a.name for a in node.names)}
                found += [f"{path.relative_to(PACKAGE)} imports {name}" for name in sorted(named & others)]
    assert found == []


def test_classes_are_defined_without_compiling_their_methods() -> None:
    """By ``reconciler.dataclass``, which every command's start pays for once a class."""
    standard = re.compile(r"^ *(from dataclasses import .*\bdataclass\b|@dataclasses\.dataclass)", re.M)
    found = [str(file.path) for file in figures.sources() if standard.search(file.text)]
    assert [path for path in found if path != "dataclass.py"] == []


def test_few_imports_wait_until_a_function_runs() -> None:
    found = figures.imports_in_functions(figures.sources())
    own, others = map(sum, zip(*found.values(), strict=True))
    assert own <= MOST_IMPORTS_IN_FUNCTIONS, found
    assert others <= MOST_LIBRARIES_IN_FUNCTIONS, found


def test_a_reader_of_the_cluster_starts_before_what_compares_is_loaded() -> None:
    """The cluster takes longer to answer than the rest to load: ``plan`` and ``drift`` begin with the question."""
    (file,) = (file for file in figures.sources() if file.path == Path("cli/plan.py"))
    floors = set(re.findall(r"^from reconciler\.(\w+)", file.text, re.M))
    assert floors == {"app", "cli"}
    assert set(re.findall(r"^from reconciler\.app\.(\w+)", file.text, re.M)) == {"options"}


def test_no_module_imports_itself_through_others() -> None:
    """Not even for its types: who reads one of a circle has to read all of it."""
    assert figures.circles(figures.sources()) == []


def test_a_circle_is_seen_wherever_its_imports_stand() -> None:
    texts = {
        "a": "if TYPE_CHECKING:\n    from reconciler.b import B\n",
        "b": "def f():\n    from reconciler import (\n        c,\n    )\n",
        "c": "from reconciler.a import A\n",
        "d": "from reconciler.a import A\n",
    }
    files = [figures.Source(Path(f"{name}.py"), text) for name, text in texts.items()]
    assert figures.circles(files) == ["reconciler.a", "reconciler.b", "reconciler.c"]
    assert figures.circles(files[1:]) == []


def test_an_option_of_several_commands_is_defined_once() -> None:
    places = defaultdict(list)
    for file in figures.sources():
        for node in ast.walk(file.tree) if "click.option(" in file.text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "click.option":
                places[ast.unparse(node)].append(f"{file.path}:{node.lineno}")
    assert {option: found for option, found in places.items() if len(found) > 1} == {}


def test_there_are_no_more_files_than_nouns() -> None:
    assert len(figures.sources()) <= MOST_SOURCES


def test_no_file_is_longer_than_one_subject() -> None:
    lengths = {str(file.path): len(file.text.splitlines()) for file in figures.sources()}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES_OF_A_FILE} == {}


def test_few_files_serve_one_other_file_alone() -> None:
    found = sorted(name for name, users in figures.importers(figures.sources()).items() if len(users) == 1)
    assert len(found) <= MOST_WITH_ONE_IMPORTER, found


def test_a_protocol_has_more_than_one_implementation_or_keeps_a_layer_apart() -> None:
    found = figures.protocols(figures.sources())
    assert len(found) <= MOST_PROTOCOLS, found


def named(node: ast.AST) -> str | None:
    """The name that a node gives to a value, a parameter, a function or a class."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    return node.name if isinstance(node, ast.FunctionDef | ast.ClassDef) else None


def test_fewer_names_are_vague() -> None:
    counts = Counter(
        name for file in figures.sources() for node in ast.walk(file.tree) if (name := named(node)) in VAGUE
    )
    assert {name: count for name, count in counts.items() if name is not None and count > VAGUE[name]} == {}


def test_no_name_has_a_word_of_our_own() -> None:
    files = [file for file in figures.sources() if file.path != OF_AWS]
    given = (named(node) for file in files for node in ast.walk(file.tree))
    names = {*(part for file in files for part in file.path.with_suffix("").parts), *filter(None, given)}
    parts = {name: {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)} for name in names}
    assert [name for name in sorted(parts) if parts[name] & DIALECT] == []


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def test_no_function_below_the_command_line_takes_many_values() -> None:
    """Ruff lets no function have more than six, but for those of use cases and those that say why."""
    found = [
        f"{file.path}:{node.name}"
        for file in figures.sources()
        if ("app" in file.path.parts or "PLR0913" in file.text) and "cli" not in file.path.with_suffix("").parts
        for node in ast.walk(file.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(parameters(node)) > MOST_PARAMETERS
    ]
    assert found == []


def use_cases() -> dict[str, figures.Source]:
    """The files of the core's use cases: each is called as the command that asks for it."""
    commands = {name.replace("-", "_") for table in COMMANDS.values() for name in table}
    return {
        file.path.stem: file for file in figures.sources() if file.path.parts[0] == "app" and file.path.stem in commands
    }


def test_no_use_case_begins_with_another() -> None:
    cases = use_cases()
    assert {"apply", "export", "plan", "test", "undo", "validate"} <= cases.keys()
    found = [
        f"{name} imports {other}"
        for name, file in cases.items()
        for other in re.findall(r"^ *from reconciler\.app\.(\w+) import", file.text, re.M)
        if other in cases and not {(other, "*"), (other, name)} & BEGUN_WITH
    ]
    assert found == []


def test_use_cases_are_few_files() -> None:
    assert sum(file.path.parts[0] == "app" for file in figures.sources()) <= MOST_USE_CASES


@pytest.mark.parametrize("kind", figures.LISTED, ids=lambda kind: kind.words)
def test_a_listed_kind_is_few_files_and_fewer_lines_elsewhere(kind: figures.ListedKind) -> None:
    """Its value, its class, its line in the list and its phase: hardly anything else need know it."""
    files = figures.sources()
    own, others = figures.own_files(files, kind), figures.mentions(files, kind)
    resource = next(item.TYPE for item in KINDS if kind.words == item.TYPE.WORDS)
    most_files, most_lines = MOST_OF_CONFIGS if issubclass(resource, ConfigResource) else (MOST_FILES, MOST_LINES)
    assert 0 < len(own) <= most_files, own
    assert 0 < sum(others.values()) <= most_lines, others


def test_every_listed_kind_is_measured() -> None:
    assert {kind.words for kind in figures.LISTED} == {kind.TYPE.WORDS for kind in KINDS}


def test_no_listed_kind_inherits_an_answer_to_a_question_of_law() -> None:
    assert {"answers", "phase", "irreversible", "passwords", "risks"} <= ListedKind.__abstractmethods__


#: Texts that stand as they are: of the tour, and a policy to begin with; the sandbox's connections file is no manifest.
FIXED_TEXTS = {"parts/local/tour.py", "parts/local/sandbox/properties.py", "show/policy.py"}


def test_manifests_are_written_in_one_place() -> None:
    found = {str(file.path) for file in figures.sources() if "apiVersion: reconciler/v1" in file.text}
    assert found - FIXED_TEXTS == {"manifest/write/text.py"}


def test_a_class_name_has_one_meaning() -> None:
    classes = defaultdict(set)
    for file in figures.sources():
        for name in re.findall(r"^ *class (\w+)", file.text, re.M):
            if name not in ONE_A_FLOOR:
                classes[name].add(str(file.path))
    homonyms = {name: sorted(found) for name, found in classes.items() if len(found) > 1}
    assert len(homonyms) <= MOST_HOMONYMS, homonyms


#: Where the makes of Kafka are told apart, and where their package passes the facts on.
FLAVOR_FILES = {PACKAGE / "model" / name for name in ("flavor.py",)}


def asks_which_flavor(node: ast.AST) -> bool:
    """Whether it compares a flavor or its name, matches one, or takes a make by its word."""
    if isinstance(node, ast.Compare):
        return any(map(_is_flavor, [node.left, *node.comparators]))
    if isinstance(node, ast.Match):
        return _is_flavor(node.subject)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return "FLAVORS" in names(node.value)
    if isinstance(node, ast.ImportFrom):
        makes = {name.replace("-", "_").upper() for name in FLAVORS} - {"APACHE"}
        return bool(makes & {alias.name for alias in node.names})
    return False


def _is_flavor(node: ast.AST) -> bool:
    """``…flavor`` or ``…flavor.name``; who states it (``sources.flavor``) is another question."""
    chain = _chain(node)
    if chain[-1:] == ["name"]:
        chain = chain[:-1]
    return "sources" not in chain and "".join(chain[-1:]).endswith("flavor")


def _chain(node: ast.AST) -> list[str]:
    """``target.flavor.name`` as its three names; none for anything else."""
    if isinstance(node, ast.Attribute):
        return [*_chain(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else []


def test_code_asks_a_flavor_for_a_fact_and_never_which_one_it_is() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, tree in sources("flavor|FLAVORS")
        if path not in FLAVOR_FILES
        for node in ast.walk(tree)
        if isinstance(node, ast.expr | ast.stmt) and asks_which_flavor(node)
    ]
    assert found == []


def test_the_check_of_flavors_finds_what_it_is_for() -> None:
    for text in (
        "flavor.name == 'msk'",
        "a.flavor is APACHE",
        "FLAVORS['msk']",
        "from reconciler.model.flavor import MSK",
    ):
        assert any(map(asks_which_flavor, ast.walk(ast.parse(text)))), text
    for text in ("flavor.acl_principals is None", "sources.flavor is 1", "FLAVORS[word]"):
        assert not any(map(asks_which_flavor, ast.walk(ast.parse(text)))), text


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(step.change, Create)",
        "match change:\n    case Delete(AclBinding()):\n        pass",
        "match change:\n    case Update(_, TopicConfigs() as after):\n        pass",
        "isinstance(listed_kind(resource), WrittenKind)",
        "type(kind).collect is not Kind.collect",
        "type(step.change) is Delete",
    ],
)
def test_a_branch_on_a_kind_is_seen(text: str) -> None:
    assert any(map(figures.asks_for_a_kind, ast.walk(ast.parse(text))))


@pytest.mark.parametrize("text", ["isinstance(side, Trouble)", "effect.kind is EffectKind.NARROWS_NEW"])
def test_what_is_no_branch_on_a_kind_is_none(text: str) -> None:
    assert not any(map(figures.asks_for_a_kind, ast.walk(ast.parse(text))))
