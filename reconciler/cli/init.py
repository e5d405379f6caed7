"""``reconciler init``: a directory to start from, by options or by questions at a terminal."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from reconciler.cli.console import CommandError, Exit, progress
from reconciler.manifest.documents.cluster import address_problem
from reconciler.manifest.parts.document import document_name_problem
from reconciler.manifest.parts.resources import principal_problem
from reconciler.manifest.write.text import scalar

#: The files, each with the template that it is made from.
_FILES: Final = {
    ".gitignore": "gitignore",
    "connections.yaml": "connections.yaml",
    "reconciler.yaml": "reconciler.yaml",
    "manifests/cluster.yaml": "cluster.yaml",
    "manifests/ownership.yaml": "ownership.yaml",
    "manifests/teams/{team}/access.yaml": "access.yaml",
    "manifests/teams/{team}/topics.yaml": "topics.yaml",
}
#: Those that all teams share: where they are, a directory has been begun.
_SHARED: Final = ("manifests/cluster.yaml", "manifests/ownership.yaml")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
#: The variable that holds the password; the file only refers to it.
_PASSWORD: Final = "KAFKA_PASSWORD"  # noqa: S105
_LONGEST_TEAM: Final = 100


class _Checked(click.ParamType[str]):
    """A text that a manifest can hold; asked for again at a terminal, refused as an option."""

    def __init__(self, name: str, problem: Callable[[str], str | None]) -> None:
        self.name, self._problem = name, problem

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As it is."""
        text = str(value).strip()
        if (problem := self._problem(text)) is not None:
            self.fail(problem, param, ctx)
        return text


def _name_problem(text: str) -> str | None:
    return document_name_problem(text)


def _team_problem(text: str) -> str | None:
    if len(text) > _LONGEST_TEAM:
        return f"at most {_LONGEST_TEAM} characters: topics begin with it"
    return _name_problem(text)


def _servers_problem(text: str) -> str | None:
    problems = (address_problem(server) for server in _split(text))
    return next((f"{trouble.message}: {trouble.advice}" for trouble in problems if trouble), None)


def _principal_problem(text: str) -> str | None:
    trouble = principal_problem(text, may_be_everyone=False)
    return None if trouble is None else f"{trouble.message}: {trouble.advice}"


_NAME, _TEAM = _Checked("name", _name_problem), _Checked("name", _team_problem)
_SERVERS, _PRINCIPAL = _Checked("servers", _servers_problem), _Checked("principal", _principal_problem)
_PROTOCOL = click.Choice(_PROTOCOLS)


@click.command("init", short_help="Write a directory to start from")
@click.argument("directory", default=".", type=click.Path(file_okay=False))
@click.option("-c", "--cluster", type=_NAME, metavar="NAME", help="Name of the cluster.  [default: my-cluster]")
@click.option(
    "--bootstrap-servers",
    type=_SERVERS,
    metavar="HOST:PORT,…",
    help="Where the brokers are.  [default: localhost:9092]",
)
@click.option(
    "--security-protocol",
    type=_PROTOCOL,
    help="How to connect.  [default: PLAINTEXT on this machine, SASL_SSL elsewhere]",
)
@click.option(
    "--principal",
    type=_PRINCIPAL,
    metavar="PRINCIPAL",
    help="Who reconciler is on the cluster.  [default: User:reconciler, or User:ANONYMOUS with PLAINTEXT]",
)
@click.option(
    "--team",
    metavar="NAME[=PRINCIPAL]",
    help="A team, whose names begin with it, and its application.  [default: orders=User:svc-orders]",
)
def command(
    *,
    directory: str,
    cluster: str | None,
    bootstrap_servers: str | None,
    security_protocol: str | None,
    principal: str | None,
    team: str | None,
) -> int:
    """Write a directory to start from: manifests of one cluster and one team, and a connections file beside them.

    At a terminal, what you do not give as an option is asked for. The manifests are a Cluster, an Ownership, and the
    Acls and Topics of the team, with comments; the connections file holds no secret. No existing file is overwritten.
    In a directory that it wrote, --team adds another team: its files, and its items in Ownership and scope.
    """
    team, application = _team_of(team)
    if team is not None and all((Path(directory) / path).exists() for path in _SHARED):
        return _add_team(directory, team, application)
    cluster = _given(cluster, "Name of the cluster", "my-cluster", _NAME)
    servers = _given(bootstrap_servers, "Bootstrap servers", "localhost:9092", _SERVERS)
    usual = "PLAINTEXT" if all(map(_is_here, _split(servers))) else "SASL_SSL"
    protocol = _given(security_protocol, "Security protocol", usual, _PROTOCOL)
    anonymous = "User:ANONYMOUS" if protocol == "PLAINTEXT" else "User:reconciler"
    own = _given(principal, "Principal of reconciler", anonymous, _PRINCIPAL)
    team = _given(team, "First team", "orders", _TEAM)
    application = _given(application, "Principal of the team's application", f"User:svc-{team}", _PRINCIPAL)
    password = _PASSWORD if protocol.startswith("SASL") else ""
    values = {
        "cluster": cluster,
        "servers": _split(servers),
        "protocol": protocol,
        "principal": own,
        "user": own.partition(":")[2],
        "password": password,
        "team": team,
        "application": application,
        "prefix": f"{team}.",
        "topic": f"{team}.events",
    }
    _write(Path(directory), {path.format(team=team): text for path, text in _texts(_FILES, values).items()})
    _say_next(directory, password)
    return Exit.OK


def _team_of(text: str | None) -> tuple[str | None, str | None]:
    """``NAME=PRINCIPAL`` or ``NAME`` as its parts; ends the command where one is wrong."""
    if text is None:
        return None, None
    context = click.get_current_context()
    name, _, principal = text.partition("=")
    option = next(parameter for parameter in context.command.params if parameter.name == "team")
    return _TEAM.convert(name, option, context), _PRINCIPAL.convert(principal, option, context) if principal else None


def _add_team(directory: str, team: str, principal: str | None) -> int:
    """Write the files of one more team, and its items into the files of all teams."""
    from yaml import YAMLError

    from reconciler.manifest.write.spans import Item, Splice, layout, quoted, spliced, with_entry, with_items

    application = _given(principal, "Principal of the team's application", f"User:svc-{team}", _PRINCIPAL)
    values = {"team": team, "application": application, "prefix": f"{team}.", "topic": f"{team}.events"}
    owner: Item = {"prefix": quoted(f"{team}."), "principals": [quoted(application)]}
    scope: list[Item] = [{"principals": [quoted(application)]}, {"topics": {"prefix": quoted(f"{team}.")}}]
    target = Path(directory)
    changed: dict[str, str] = {}
    for path in _SHARED:
        text = (target / path).read_text(encoding="utf-8")
        try:
            documents = layout(text)
        except YAMLError as error:
            raise CommandError(f"{target / path} is not YAML: nothing was written") from error
        splices: list[Splice] = []
        for document in documents:
            kind, spec = document.root.get("kind"), document.root.get("spec")
            if kind is None or spec is None:
                continue
            # A cluster without a scope manages all that it has.
            if kind.plain == "Cluster" and (limits := spec.get("scope")) is not None and limits.get("include"):
                splices += with_items(text, limits, "include", scope)
            elif kind.plain == "Ownership" and (teams := spec.get("teams")) is None:
                splices += with_entry(text, spec, "teams", {team: owner})
            elif kind.plain == "Ownership" and teams is not None and teams.get(team) is None:
                splices += with_entry(text, teams, team, owner)
        changed[path] = spliced(text, splices)
    own = {path: name for path, name in _FILES.items() if "{team}" in path}
    _write(target, {path.format(team=team): text for path, text in _texts(own, values).items()})
    for path, text in changed.items():
        (target / path).write_text(text, encoding="utf-8")
        progress(f"added {team} to {target / path}")
    return Exit.OK


def _given(value: str | None, question: str, default: str, kind: click.ParamType[str]) -> str:
    """The value of an option, else the answer to a question, else the default where nobody can be asked."""
    if value is not None:
        return value
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or "CI" in os.environ:
        return default
    return str(click.prompt(question, default=default, type=kind, err=True))


def _split(servers: str) -> list[str]:
    return [server.strip() for server in servers.split(",")]


def _is_here(server: str) -> bool:
    return server.startswith(("localhost:", "127.", "[::1]"))


def _texts(files: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    """The files, by path. Every value is written as one YAML text, whatever characters it has."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    def written(value: object) -> str:
        texts = value if isinstance(value, list) else [value]
        return ", ".join(scalar(str(text), flow=True) for text in texts)

    loader = PackageLoader("reconciler.cli", "starting")
    # The output is YAML: autoescape is for HTML, and ``finalize`` quotes.
    environment = Environment(
        loader=loader,
        autoescape=False,  # noqa: S701
        undefined=StrictUndefined,
        finalize=written,
        keep_trailing_newline=True,
    )
    return {path: environment.get_template(name).render(values) for path, name in files.items()}


def _write(target: Path, files: Mapping[str, str]) -> None:
    taken = [path for path in files if (target / path).exists()]
    if taken:
        raise CommandError(f"{', '.join(taken)} in {target} would be overwritten: nothing was written")
    for path, text in files.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")
        progress(f"wrote {target / path}")


def _say_next(directory: str, password: str) -> None:
    reach = "--connections connections.yaml" + (f" --allow-env {password}" if password else "")
    progress(f"next: cd {shlex.quote(directory)}")
    progress("      reconciler validate --expand")
    progress(f"      reconciler doctor {reach}")
    progress(f"      reconciler plan {reach}")
    progress("pipelines: docs/ci.md, and the files in examples/ci")
