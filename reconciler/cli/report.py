"""``reconciler report``: results of other commands for pull requests, pipelines, dashboards and people.

``--notify-webhook`` and what belongs to it are off unless the operator names an address.
"""

import datetime
import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from reconciler import __version__
from reconciler.app.options import ConnectionOptions, now
from reconciler.cli.change_options import TRUNCATED, also_fail_on
from reconciler.cli.console import CommandError, Exit, error, out, out_text, progress, style_for
from reconciler.cli.options import SECRETS, Function
from reconciler.dataclass import dataclass
from reconciler.kafka.secret_source import SecretError, SecretSource
from reconciler.model.secrets import is_reference
from reconciler.plan.file import PlanFileError, parse_plan
from reconciler.show.access_lines import rows_shown
from reconciler.show.formats import FORMATS, FormatOptions, format_named, format_names
from reconciler.show.formats.document import report_text
from reconciler.show.formats.markdown import marker_problem
from reconciler.show.formats.sarif import manifests_problem
from reconciler.show.formats.slack import Link, slack_message
from reconciler.show.reading import Report, ResultError, join, read_result
from reconciler.show.verdicts import Tone, verdict
from reconciler.system import plugins
from reconciler.system.files import write_atomically
from reconciler.system.plugins import PluginError
from reconciler.system.process import broken_link

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


#: What makes the body of a message, JSON, of the report and the links to the run.
Notifier: TypeAlias = "Callable[[Report, Sequence[Link]], str]"


def _slack(report: Report, links: Sequence[Link]) -> str:
    return slack_message(report, links)


def _webhook_body(report: Report, links: Sequence[Link]) -> str:
    """The report as ``-o json`` writes it, for programs."""
    return report_text(report)


#: By the word before ``+`` in an address; the first is that of an address without a word. Other packages add theirs.
NOTIFIERS: Final[Mapping[str, Notifier]] = {"slack": _slack, "webhook": _webhook_body}
GROUP: Final = "reconciler.notifiers"
_TARGET: Final = re.compile(r"([a-z][a-z0-9-]*)\+(?=https://|\$\{)")


def _notifier(name: str) -> Notifier:
    if name in NOTIFIERS:
        return NOTIFIERS[name]
    try:
        notifier: Notifier = plugins.load(GROUP, name)
    except KeyError:
        names = ", ".join(dict.fromkeys((*NOTIFIERS, *plugins.names(GROUP))))
        raise CommandError(f"there is no notifier {name!r}", f"choose one of {names}", Exit.USAGE) from None
    except plugins.PluginError as error:
        raise CommandError(str(error)) from error
    return notifier


@dataclass(frozen=True, slots=True)
class Notification:
    """Whom to tell, as typed: address and secret may be references that the operator's flags permit."""

    address: str
    secret: str | None
    authorities: str | None
    always: bool
    notifier: Notifier = _slack


_OPTIONS = (
    click.option(
        "--notify-webhook",
        metavar="URL",
        help="Also send a Slack-compatible message to this https URL; webhook+URL: the report as JSON. "
        "${env:NAME} keeps the URL secret.",
    ),
    click.option(
        "--notify-when",
        type=click.Choice(["concern", "always"]),
        default="concern",
        show_default=True,
        help="When to send the message.",
    ),
    click.option(
        "--notify-secret",
        metavar="REF",
        help="Secret to sign the message with (HMAC-SHA256): ${env:…}, ${file:…} or ${dir:…}.",
    ),
    click.option(
        "--notify-ca",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="Additional certificate authorities (PEM) to trust.",
    ),
    *SECRETS,
)


def notify_options(function: Function) -> Function:
    """Everything about notifying, handed over as ``notification`` and ``connection``."""

    @functools.wraps(function)
    def gathered(
        *,
        notify_webhook: str | None,
        notify_when: str,
        notify_secret: str | None,
        notify_ca: str | None,
        allow_env: tuple[str, ...],
        secrets_dirs: tuple[str, ...],
        **others: Any,
    ) -> Any:
        if notify_webhook is None and (notify_secret or notify_ca or notify_when == "always"):
            raise CommandError("there is nobody to notify", "add --notify-webhook URL", Exit.USAGE)
        notification = None
        if notify_webhook is not None:
            target = _TARGET.match(notify_webhook)
            address = notify_webhook[target.end() :] if target else notify_webhook
            notifier = _notifier(target[1]) if target else _slack
            notification = Notification(address, notify_secret, notify_ca, notify_when == "always", notifier)
        return function(
            notification=notification, connection=ConnectionOptions(None, allow_env, secrets_dirs), **others
        )

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def notify(
    notification: Notification, report: Report, connection: ConnectionOptions, moment: datetime.datetime
) -> None:
    """Send the message, unless there is nothing to look at; what goes wrong ends the command."""
    from reconciler.system.webhook import WebhookError, deliver, webhook  # TLS, for few runs only

    if verdict(report).tone is Tone.CALM and not notification.always:
        return
    address, secret = _resolved(notification, connection)
    try:
        to = webhook(address, secret, notification.authorities)
    except WebhookError as error:
        raise CommandError(str(error), status=Exit.USAGE) from error
    try:
        deliver(to, notification.notifier(report, ci_links(os.environ)).encode(), int(moment.timestamp()))
    except WebhookError as error:
        raise CommandError(f"nobody was notified: {error}") from error
    progress(f"notified {to.host}")


def _resolved(notification: Notification, connection: ConnectionOptions) -> tuple[str, str | None]:
    """The address and the secret, where the references to them lead."""
    secrets = SecretSource(frozenset(connection.allow_env), tuple(map(Path, connection.secrets_dirs)))
    if notification.secret is not None and not is_reference(notification.secret):
        advice = "write ${env:NAME} with --allow-env NAME, or ${file:PATH:KEY} with --secrets-dir DIR"
        raise CommandError("a secret on the command line is not secret", advice, Exit.USAGE)
    try:
        address, _ = secrets.resolve(notification.address)
        secret = None if notification.secret is None else secrets.resolve(notification.secret)[0]
    except SecretError as error:
        raise CommandError(f"the webhook cannot be used: {error.message}", error.advice, Exit.USAGE) from error
    return address.strip(), secret


# The run and the pull request that a command runs for, as build servers tell it in their variables.

#: What ends a link, or begins something else in a message, is in no address of a build server.
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]{1,1000}")
_PULL_REQUEST: Final = re.compile(r"refs/pull/([0-9]+)/(?:merge|head)")


def ci_links(environment: Mapping[str, str]) -> tuple[Link, ...]:
    """Of GitHub Actions, GitLab CI or Jenkins; empty elsewhere, and without what is not an address."""
    return tuple(Link(words, url) for words, url in _run_links(environment) if _ADDRESS.fullmatch(url))


def _run_links(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    get = environment.get
    if repository := get("GITHUB_REPOSITORY"):
        base = f"{get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
        yield "Run", f"{base}/actions/runs/{get('GITHUB_RUN_ID', '')}" if get("GITHUB_RUN_ID") else ""
        pull = _PULL_REQUEST.fullmatch(get("GITHUB_REF", ""))
        yield "Pull request", f"{base}/pull/{pull[1]}" if pull else ""
    elif get("GITLAB_CI"):
        yield "Run", get("CI_JOB_URL", "") or get("CI_PIPELINE_URL", "")
        project, number = get("CI_MERGE_REQUEST_PROJECT_URL", ""), get("CI_MERGE_REQUEST_IID", "")
        yield "Merge request", f"{project}/-/merge_requests/{number}" if project and number.isdecimal() else ""
    elif get("JENKINS_URL"):
        yield "Run", get("RUN_DISPLAY_URL", "") or get("BUILD_URL", "")
        yield "Pull request", get("CHANGE_URL", "")


class Instant(click.ParamType[datetime.datetime]):
    """A moment as RFC 3339 spells it."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.datetime:
        """Parse, or fail with what was expected."""
        if isinstance(value, datetime.datetime):
            return value
        try:
            moment = datetime.datetime.fromisoformat(value)
        except ValueError:
            moment = datetime.datetime.min
        if moment.tzinfo is None:
            self.fail(f"{value!r} is not a time: write 2026-11-21T08:00:00Z", param, ctx)
        return moment


class Output(click.ParamType[tuple[str, str | None]]):
    """``FORMAT`` or ``FORMAT=FILE``."""

    name = "output"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str | None]:
        """The two parts, or end the command with the formats that there are."""
        if isinstance(value, tuple):
            return value
        name, equals, file = str(value).partition("=")
        if (equals and not file) or (name not in FORMATS and name not in format_names()):
            advice = f"formats are: {', '.join(format_names())}"
            raise CommandError(f"-o {value}: FORMAT or FORMAT=FILE is expected", advice, Exit.USAGE)
        return name, file or None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """The formats."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in format_names() if name.startswith(incomplete)]


@click.command("report", short_help="Write results as a comment, HTML, SARIF, JUnit, metrics …")
@click.argument("results", nargs=-1, required=True, metavar="RESULT...", type=click.Path(allow_dash=True))
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT[=FILE]",
    envvar=[],  # other words than those of other commands
    type=Output(),
    help=f"Format on stdout, or to this file; repeatable: {', '.join(FORMATS)}, and those of plugins.  [default: text]",
)
@click.option(
    "-f",
    "--path",
    "manifests",
    metavar="PATH",
    default="",
    envvar=[],
    help="Of the manifests in the repository, for SARIF's places.",
)
@click.option(
    "--marker",
    metavar="NAME",
    default="",
    help="Name of the pull request comment and of the code scanning category.  [default: clusters]",
)
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([TRUNCATED]),
    help="Exit 3 if a format that was written does not show all rows of access (truncated); it is written anyway.",
)
@click.option("--as-of", metavar="TIME", type=Instant(), help="Time of the results.  [default: now]")
@notify_options
def command(
    *,
    results: tuple[str, ...],
    outputs: tuple[tuple[str, str | None], ...],
    manifests: str,
    marker: str,
    fail_on: tuple[str, ...],
    as_of: datetime.datetime | None,
    notification: Notification | None,
    connection: ConnectionOptions,
) -> int:
    """Report what other commands printed with --output json, or saved plans. Several results become one report.

    RESULT is from plan, drift, lint, test, tighten or validate, or - for stdin. The exit status says whether the report
    could be made, not what it contains; with --fail-on, also whether it shows all rows. With --notify-webhook, a
    Slack-compatible message is sent too.
    """
    options = _options(manifests, marker, as_of or now())
    printed = [name for name, file in outputs if file is None]
    if len(printed) > 1:
        raise CommandError("one format goes to stdout", f"write the others to files: -o {printed[1]}=FILE", Exit.USAGE)
    files = [os.path.realpath(file) for _, file in outputs if file is not None]
    if twice := next((file for file in files if files.count(file) > 1), None):
        raise CommandError(f"two formats go to {twice}", "write each to a file of its own", Exit.USAGE)
    report = join(map(_read, results))
    cut: dict[str, str] = {}
    for name, file in sorted(outputs or (("text", None),), key=lambda output: output[1] is None):
        text = _formatted(name, report, options, cut)
        if file is not None:
            _write(text, file)
        elif name == "text":
            out(text.splitlines())
        else:
            out_text(text)
    if notification is not None:
        notify(notification, report, connection, now())
    failing = also_fail_on(fail_on, (TRUNCATED,))
    return _truncated(report, cut) if TRUNCATED in failing else Exit.OK


def _formatted(name: str, report: Report, options: FormatOptions, cut: dict[str, str]) -> str:
    """The report in a format; ``cut`` gets what it does not show."""

    def on_cut(shown: int, rows: int) -> None:
        cut[name] = rows_shown(shown, rows)

    try:
        return format_named(name)(report, replace(options, on_cut=on_cut))
    except PluginError as error:
        raise CommandError(str(error)) from error


def _truncated(report: Report, cut: dict[str, str]) -> Exit:
    """Say what is not shown; of principals that a plan only counts no format can show more."""
    counted = [plan.terms.cluster for plan in report.all_plans if plan.access.more_principals]
    for form, words in cut.items():
        error(f"{form}: {words} (--fail-on truncated)")
    for cluster in counted:
        error(f"the plan for {cluster} does not list all principals that gain or lose access (--fail-on truncated)")
    return Exit.FAILED_CHECK if cut or counted else Exit.OK


def _options(manifests: str, marker: str, made_at: datetime.datetime) -> FormatOptions:
    """What formats may need; checked whichever format is chosen."""
    for option, problem in (
        (f"--path {manifests}", manifests_problem(manifests)),
        (f"--marker {marker}", marker_problem(marker) if marker else None),
    ):
        if problem is not None:
            raise CommandError(f"{option}: {problem}", status=Exit.USAGE)
    return FormatOptions(__version__, made_at, manifests, marker, style_for(sys.stdout))


def _read(file: str) -> Report:
    """One result; a saved plan has to be as it was saved."""
    text = _content(file)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{file} is not JSON: {error}", "pass what a command printed with --output json") from error
    try:
        if isinstance(document, dict) and "digest" in document:
            parse_plan(text)
        return read_result(document)
    except PlanFileError as error:
        raise CommandError(f"{file}: {error}", "plan again", Exit.STALE) from error
    except (ResultError, RecursionError) as error:
        raise CommandError(f"{file} cannot be reported: {error}") from error


def _content(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8")
    except FileNotFoundError:
        link = broken_link(file)
        raise CommandError(f"{file}: {link}" if link else f"there is no {file}", status=Exit.USAGE) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error


def _write(text: str, file: str) -> None:
    try:
        write_atomically(text, file)
    except OSError as error:
        raise CommandError(f"the report cannot be written: {error}") from error
    progress(f"wrote {file}")
