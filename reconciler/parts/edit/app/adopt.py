"""Drift becomes manifests: each difference is kept and written where it belongs, or left for the next apply."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace

from reconciler.app.manifests import desired, sound
from reconciler.app.options import ConnectionOptions, Tell, ignore, moment
from reconciler.app.planning import declared_for
from reconciler.app.reasons import RequestError
from reconciler.app.session import open_declared, refuse_another_time
from reconciler.app.terms import read_request, terms
from reconciler.dataclass import dataclass
from reconciler.manifest.manifests import load as load_sources
from reconciler.manifest.read.findings import Source
from reconciler.manifest.write.text import text_problem
from reconciler.model.desired import Declaration, Origin, moment_text
from reconciler.model.listing import Delete
from reconciler.model.locks import denials_of_locks
from reconciler.model.markers import running_break_glass
from reconciler.parts.edit.adoption import Difference, NotAdopted, adopted, differences
from reconciler.parts.edit.app.editing import AS_SHOWN, ManifestEdit, refused, reviewed, texts_of
from reconciler.parts.edit.editing import changed
from reconciler.plan.diff.compare import compare
from reconciler.plan.kinds import describe
from reconciler.plan.proposal import selection_of

#: Which of the differences to keep.
Choose = Callable[[Sequence[Difference]], Sequence[Difference]]


@dataclass(frozen=True, slots=True)
class AdoptOptions:
    """``only`` selects as in plans; ``reason`` and ``ticket`` are written beside what is new.

    Without a reason, the cluster and the day are.
    """

    only: tuple[str, ...] = ()
    reason: str | None = None
    ticket: str | None = None
    as_of: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Adoption:
    """The edit, how many differences there were and were kept, which cannot be, and how many a plan still finds."""

    edit: ManifestEdit
    found: int
    kept: int
    refused: tuple[NotAdopted, ...]
    left: int


def adopt(
    path: str,
    cluster: str | None,
    choose: Choose,
    options: AdoptOptions = AdoptOptions(),
    connection: ConnectionOptions = ConnectionOptions(),
    *,
    tell: Tell = ignore,
) -> Adoption:
    """Make the manifests below ``path`` declare what ``cluster`` has, in the differences that ``choose`` keeps.

    Nothing is written, neither to the files nor to the cluster. Raises a :class:`WorkflowError`.
    """
    try:
        selects = selection_of(options.only).predicate()
    except ValueError as error:
        raise RequestError(str(error)) from error
    for text in (options.reason, options.ticket):
        if text is not None and (problem := text_problem(text)) is not None:
            raise RequestError(f"{text!a} cannot be written: {problem}")
    refuse_another_time(cluster, options.as_of)
    day = options.as_of or moment()
    with open_declared(path, cluster, connection, tell) as (manifests, target):
        declaration = declared_for(target)
        wanted = desired(manifests, declaration.name, day)
        live = target.read(read_request(declaration, wanted))
    # What an operator gave for an hour is not adopted for good.
    emergency = {one: end for one, end in running_break_glass(live.bindings, day).items() if one not in wanted.bindings}
    held = denials_of_locks(live.bindings)
    live = replace(live, bindings=live.bindings.difference(emergency, held))
    rules = terms(declaration).diff_rules
    found, unseen = differences(compare(wanted.without(held), live, declaration.scope, rules), live)
    chosen = list(choose([one for one in found if selects(one.change)]))
    reason = options.reason or f"adopted from {declaration.name} on {moment_text(day)}"
    said = Declaration(Origin("", 1, 1), reason, options.ticket)
    texts = texts_of(manifests)
    with refused(), sound():
        after, refusals = adopted(texts, declaration.name, chosen, live, said)
        # Compared again as written: what "adopted" says is what the next plan will find.
        read_back = load_sources(Source(name, text) for name, text in after.items())
    remaining = compare(desired(read_back, declaration.name, day).without(held), live, declaration.scope, rules)
    edit = reviewed(path, manifests, changed(texts, after), AS_SHOWN, day)
    unseen += [
        NotAdopted(describe(Delete(one)).removeprefix("delete "), f"break-glass access until {moment_text(mark.end)}")
        for one, mark in sorted(emergency.items())
    ]
    unseen += [
        NotAdopted(describe(Delete(one)).removeprefix("delete "), "a lock: “reconciler unlock” ends it")
        for one in sorted(held)
    ]
    refusals += unseen
    return Adoption(
        edit,
        len(found) + len(unseen),
        len(chosen) - (len(refusals) - len(unseen)),
        tuple(refusals),
        len(remaining.changes) + len(remaining.skipped),
    )
