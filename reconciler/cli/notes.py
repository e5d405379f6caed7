"""What a use case noted and no result holds, on stderr: with its age where it is something that runs left."""

import datetime

from reconciler.app import options
from reconciler.apply.cleanup import Leftover
from reconciler.apply.records import PastRun
from reconciler.cli.console import info
from reconciler.manifest.read.problem import Problem, render_problem
from reconciler.model.characters import counted, safe


def info_note(note: options.Note) -> None:
    """A line for each note; none of it is part of any answer."""
    match note:
        case Problem():
            info(render_problem(note))
        case options.LeftoverNote():
            info(_words(note))
        case options.MoreLeftovers(runs):
            info(f"counted: what {counted(runs, 'more run')} left; “reconciler cleanup” lists all of it")
        case options.DefeatedGain():
            info(f"warning: reviewed, and not in force after this plan: {safe(note.text)}: somebody else changed ACLs")
        case options.ClientNote(text):
            info(f"note: {safe(text)}")
        case options.UnstatedFlavor():
            info(f"warning: {safe(note.text)}; {safe(note.advice)}")
        case options.VersionNote():
            undecided = "what depends on a host that may be a range of addresses is undecided"
            info(f"warning: the rules of cluster {safe(note.cluster)} are not known: {safe(note.doubt)}; {undecided}")
        case PastRun():
            who = f"run {safe(note.run)} of this plan, begun {safe(note.time)} by {safe(note.operator)}"
            info(f"{who}, did not end: {len(note.performed):,} steps done, {len(note.doubtful):,} in doubt; going on")


def _words(note: options.LeftoverNote) -> str:
    what = described(note.leftover, note.at)
    if not note.counted:
        return f"left out: {what}, which may be going on"
    going = "that run is over: “reconciler cleanup” removes it" if note.over else "that run may be going on"
    return f"counted: {what}; {going}"


def described(leftover: Leftover, at: datetime.datetime) -> str:
    """``2 bridges and 3 other bindings of run R, begun 2 h ago``, seen from ``at``."""
    parts = [counted(len(leftover.bridges), "bridge")] if leftover.bridges else []
    parts.append(counted(len(leftover.bindings), "binding") + " on reserved names")
    return f"{' and '.join(parts)} of run {safe(leftover.run)}{age(leftover, at)}"


def age(leftover: Leftover, at: datetime.datetime) -> str:
    """``, begun 2 h ago``; nothing where the run's name does not tell."""
    began = leftover.began()
    if began is None:
        return ""
    seconds = (at - began).total_seconds()
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f", begun {seconds / size:.0f} {unit} ago"
    return f", begun {max(0.0, seconds):.0f} s ago"
