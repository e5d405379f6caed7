"""What all commands have in common: variables for options, short options, PATH, words for commands, proposals."""

import csv
import inspect
import io
import itertools
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reconciler.cli.commands import FROM_VARIABLES, TYPED_ONLY, prepared
from reconciler.cli.console import Exit
from reconciler.cli.export import LISTS
from reconciler.cli.main import ELSEWHERE, OPTIONS_ELSEWHERE, program, run
from reconciler.cli.recipes import EXAMPLES, RECIPES
from reconciler.codec.kinds import LISTED
from reconciler.model.acl import OpaqueBinding
from reconciler.model.kinds.quota import ClientQuota, QuotaEntity
from reconciler.model.listing import Listing
from reconciler.model.state import ClusterState
from reconciler.model.topic import Topic
from reconciler.snapshot.document import snapshot_text
from tests.integration.command_lines import parsed
from tests.worlds import binding

_CLUSTER = """\
apiVersion: reconciler/v1
kind: Cluster
metadata: {name: NAME}
spec: {allowEveryoneIfNoAclFound: false}
"""


def _tree(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below
            yield from _tree(below, (*words, name))


COMMANDS = dict(_tree(program))
OPTIONS = [
    (words, command, option)
    for words, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.hidden and option.name not in ("version", "help")
]


#: What a person has to hold who learns the command line. To raise one is to say in the same change what it buys.
_MOST_NAMES = 109 + 7
_MOST_OF_A_COMMAND = 20
#: What every command that connects takes, said once: ``reconciler help connection``.
_CONNECTING = {
    "--connections",
    "--trust-manifest-connection",
    "--allow-env",
    "--secrets-dir",
    "--allow-cleartext-login",
}


def spelled(option: click.Option) -> str:
    return max(option.opts, key=len)


def test_the_command_line_has_few_options() -> None:
    """Distinct names in all, the program's own among them, and options of one command besides the connection's."""
    assert len({spelled(option) for _, _, option in OPTIONS}) <= _MOST_NAMES
    of_each = Counter(words for words, _, option in OPTIONS if spelled(option) not in _CONNECTING)
    assert {words: count for words, count in of_each.items() if count > _MOST_OF_A_COMMAND} == {}


def test_every_command_has_two_examples_that_it_takes() -> None:
    leaves = {words for words, command in COMMANDS.items() if not isinstance(command, click.Group)}
    counts = Counter(tuple(parsed(shlex.split(line))[0].split()) for line in EXAMPLES)
    assert counts == dict.fromkeys(leaves, 2)
    assert max(map(len, EXAMPLES)) < 100


def test_help_is_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    """What ``--help`` shows; the connection options, which every help names in one line; recipes; a lint rule."""
    for words in ((), ("plan",), ("fleet", "query"), ("fleet", "query", "who-can")):
        assert run(["help", *words]) == Exit.OK
        shown = capsys.readouterr().out
        assert run([*words, "--help"]) == Exit.OK
        assert capsys.readouterr().out.split() == shown.split()
    assert run(["help", "connection"]) == Exit.OK
    assert set(re.findall(r"(?m)^ *(--[a-z-]+)", capsys.readouterr().out)) == _CONNECTING
    assert run(["plan", "--help"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "Connection options: reconciler help connection" in shown
    assert "--trust-manifest-connection" not in shown
    assert run(["help", "recipes"]) == Exit.OK
    assert all(heading in capsys.readouterr().out for heading in ("Delete a topic",))
    assert run(["help", "KA012"]) == Exit.OK
    assert capsys.readouterr().out.startswith("KA012: open-prefix")
    assert run(["help", "no-such"]) == Exit.USAGE
    assert "commands: reconciler help; more: connection, recipes" in capsys.readouterr().err


def test_every_option_is_classified() -> None:
    """A variable may set it, or nobody but the command line: no option is in neither list, or in both."""
    assert len(OPTIONS) > 200
    words = {spelled(option).removeprefix("--") for _, _, option in OPTIONS}
    assert words == FROM_VARIABLES | TYPED_ONLY
    assert not FROM_VARIABLES & TYPED_ONLY
    unknown = click.Command("new", params=[click.Option(["--brand-new"])])
    with pytest.raises(LookupError, match="--brand-new"):
        prepared(unknown, ("new",))


def _parsed(command: click.Command, words: list[str]) -> None:
    context = click.Context(command, info_name="x")
    # Only the words themselves: what an option may be is not asked, nor what is missing.
    command.make_parser(context).parse_args(words)


@pytest.mark.parametrize("command", [pytest.param(one, id=" ".join(words)) for words, one in COMMANDS.items()])
def test_no_option_is_overwritten_by_its_repetition(command: click.Command) -> None:
    """Each of every command, hidden ones too: all of its values count, or it is refused, by every one of its names."""
    for option in [one for one in command.params if isinstance(one, click.Option)]:
        value = [] if option.is_flag or option.count else ["1"] * option.nargs
        names = [*option.opts, *option.secondary_opts]
        _parsed(command, [names[0], *value])
        for first, second in itertools.product(names, names):
            words = [first, *value, second, *value]
            if option.multiple or option.count or (option.is_flag and not option.secondary_opts):
                _parsed(command, words)
                continue
            with pytest.raises(
                click.UsageError, match=rf"{spelled(option)} .*is given 2 times, and only one can count"
            ):
                _parsed(command, words)
    # Two options with one value would overwrite each other as well.
    assert [name for name, times in Counter(one.name for one in command.params).items() if times > 1] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("init shop -c prod --team a --team b", "--team is given 2 times"),
        ("plan m -c prod --cluster prod", "--cluster is given 2 times"),
        ("fleet apply plans m --lease --no-lease", "--lease or --no-lease is given 2 times"),
        ("apply p.json m --batch 5 --batch 10", "--batch takes one number, one size, or both"),
        ("apply p.json m --audit a --audit b", "--audit takes one file, one topic, or both"),
        ("tighten --policy days=30 --policy any-age,days=40", "--policy has days more than once"),
        ("report p.json -o html=a -o markdown=./a", "two formats go to "),
    ],
)
def test_what_is_said_twice_is_refused(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("m", "plans"):
        Path(name).mkdir()
    Path("p.json").write_text("{}", encoding="utf-8")
    assert run(words.split()) == Exit.USAGE
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "p.json", "plans"]


@pytest.mark.parametrize(
    "words",
    [
        "validate gone",
        "plan m -c prod --connections gone",
        "plan m -c prod --guardrails gone",
        "plan m -c prod=snapshot:gone",
        "who-can READ topic/a -c prod=snapshot:gone",
        "show gone",
        "report gone",
        "apply gone m --yes",
        "lint m --known-principals gone",
        "approve gone --key gone",
    ],
)
def test_a_link_to_nothing_is_called_so(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "")
    Path("m").mkdir()
    Path("m/c.yaml").write_text(_CLUSTER.replace("NAME", "prod"), encoding="utf-8")
    Path("gone").symlink_to("nowhere.json")
    assert run(words.split()) in (Exit.USAGE, Exit.ERROR)
    shown = capsys.readouterr()
    assert "this is a link to nowhere.json, where nothing is" in shown.err + shown.out


def test_a_short_option_is_the_same_in_every_command() -> None:
    shorts: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for name in parameter.opts:
                    if not name.startswith("--"):
                        shorts.setdefault(name, set()).add(spelled(parameter))
    assert shorts == {
        "-c": {"--cluster"},
        "-f": {"--path"},
        "-o": {"--output"},
        "-q": {"--quiet"},
        "-v": {"--verbose"},
        "-y": {"--yes"},
    }
    for words, _, option in OPTIONS:
        if spelled(option) in ("--cluster", "--path", "--output", "--yes"):
            assert len(option.opts) == 2, words


def test_every_command_that_reads_manifests_takes_path_as_an_option() -> None:
    for words, command in COMMANDS.items():
        takes = {spelled(option) for option in command.params if isinstance(option, click.Option)}
        arguments = {argument.name for argument in command.params if isinstance(argument, click.Argument)}
        reads = "path" in arguments or "--connections" in takes
        # A fleet is locked by its connections alone: an incident waits for no manifest.
        assert not reads or words in (("convert",), ("fleet", "lock")) or "--path" in takes, words


def test_path_as_a_word_and_as_an_option_are_one_in_every_command(tmp_path: Path) -> None:
    (plan := tmp_path / "p").touch()
    words_of = {"directory": [str(tmp_path)], "plan_file": [str(plan)]}
    for words, command in COMMANDS.items():
        arguments = [one for one in command.params if isinstance(one, click.Argument)]
        # The word of apply is a plan or PATH, which only its callback tells.
        if "path" not in [one.name for one in arguments]:
            continue
        options = [one for one in command.params if isinstance(one, click.Option)]
        before = [word for one in options if one.required for word in (spelled(one), str(tmp_path))]
        before += [word for one in arguments for word in words_of.get(str(one.name), [])]
        given = [command.make_context("x", [*before, *more]).params for more in (["m"], ["-f", "m"], ["--path", "m"])]
        assert given[0] == given[1] == given[2], words
        assert given[0]["path"] == "m", words
        (option,) = [one for one in options if "--path" in one.opts]
        assert "the same as the word PATH" in str(option.help), words


def test_path_is_a_word_only_where_no_other_word_says_what_a_command_is_about() -> None:
    """Beside a principal, an operation or a resource it is ``--path``; beside a plan it may be a word."""
    for words, command in COMMANDS.items():
        arguments = [str(one.metavar) for one in command.params if isinstance(one, click.Argument)]
        if "[PATH]" in arguments:
            assert arguments in (["[PATH]"], ["PLAN", "[PATH]"], ["[PLAN]", "[PATH]"], ["DIR", "[PATH]"]), words


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with manifests in a directory, and a snapshot."""
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "cluster.yaml").write_text(_CLUSTER.replace("NAME", "c"), encoding="utf-8")
    (tmp_path / "live.json").write_text(snapshot_text(ClusterState("id")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command", ["plan", "drift", "apply", "who-can READ topic/t", "access", "lint", "quota User:a"]
)
def test_path_is_said_in_one_way_everywhere(command: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*command.split(), "-f", "manifests", "-c", "snapshot:live.json"]
    assert run([*words, *(["-y"] if command == "apply" else [])]) in (Exit.OK, Exit.ERROR)
    assert "no manifests" not in capsys.readouterr().err


def test_one_declared_cluster_needs_no_name_and_several_do(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "manifests"]) == Exit.ERROR
    assert "nothing says how to reach cluster 'c'" in capsys.readouterr().err
    (place / "manifests" / "other.yaml").write_text(_CLUSTER.replace("NAME", "d"), encoding="utf-8")
    for command in (
        ["plan", "manifests"],
        ["drift", "manifests"],
        ["doctor", "manifests"],
        ["apply", "manifests", "-y"],
    ):
        assert run(command) == Exit.USAGE
        assert "declared are: c, d" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (["pln"], "'plan'"),
        (["stats"], "'status'"),
        (["fleet", "snapshots"], "'snapshot'"),
        (["sandbox", "stop"], "no such command"),
        (["plan", "--clutser", "x"], "'--cluster'"),
        (["apply", "--dry-run"], "no such option"),
    ],
)
def test_what_is_mistyped_is_proposed(words: list[str], proposed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == Exit.USAGE
    assert proposed.lower() in capsys.readouterr().err.lower()


def test_version_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == run(["version"]) == Exit.OK
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


@pytest.fixture
def kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A connections file that the user keeps, with a cluster whose settings cannot be used, so that nothing is sent."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
    file = place / "config" / "reconciler" / "connections.yaml"
    file.parent.mkdir(parents=True)
    said = "spec: {bootstrapServers: ['127.0.0.1:1'], client: {no.such: setting}, "
    file.write_text(_CLUSTER.replace("NAME", "c").replace("spec: {", said), encoding="utf-8")
    return file


def test_the_users_connections_file_is_found_and_named(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "manifests", "-v"]) == Exit.ERROR
    shown = capsys.readouterr().err
    assert f"debug: connections file: {kept}" in shown
    assert f"the connection of cluster c ({kept}) cannot be used" in shown


def test_the_users_connections_file_need_not_have_every_cluster(
    kept: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "manifests" / "cluster.yaml").write_text(_CLUSTER.replace("NAME", "other"), encoding="utf-8")
    assert run(["plan", "manifests"]) == Exit.ERROR
    assert "nothing says how to reach cluster 'other'" in capsys.readouterr().err
    assert run(["plan", "manifests", "--connections", str(kept)]) == Exit.ERROR
    assert "has no connection for cluster 'other'" in capsys.readouterr().err


def test_in_ci_the_users_connections_file_does_not_count(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")
    assert run(["plan", "manifests", "-c", "c"]) == Exit.USAGE
    assert "in CI the connection has to come from the operator" in capsys.readouterr().err


def test_colour_is_for_those_who_want_it(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def coloured(*words: str) -> bool:
        assert run(["validate", "manifests", *words]) == Exit.OK
        return "\033[" in capsys.readouterr().out

    assert not coloured()
    assert coloured("--color", "always")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert coloured()
    assert not coloured("--color", "never")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured()
    monkeypatch.setenv("RECONCILER_COLOR", "always")
    assert coloured()


def test_quiet_leaves_out_what_was_done_and_keeps_warnings(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "manifests", "-c", "snapshot:live.json", "--out", "plan.json"]
    assert run(words) == Exit.OK
    assert "saved plan.json" in capsys.readouterr().err
    assert run([*words, "-q"]) == run(["-q", *words]) == Exit.OK
    assert "saved" not in capsys.readouterr().err
    assert run(["plan", "-c", "snapshot:none.json", "-q", "manifests"]) == Exit.ERROR
    assert "error: " in capsys.readouterr().err


def test_verbose_says_where_values_come_from_and_what_is_asked_and_no_secret(
    kept: Path, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    login = "sasl.mechanism: PLAIN, sasl.username: u, sasl.password: '${env:P}'"
    client = f"client: {{security.protocol: SASL_PLAINTEXT, {login}}}"
    kept.write_text(kept.read_text().replace("client: {no.such: setting}", client), encoding="utf-8")
    (place / "reconciler.yaml").write_text("path: manifests\n", encoding="utf-8")
    monkeypatch.setenv("P", "hunter2")
    monkeypatch.setenv("RECONCILER_ALLOW_ENV", "P")
    assert run(["plan", "--verbose"]) == Exit.ERROR
    shown = capsys.readouterr().err
    assert "debug: RECONCILER_ALLOW_ENV sets --allow-env, unless the command line does" in shown
    assert "debug: project file: reconciler.yaml" in shown
    assert (
        "debug: connect: bootstrap.servers 127.0.0.1:1, security.protocol SASL_PLAINTEXT, sasl.mechanisms PLAIN"
        in shown
    )
    assert "debug: client: bootstrap server 127.0.0.1:1" in shown
    assert "debug: handshake: failed after " in shown
    assert "hunter2" not in shown


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("who-can READ topic/t -o csv", "cluster,basis,"),
        ("access -o table", "CLUSTER  STATE  PRINCIPAL       OPERATION  RESOURCE"),
        ("access --matrix -o table", "RESOURCE"),
        ("who-can READ topic/t -o table", "CLUSTER  STATE  PRINCIPAL  ACCESS    ON"),
        ("lint -o table", "CLUSTER  LEVEL  RULE  ABOUT  FINDING  DECLARED AT  CONDITION"),
        ("drift -c snapshot:live.json -o table", "CHANGE  PRINCIPAL  PERMISSION  OPERATION  RESOURCE  DECLARED AT"),
        ("lint -o csv", "cluster,basis,"),
        ("drift -c snapshot:live.json -o csv", ""),
        ("quota User:a -o table", "CLUSTER: c"),
        ("validate -o yaml", "clusters:"),
    ],
)
def test_lists_can_be_tables_and_every_answer_yaml(
    words: str, first: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "-f", "manifests"]) == Exit.OK
    assert capsys.readouterr().out.startswith(first)


def test_every_table_has_columns_for_people() -> None:
    """No heading of a table is the path of a JSON field: each command is known here, with what makes its columns."""
    own = {("access",), ("drift",), ("quota",), ("who-can",)}
    found = {}
    for words, _, option in OPTIONS:
        if option.name == "output" and isinstance(option.type, click.Choice) and "table" in option.type.choices:
            found[words] = inspect.getclosurevars(option.callback).nonlocals["columns"]  # type: ignore[arg-type]
    assert {words for words, columns in found.items() if columns is None} == own | {
        words for words in found if words[:2] == ("fleet", "query")
    }
    headings = [name for columns in found.values() for name in columns or ()]
    assert len(headings) > 20
    assert all(re.fullmatch("[A-Z][A-Z ]+", name) for name in headings)


def test_a_connections_file_next_to_the_manifests_is_none_of_them(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place / "connections.yaml"
    said = "spec: {bootstrapServers: ['127.0.0.1:1'], client: {no.such: x}, protect: [{principals: 'User:x'}], "
    file.write_text(_CLUSTER.replace("NAME", "c").replace("spec: {", said), encoding="utf-8")
    assert run(["plan", "-c", "c=snapshot:live.json"]) in (Exit.ERROR, Exit.USAGE)
    assert "pass --connections with that file" in capsys.readouterr().err
    words = ["-c", "c=snapshot:live.json", "--connections", "connections.yaml"]
    assert run(["plan", *words, "-o", "json"]) == Exit.OK
    document = json.loads(capsys.readouterr().out)
    assert document["facts"]["sources"]["allowEveryoneIfNoAclFound"] == "manifests"
    assert document["facts"]["protect"]
    assert run(["plan", "--connections", "connections.yaml"]) == Exit.ERROR
    assert "the connection of cluster c (connections.yaml) cannot be used" in capsys.readouterr().err
    file.write_text(file.read_text().replace("no.such: x", "sasl.password: '${env:P}'"), encoding="utf-8")
    assert run(["plan", "--connections", "connections.yaml", "--allow-env", "P"]) == Exit.ERROR
    assert "pass the directory that has manifests only as PATH" in capsys.readouterr().err


_RULE = """\
apiVersion: reconciler/v1
kind: Acls
metadata: {name: a}
spec:
  principal: User:a
  rules: [{allow: READ, topics: [t]}]
"""


def test_quiet_prints_a_plan_and_a_drift_in_one_line(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--path", "manifests", "--cluster", "c=snapshot:live.json"]
    assert run(["plan", *where, "--quiet"]) == Exit.OK
    nothing = "c: Nothing to do, as far as facts hold that only the manifests state. 1 warning.\n"
    assert capsys.readouterr().out == nothing
    (place / "manifests" / "a.yaml").write_text(_RULE, encoding="utf-8")
    assert run(["--quiet", "plan", *where]) == Exit.OK
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("c: Access widens and narrows, in part depending on")
    assert ". 1 ACL to create. 1 warning.  plan-" in line
    approved = line.split()[-1]
    assert run(["drift", "-q", *where]) == Exit.DIFFERENT
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("c: The cluster differs from what is declared: 1 difference. 1 ACL missing")
    assert run(["drift", "-o", "table", *where]) == Exit.DIFFERENT
    head, row, _ = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "CHANGE"
    assert row.split() == ["missing", "User:a", "ALLOW", "READ", "TOPIC", "t", "a.yaml:6:34"]
    assert run(["plan", *where, "-q", "-o", "json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["planId"] == approved


def test_quiet_gives_no_id_for_a_plan_that_a_guard_or_a_check_stops(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--path", "manifests", "--cluster", "c=snapshot:live.json", "--quiet"]
    (place / "manifests" / "a.yaml").write_text(_RULE.replace("topics: [t]", "cluster: true").replace("READ", "ALTER"))
    assert run(["plan", *where]) == Exit.REFUSED
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "c: Refused: 1 object that a safety check protects, and 1 change left out. The rest: nothing"
    )
    assert "plan-" not in line


def test_export_lists_what_a_cluster_has_as_rows(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quota = ClientQuota(QuotaEntity((("user", "a"),)), {"producer_byte_rate": 1024.0})
    state = ClusterState(
        "id",
        frozenset({binding("TOPIC:L:t User:a@* ALLOW READ"), binding("TOPIC:P:t User:b@* DENY WRITE")}),
        {"t": Topic("t", 3, 1, {"retention.ms": "1000"})},
        opaque=(OpaqueBinding("odd", "User:a", "*", 99, 3, 99, 3),),
        unreadable_topics={"hidden": "not authorised"},
        listings={"quotas": Listing(frozenset({quota}))},
    )
    (place / "live.json").write_text(snapshot_text(state), encoding="utf-8")
    assert run(["export", "--path", "manifests", "--cluster", "c=snapshot:live.json", "-o", "csv"]) == Exit.OK
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["list"] for row in rows] == ["bindings", "bindings", "topics", "quotas", "opaque", "unreadableTopics"]
    assert [row["name"] for row in rows] == ["t", "t", "t", "", "odd", "hidden"]
    assert (rows[1]["principal"], rows[1]["permissionType"], rows[1]["operation"]) == ("User:b", "DENY", "WRITE")
    assert (rows[2]["partitions"], rows[2]["configs.retention.ms"]) == ("3", "1000")
    assert (rows[3]["entity.user"], rows[3]["values.producer_byte_rate"]) == ("a", "1024")
    assert set(LISTED) <= set(LISTS)
    assert run(["export", "--path", "manifests", "-c", "c=snapshot:live.json", "-o", "table"]) == Exit.OK
    assert "6 rows" in capsys.readouterr().out


def test_help_names_every_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", "recipes"]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    headings = {heading for found in RECIPES.values() for heading in found if not heading.startswith("Run it in")}
    assert [heading for heading in sorted(headings) if heading not in shown] == []
    assert "docs/how-to.md" in shown
    assert "Run it in GitHub Actions: apply" in shown


def test_words_of_other_tools_name_the_command_to_look_at(capsys: pytest.CaptureFixture[str]) -> None:
    for word, command in ELSEWHERE.items():
        assert (word,) not in COMMANDS
        assert (command,) in COMMANDS
        assert run([word]) == Exit.USAGE
        assert f"No such command '{word}'. See: reconciler {command} --help" in capsys.readouterr().err


def test_options_of_other_tools_name_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    """None is an option here, and what is named instead is one."""
    ours = {name for command in COMMANDS.values() for one in command.params for name in one.opts}
    for option, meant in OPTIONS_ELSEWHERE.items():
        assert option not in ours
        assert all(name in ours for name in re.findall(r"--[a-z-]+", meant)), meant
        assert run(["reassignments", "list", option]) == Exit.USAGE
        assert f"Write {meant}." in " ".join(capsys.readouterr().err.split())


def test_the_package_runs_as_a_module() -> None:
    found = subprocess.run([sys.executable, "-m", "reconciler", "version"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("reconciler, version ")
