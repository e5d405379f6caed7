"""``--notify-webhook`` and what belongs to it: off unless the operator names an address."""

import datetime
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.console import progress
from reconciler.cli.exits import CommandError, Exit
from reconciler.cli.options import SECRETS, Function
from reconciler.dataclass import dataclass
from reconciler.workflow.options import ConnectionOptions

if TYPE_CHECKING:
    from reconciler.adapters.webhook import Webhook
    from reconciler.report.results import Report


@dataclass(frozen=True, slots=True)
class Notification:
    """Whom to tell, as typed: address and secret may be references that the operator's flags permit."""

    address: str
    secret: str | None
    authorities: str | None
    always: bool


_OPTIONS = (
    click.option(
        "--notify-webhook",
        metavar="URL",
        help="Also send a Slack-compatible message to this https URL. ${env:NAME} keeps it secret.",
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
            notification = Notification(notify_webhook, notify_secret, notify_ca, notify_when == "always")
        return function(
            notification=notification, connection=ConnectionOptions(None, allow_env, secrets_dirs), **others
        )

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def notify(
    notification: Notification, report: "Report", connection: ConnectionOptions, moment: datetime.datetime
) -> None:
    """Send the message, unless there is nothing to look at; what goes wrong ends the command."""
    from reconciler.adapters.webhook import WebhookError, deliver
    from reconciler.cli.ci_links import ci_links
    from reconciler.report.formats.slack import slack_message
    from reconciler.report.results import Tone, verdict

    if verdict(report).tone is Tone.CALM and not notification.always:
        return
    to = _webhook(notification, connection)
    try:
        deliver(to, slack_message(report, ci_links(os.environ)).encode(), int(moment.timestamp()))
    except WebhookError as error:
        raise CommandError(f"nobody was notified: {error}") from error
    progress(f"notified {to.host}")


def _webhook(notification: Notification, connection: ConnectionOptions) -> "Webhook":
    from reconciler.adapters.kafka.secret_source import SecretError, SecretSource
    from reconciler.adapters.webhook import WebhookError, webhook
    from reconciler.model.secret_settings import is_reference

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
