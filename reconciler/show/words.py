"""Words for what an answer rests on, and for what an ACL covers.

On which facts that only the manifests state an answer about access rests: said in one sentence, in every answer.

An answer takes such facts as they are declared, for it is about what the manifests say. Read alone, though, it would be
calm on the word of whoever proposes the change; so it is computed without them too, and says where that differs.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

from reconciler.model.characters import as_name
from reconciler.plan.proposal import Plan
from reconciler.results.access import AccessView
from reconciler.results.words import pattern_words

_Answer = TypeVar("_Answer")
#: Of very many super users, so many are named.
_NAMED: Final = 5


def with_condition(
    view: AccessView,
    ask: Callable[[AccessView], _Answer],
    *,
    compared: Callable[[_Answer], Any] = lambda answer: answer,
    about: str | None = None,
) -> tuple[AccessView, _Answer]:
    """What ``ask`` answers for a state, and the state with the condition under which that holds.

    Answers are equal if ``compared`` gives equal values for them. A question ``about`` one principal rests on no claim
    that others are super users.
    """
    answer = ask(view)
    named = view.claimed.super_users if about is None else view.claimed.super_users & {about}
    doubts = [{"super_users": True}] if named else []
    doubts += [{"default_allow": True}] if view.claimed.default_allow is not None else []

    def rests_on(*which: dict[str, bool]) -> bool:
        doubt = {name: value for one in which for name, value in one.items()}
        return bool(compared(ask(view.doubting(**doubt))) != compared(answer))

    if not doubts or not rests_on(*doubts):
        return view, answer
    facts = [*([_super_users(named)] if named else []), *_default_allow(view.claimed.default_allow)]
    # Both claims may give the same access, so that each alone is enough: then neither matters by itself.
    needed = facts if len(facts) == 1 else [fact for fact, doubt in zip(facts, doubts, strict=True) if rests_on(doubt)]
    joined = " and ".join(needed) if needed else " or ".join(facts)
    whose = f"as only {view.claimed.vendor} has it by default" if view.claimed.vendor else "as only the manifests say"
    whose = "which is not known of that time" if view.claimed.past else whose
    return replace(view, condition=f"if {joined}, {whose}"), answer


def _super_users(principals: frozenset[str]) -> str:
    names, more = sorted(principals)[:_NAMED], len(principals) - _NAMED
    listed = ", ".join(map(as_name, names)) + (f" and {more:,} more" if more > 0 else "")
    return f"{listed} {'is a super user' if len(principals) == 1 else 'are super users'}"


def _default_allow(value: bool | None) -> list[str]:
    return [] if value is None else [f"allow.everyone.if.no.acl.found is {str(value).lower()}"]


# Patterns that get their first binding or lose their last, which default-allow closes or opens; for all formats.


def coverage_words(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A title and its patterns; nothing where coverage stays."""
    for title, patterns in (
        ("Gets its first ACL: closed to everybody else if default-allow is on", plan.coverage.closed),
        ("Loses its last ACL: open to everybody if default-allow is on", plan.coverage.opened),
    ):
        if patterns:
            yield title, tuple(map(pattern_words, patterns))
