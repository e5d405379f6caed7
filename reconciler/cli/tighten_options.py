"""Options of ``tighten``: how much evidence is enough. Each default is explained in ``docs/tighten.md``."""

import click

from reconciler.cli.options import with_options

_COUNT = click.IntRange(0)

any_age_option = click.option(
    "--any-age", is_flag=True, help="Narrow rules too of which no git history says that they are older than the logs."
)


def given_thresholds(given: dict[str, int]) -> dict[str, int]:
    """``min_days`` and ``max_names`` as ``days`` and ``names``."""
    return {name.partition("_")[2]: number for name, number in given.items()}


#: The thresholds, handed over by the names of :class:`reconciler.fleet.tighten.Thresholds` with ``most_`` or ``min_``.
threshold_options = with_options(
    (
        click.option("--min-days", type=_COUNT, default=92, show_default=True, help="Days that the logs must cover."),
        click.option(
            "--max-silent-days",
            type=_COUNT,
            default=2,
            show_default=True,
            help="Days without a permitted access that are tolerated.",
        ),
        click.option(
            "--min-quarter-ends",
            type=_COUNT,
            default=1,
            show_default=True,
            help="Quarter ends, each with the day after, that must be inside.",
        ),
        click.option(
            "--max-stale-days", type=_COUNT, default=7, show_default=True, help="How long ago the logs may have ended."
        ),
        click.option(
            "--min-principal-days",
            type=_COUNT,
            default=10,
            show_default=True,
            help="Days on which a principal must have been seen to lose anything.",
        ),
        click.option(
            "--min-unseen-days",
            type=_COUNT,
            default=365,
            show_default=True,
            help="Days that the logs must cover for a principal that was never seen to lose anything.",
        ),
        click.option(
            "--max-unread", type=_COUNT, default=0, show_default=True, help="Unreadable lines that are tolerated."
        ),
        click.option(
            "--max-names",
            type=_COUNT,
            default=10,
            show_default=True,
            help="Names that may take the place of a prefix or a wildcard; with more it stays.",
        ),
        click.option(
            "--max-hosts",
            type=_COUNT,
            default=0,
            show_default=True,
            help="Hosts that may take the place of every host; 0: hosts stay.",
        ),
    )
)
