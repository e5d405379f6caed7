"""The options of ``apply`` that ask for approvals and limit the age of a plan."""

import datetime
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from reconciler.app.options import ApprovalRule
from reconciler.cli.console import CommandError, Exit

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
#: In a pipeline a plan file comes from another job, and perhaps from another day.
_IN_CI: Final = datetime.timedelta(days=1)


class Duration(click.ParamType[datetime.timedelta]):
    """A number with a unit: ``90m``."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.timedelta:
        """Parse, or fail with what was expected."""
        if isinstance(value, datetime.timedelta):
            return value
        match = re.fullmatch(r"(\d{1,6})([smhd])", value, re.ASCII)
        if match is None:
            self.fail(f"{value!r} is not a duration: write a number and s, m, h or d, such as 12h", param, ctx)
        return datetime.timedelta(**{_UNITS[match[2]]: int(match[1])})


class PlanId(click.ParamType[str]):
    """An id of one of ``kinds``, or at least eight digits of it; in CI all digits."""

    name = "id"

    def __init__(self, *kinds: str) -> None:
        """``kinds`` as in ``plan``."""
        self.kinds = kinds

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text, or fail with what was expected. No pipeline is let take another plan that begins alike."""
        kind, _, digits = value.strip().partition("-")
        if kind not in self.kinds:
            self.fail(f"{value!r}: write {' or '.join(f'{one}-…' for one in self.kinds)}", param, ctx)
        if not re.fullmatch(r"[0-9a-f]{8,64}", digits):
            self.fail(f"{value!r} is not an id: write {kind}- and 8 to 64 hexadecimal digits", param, ctx)
        if len(digits) < 64 and "CI" in os.environ:
            self.fail(f"{value!r}: write all 64 digits where CI is set, for a few can be met by trying", param, ctx)
        return value.strip()


def approval_options(command: Callable[..., int]) -> Callable[..., int]:
    """``--max-age`` and the options of the two-person rule."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: Final = (
    click.option(
        "--max-age",
        metavar="DURATION",
        type=Duration(),
        default=lambda: _IN_CI if "CI" in os.environ else None,
        help="Refuse a saved plan that was made longer ago, such as 12h.  [default: 1d if CI is set, else no limit]",
    ),
    click.option(
        "--require-approvals",
        metavar="N",
        type=click.IntRange(min=1),
        help="Refuse a saved plan that fewer than N people have signed. Needs --allowed-signers.",
    ),
    click.option(
        "--allowed-signers",
        metavar="FILE",
        help="Whose signatures count: an OpenSSH allowed_signers file. Never take it from the proposed branch.",
    ),
    click.option(
        "--not-author",
        metavar="WHO",
        multiple=True,
        help="Do not count the signature of WHO, a principal in the allowed signers; repeatable.",
    ),
)


def pipeline_url(environment: Mapping[str, str]) -> str | None:
    """Where the pipeline that this runs in shows it: GitHub's run, GitLab's job, Jenkins' build; else ``None``."""
    if job := environment.get("CI_JOB_URL") or environment.get("RUN_DISPLAY_URL") or environment.get("BUILD_URL"):
        return job
    server, repository, run = (environment.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else None


def approval_rule(require: int | None, allowed: str | None, not_author: tuple[str, ...]) -> ApprovalRule | None:
    """What the options ask for; ``None``: no approval."""
    if require is None:
        if allowed or not_author:
            message = "--allowed-signers and --not-author count for --require-approvals only"
            raise CommandError(message, "add --require-approvals N", Exit.USAGE)
        return None
    if allowed is None:
        raise CommandError("--require-approvals needs --allowed-signers FILE", status=Exit.USAGE)
    return ApprovalRule(require, allowed, not_author)
