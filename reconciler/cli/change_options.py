"""Options of commands that plan, apply or edit: what a plan may do, who approves it, what is written down of it."""

import datetime
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from reconciler.app.options import ApprovalRule, MoveOptions, PlanOptions
from reconciler.cli.console import Bytes, CommandError, Exit, error
from reconciler.cli.options import as_of_option, gathered, project, project_of, with_options
from reconciler.dataclass import dataclass
from reconciler.plan.refusal import AcceptedGuard, Guard

if TYPE_CHECKING:
    from reconciler.app.records import RecordOptions
    from reconciler.show.claims import Checks

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
            self.fail(f"{value!r}: write {' or '.join(f'{prefix}-…' for prefix in self.kinds)}", param, ctx)
        if not re.fullmatch(r"[0-9a-f]{8,64}", digits):
            self.fail(f"{value!r} is not an id: write {kind}- and 8 to 64 hexadecimal digits", param, ctx)
        if len(digits) < 64 and "CI" in os.environ:
            self.fail(f"{value!r}: write all 64 digits where CI is set, for a few can be met by trying", param, ctx)
        return value.strip()


plan_file_argument = click.argument("plan_file", metavar="PLAN", type=click.Path(exists=True, dir_okay=False))

save_option = click.option(
    "--out", "save_as", metavar="FILE", type=click.Path(dir_okay=False), help="Save the plan for apply."
)

key_option = click.option(
    "--key",
    metavar="KEY",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Your private key, as ssh-keygen writes it without a passphrase: Ed25519, ECDSA or RSA.",
)

not_author_option = click.option(
    "--not-author",
    metavar="WHO",
    multiple=True,
    help="Do not count the signature of WHO, a principal in the allowed signers; repeatable.",
)


max_age_option = click.option(
    "--max-age",
    metavar="DURATION",
    type=Duration(),
    default=lambda: _IN_CI if "CI" in os.environ else None,
    help="Refuse a saved plan that was made longer ago, such as 12h.  [default: 1d if CI is set, else no limit]",
)


def approval_options(command: Callable[..., int]) -> Callable[..., int]:
    """``--max-age`` and the options of the two-person rule."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: Final = (
    max_age_option,
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
    not_author_option,
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


class BatchLimit(click.ParamType[tuple[str, int]]):
    """A number of partitions, or bytes with a unit: which field of :class:`MoveOptions`, and its value."""

    name = "batch"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Parse, or fail with what was expected."""
        if isinstance(value, tuple):
            return value
        if str(value).isdecimal():
            return "batch_partitions", int(click.IntRange(1).convert(value, param, ctx))
        return "batch_bytes", Bytes(1).convert(value, param, ctx)


class Accepted(click.ParamType["AcceptedGuard"]):
    """``GUARD=OBJECT``."""

    name = "guard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> AcceptedGuard:
        """Parse, or end the command with the safety checks that there are."""
        guard, equals, name = value.partition("=")
        try:
            if not equals or not name:
                raise ValueError
            return AcceptedGuard(Guard(guard), name, "accepted on the command line")
        except ValueError:
            advice = f"safety checks are: {', '.join(Guard)}"
            raise CommandError(f"--accept {value}: write GUARD=OBJECT", advice, Exit.USAGE) from None


#: The words of ``--fail-on``. Guardrails need two sets of manifests to compare.
NEW_ACCESS: Final = "new-access"
NEW_PATH: Final = "new-path"
GUARDRAILS: Final = "guardrails"
TRUNCATED: Final = "truncated"


def also_fail_on(given: Iterable[str], words: Collection[str], *compared: str | None) -> tuple[str, ...]:
    """The words of ``--fail-on`` with those of the project file, and of those in directories that are compared with.

    Nothing takes a word away: neither the command line nor a proposal that edits the file, if its base is given.
    """
    others = [directory for directory in compared if directory is not None]
    projects = filter(None, [project(), *map(project_of, others)])
    added = {word for project_file in projects for word in project_file.project.fail_on if word in words}
    if not others:
        added.discard(GUARDRAILS)
    return tuple(dict.fromkeys((*given, *sorted(added))))


def check_comparable(base: str | None, guardrails: str | None) -> None:
    """``--fail-on guardrails`` without anything to compare with would never fail."""
    if base is None and guardrails is None:
        raise CommandError(
            "--fail-on guardrails needs something to compare with", "add --base DIR or --guardrails DIR", Exit.USAGE
        )


def weakened(*clusters: "Checks") -> bool:
    """Whether manifests loosen their guardrails, which is said."""
    if not any(checks.guardrails.weakened for checks in clusters):
        return False
    error("these manifests change rules that judge them (--fail-on guardrails)")
    return True


yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")


accept_option = click.option(
    "--accept",
    multiple=True,
    metavar="GUARD=OBJECT",
    type=Accepted(),
    help="Accept a safety check for this object; repeatable.",
)


guardrails_option = click.option(
    "--guardrails",
    metavar="DIR",
    type=click.Path(exists=True),
    help="Manifests that the proposal cannot edit, such as the base branch's: their access tests, ownership, topic "
    "policies, protect, limits and scope hold together with those below PATH.",
)


base_option = click.option(
    "--base",
    metavar="DIR",
    type=click.Path(exists=True),
    help="Manifests of the base branch: the output begins with what PATH changes about the rules that judge it.",
)


_PLANNING = (
    click.option("--allow-deletes", is_flag=True, help="Delete what is no longer declared."),
    accept_option,
    click.option(
        "--only",
        multiple=True,
        metavar="FIELD=NAME",
        help="Plan only these, as in principals=User:svc-* or topics=payments.orders; skip those of FIELD!=NAME. "
        "Repeatable.",
    ),
    guardrails_option,
    click.option(
        "--baseline",
        metavar="SNAPSHOT",
        type=click.Path(exists=True, dir_okay=False),
        help="Earlier snapshot: refuse to plan if it had ACLs and the cluster now lists none.",
    ),
)


#: Everything that says what a plan may hold, handed over as ``planning``.
planning_options = with_options(gathered("planning", PlanOptions, *_PLANNING, as_of_option))


#: The same of ``apply``, which is about now, and finds an empty listing to be no plan of deletions either.
applying_options = with_options(gathered("planning", PlanOptions, *_PLANNING[:-1]))


# Options of commands that write to a cluster without a plan: what is written down of it, and as whose.


def _none() -> "RecordOptions":
    from reconciler.app.records import RecordOptions

    return RecordOptions()


_TOPIC: Final = "topic/"


def audit_places(given: Iterable[str]) -> dict[str, str | None]:
    """The file and the topic of ``--audit``, as the fields of :class:`RecordOptions`; at most one of each."""
    topics = [place.removeprefix(_TOPIC) for place in given if place.startswith(_TOPIC)]
    files = [place for place in given if not place.startswith(_TOPIC)]
    if len(topics) > 1 or len(files) > 1 or not all((*topics, *files)):
        raise CommandError(
            "--audit takes one file, one topic, or both", "write --audit FILE --audit topic/NAME", Exit.USAGE
        )
    return {"audit": next(iter(files), None), "audit_topic": next(iter(topics), None)}


audit_option = click.option(
    "--audit",
    metavar="FILE|topic/NAME",
    multiple=True,
    help="Append JSON audit records to FILE, or send them to a topic of this cluster; give both by two options.",
)


#: Handed over as ``records``.
record_options = with_options(
    gathered(
        "records",
        _none,
        audit_option,
        click.option("--operator", metavar="NAME", help="Operator name in audit records.  [default: USER@HOST]"),
        spread={"audit": audit_places},
    )
)


# Options of commands that move replicas: how fast, and how many at a time.

#: Less than a broker's own unit of bandwidth would stop what it limits.
_LEAST_RATE = 1024


def _limits(given: Sequence[tuple[str, int]]) -> dict[str, int]:
    """The number and the size of ``--batch``, as the fields of :class:`MoveOptions`; at most one of each."""
    limits = dict(given)
    if len(limits) < len(given):
        advice = "write --batch NUMBER --batch SIZE"
        raise CommandError("--batch takes one number, one size, or both", advice, Exit.USAGE)
    return limits


#: Handed over as ``moves``.
move_options = with_options(
    gathered(
        "moves",
        MoveOptions,
        click.option(
            "--throttle",
            metavar="RATE",
            type=Bytes(_LEAST_RATE),
            help="Of a saved plan: bytes per second that each broker may copy of replicas that move, such as 50MiB. "
            "Removed after.",
        ),
        click.option(
            "--batch",
            metavar="NUMBER|SIZE",
            multiple=True,
            type=BatchLimit(),
            help="Partitions of a topic whose replicas move at the same time, or bytes that they copy together, "
            "such as 10GiB; a larger partition moves alone. Give both by two options.  [default: 50, 50GiB]",
        ),
        spread={"batch": _limits},
    )
)


# Options of commands that edit manifests.


@dataclass(frozen=True, slots=True)
class Keeping:
    """What becomes of an edit; by default it is only printed."""

    write: bool = False
    branch: str | None = None


#: ``--write`` and ``--branch``, handed over as ``keeping``.
edit_options = with_options(
    gathered(
        "keeping",
        Keeping,
        click.option("--write", is_flag=True, help="Write the files.  [default: print a patch]"),
        click.option(
            "--branch", metavar="NAME", help="Commit the change on a new branch from HEAD; your files stay as they are."
        ),
    )
)
