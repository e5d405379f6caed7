"""``--notify-webhook`` and what belongs to it: off unless the operator names an address."""

import datetime
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from reconciler.app.options import ConnectionOptions
from reconciler.cli.console import CommandError, Exit, progress
from reconciler.cli.options import SECRETS, Function
from reconciler.dataclass import dataclass
from reconciler.kafka.secret_source import SecretError, SecretSource
from reconciler.model.secrets import is_reference
from reconciler.show.formats.document import report_text
from reconciler.show.formats.slack import Link, slack_message
from reconciler.show.reading import Report
from reconciler.show.verdicts import Tone, verdict
from reconciler.system import plugins

if TYPE_CHECKING:
    from reconciler.system.webhook import Webhook

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
        found: Notifier = plugins.load(GROUP, name)
    except KeyError:
        known = ", ".join(dict.fromkeys((*NOTIFIERS, *plugins.names(GROUP))))
        raise CommandError(f"there is no notifier {name!r}", f"choose one of {known}", Exit.USAGE) from None
    except plugins.PluginError as error:
        raise CommandError(str(error)) from error
    return found


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
    from reconciler.system.webhook import WebhookError, deliver  # TLS, for few runs only

    if verdict(report).tone is Tone.CALM and not notification.always:
        return
    to = _webhook(notification, connection)
    try:
        deliver(to, notification.notifier(report, ci_links(os.environ)).encode(), int(moment.timestamp()))
    except WebhookError as error:
        raise CommandError(f"nobody was notified: {error}") from error
    progress(f"notified {to.host}")


def _webhook(notification: Notification, connection: ConnectionOptions) -> "Webhook":
    from reconciler.system.webhook import WebhookError, webhook

    secrets = SecretSource(frozenset(connection.allow_env), tuple(map(Path, connection.secrets_dirs)))
    if notification.secret is not None and not is_reference(notification.secret):
        advice = "write ${env:NAME} with --allow-env NAME, or ${file:PATH:KEY} with --secrets-dir DIR"
        raise CommandError("a secret on the command line is not secret", advice, Exit.USAGE)
    try:
        address, _ = secrets.resolve(notification.address)
        secret = None if notification.secret is None else secrets.resolve(notification.secret)[0]
        return webhook(address.strip(), secret, notification.authorities)
    except SecretError as error:
        raise CommandError(f"the webhook cannot be used: {error.message}", error.advice, Exit.USAGE) from error
    except WebhookError as error:
        raise CommandError(str(error), status=Exit.USAGE) from error


# The run and the pull request that a command runs for, as build servers tell it in their variables.

#: What ends a link, or begins something else in a message, is in no address of a build server.
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]{1,1000}")
_PULL_REQUEST: Final = re.compile(r"refs/pull/([0-9]+)/(?:merge|head)")


def ci_links(environment: Mapping[str, str]) -> tuple[Link, ...]:
    """Of GitHub Actions, GitLab CI or Jenkins; empty elsewhere, and without what is not an address."""
    return tuple(Link(words, url) for words, url in _found(environment) if _ADDRESS.fullmatch(url))


def _found(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
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
