"""Documents do not lie: commands, options, help texts, plans, error texts and links in them are those of today."""

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from reconciler.cli.main import program, run
from reconciler.manifest.connections import connections
from reconciler.manifest.read.findings import Source
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.parts.local.tour import BINDINGS, TOPICS
from reconciler.snapshot.document import BrokerFacts, snapshot_text
from tests.integration.commands_page import PAGES, described, every_command, refreshed
from tests.unit import packages_page

_ROOT = Path(__file__).parents[2]
_PAGES = sorted([*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md")])
_SOURCES = sorted(_ROOT.glob("reconciler/**/*.py"))
_FENCE = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _name(path: Path) -> str:
    return str(path.relative_to(_ROOT))


def _command_lines(text: str) -> list[str]:
    blocks = "\n".join(_FENCE.findall(text))
    return re.findall(r"^(?:\$ )?(?:uvx --from \. kafka-)?(reconciler [^#\n]*?)\s*$", blocks, re.MULTILINE)


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_commands_and_their_options_exist(page: Path) -> None:
    for line in _command_lines(page.read_text(encoding="utf-8")):
        command: click.Command = program
        context = click.Context(program)
        for word in shlex.split(line)[1:]:
            if isinstance(command, click.Group) and not word.startswith("-"):
                found = command.get_command(context, word)
                assert found, f"{line}: there is no {word}"
                command = found
            elif word.startswith("-") and word != "-":
                known = {name for parameter in command.params for name in parameter.opts} | {"--help"}
                assert word in known, f"{line}: there is no {word}"


def test_readme_shows_commands() -> None:
    assert len(_command_lines((_ROOT / "README.md").read_text(encoding="utf-8"))) >= 8


_READERS = ("a platform engineer", "a reviewer", "a developer", "on call", "a CI engineer", "a Python programmer")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_each_reader_has_a_door_with_two_or_three_pages(page: str) -> None:
    text = (_ROOT / page).read_text(encoding="utf-8").replace("**", "")
    for reader in _READERS:
        (row,) = re.findall(rf"^\| {reader}\b.*\|$", text, re.MULTILINE)
        assert 2 <= len(_LINK.findall(row)) <= 3, row


def test_every_command_has_its_help_on_a_page_as_it_is_today() -> None:
    assert sorted(described()) == sorted(every_command())
    old = [page.name for page in PAGES.glob("*.md") if page.read_text(encoding="utf-8") != refreshed(page)]
    assert old == [], "run: make reference"


def _quoted_plans(page: str) -> list[str]:
    return [
        block
        for block in _FENCE.findall((_ROOT / page).read_text(encoding="utf-8"))
        if re.search(r"^(demo: |Access$|\d+\. \w+ )", block, re.MULTILINE)
    ]


def test_quoted_plans_are_what_the_example_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The tour lets a consumer read before it plans, and Kafka keeps its offsets.
    topics = (*TOPICS, Topic("__consumer_offsets", 50, 1))
    state = ClusterState("demo", frozenset(BINDINGS), {topic.name: topic for topic in topics})
    file = tmp_path / "live.json"
    file.write_text(snapshot_text(state, BrokerFacts(broker_ids=(1,))), encoding="utf-8")
    quoted = _quoted_plans("docs/reviewing.md")
    assert quoted
    arguments = ["plan", str(_ROOT / "examples/acls"), "--cluster", f"snapshot:{file}", "--allow-deletes"]
    arguments += ["--connections", str(_ROOT / "examples/operator.yaml")]
    assert run([*arguments, "--as-of", "2026-11-21"]) == 0
    printed = capsys.readouterr().out
    for block in quoted:
        assert block.rstrip("\n") in printed


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        # Relative to a file's place at a code forge: the runs of a workflow.
        workflow = re.fullmatch(r"\.\./\.\./actions/workflows/(\w+\.yml)(?:/badge\.svg)?", target)
        if workflow:
            assert (_ROOT / ".github/workflows" / workflow[1]).exists()
        if workflow or re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in _anchors(linked), f"{target}: there is no such heading"


def test_the_map_of_packages_is_that_of_the_contracts_and_the_folders() -> None:
    page = (_ROOT / "docs/packages.md").read_text(encoding="utf-8")
    contracts = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    assert f"\n{' > '.join(layers)}\n" in page
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == [name for layer in layers for name in layer.split(" | ")]
    package = {path.stem for path in (_ROOT / "reconciler").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert set(rows) == package - {"__init__", "__main__", "__pycache__"}


def test_the_list_of_files_is_current() -> None:
    page = packages_page.PAGE.read_text(encoding="utf-8")
    assert packages_page.refreshed(page) == page, "run make reference"


@pytest.mark.parametrize("page", ["docs/packages.md", "docs/life-of-a-rule.md"])
def test_modules_that_are_named_exist(page: str) -> None:
    named = re.findall(r"`([\w/]+(?:\.py|/))`", (_ROOT / page).read_text(encoding="utf-8"))
    assert named
    for name in named:
        places = [_ROOT / name, _ROOT / "reconciler" / name]
        assert any(place.exists() for place in places), f"{name} does not exist"


def test_error_texts_that_are_explained_exist() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in _SOURCES)
    # Adjacent string literals are one text.
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    page = (_ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    texts = [
        text for line in re.findall(r"^\*\*`.*", page, re.MULTILINE) for text in re.findall(r"\*\*`(.+?)`\*\*", line)
    ]
    assert len(texts) > 40
    for text in texts:
        if re.fullmatch(r"_?[A-Z_]+", text):
            continue
        for piece in re.split(r"…|^[A-Z_]+: ", text):
            words = piece.strip(" ():,.“”")
            assert len(words) < 8 or words in code, f"nothing says: {words}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_manifests_that_are_shown_are_valid(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(_FENCE.findall(page.read_text(encoding="utf-8"))):
        if block.startswith("# connections.yaml\n"):
            assert "apiVersion" not in block or connections([Source("connections.yaml", block)])
        elif "apiVersion: reconciler/v1" in block:
            file = tmp_path / f"{number}.yaml"
            file.write_text(block, encoding="utf-8")
            assert run(["validate", str(file)]) == 0
