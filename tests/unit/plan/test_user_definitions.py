"""What a change of a SCRAM user means, stated mechanism by mechanism over every pair of what a user may have."""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

from reconciler.kinds.scram_user import KIND, passwords_set
from reconciler.model.kinds.scram_user import DISABLED_ITERATIONS, PasswordSource, ScramUser
from reconciler.model.listing import Change, Create, Delete, Update
from reconciler.model.state import ClusterState
from reconciler.plan.kinds.interface import NewPassword
from reconciler.plan.phase import Phase
from reconciler.plan.refusal import Guard
from tests.worlds import acl

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
SOURCES: Final = {SHA_256: PasswordSource("${env:A}"), SHA_512: PasswordSource("", "${env:S}", "${env:P}")}
ITERATIONS: Final = (None, 4096, 8192, DISABLED_ITERATIONS)
USERS: Final = [
    ScramUser(
        "u",
        {name: number for name, number in ((SHA_256, one), (SHA_512, other)) if number is not None},
        SOURCES,
    )
    for one, other in product(ITERATIONS, repeat=2)
]


class Moves(NamedTuple):
    """The mechanisms by what becomes of each."""

    given: list[str]
    disabled: list[str]
    gone: list[str]
    lost: list[str]


def _changes() -> Iterator[tuple[Change, Moves]]:
    for before, after in product(USERS, repeat=2):
        if before.values == after.values:
            continue
        moves = Moves([], [], [], [])
        for name in (SHA_256, SHA_512):
            old, new = before.values.get(name), after.values.get(name)
            if old == new:
                continue
            if new is None:
                moves.gone.append(name)
            else:
                (moves.disabled if new == DISABLED_ITERATIONS else moves.given).append(name)
            if old is not None:
                moves.lost.append(name)
        if not before.values:
            yield Create(after), moves
        elif not after.values:
            yield Delete(before), moves
        else:
            yield Update(before, after), moves


def test_passwords_are_set_lost_and_asked_for_mechanism_by_mechanism() -> None:
    for change, moves in _changes():
        assert sorted(passwords_set(change)) == sorted([*moves.given, *moves.disabled])
        assert [*KIND.passwords(change)] == [NewPassword("u", name, SOURCES[name].password) for name in moves.given]
        references = [one for name in moves.given for one in SOURCES[name].references]
        assert [*KIND.references(change)] == references
        assert KIND.is_destructive(change) is bool(moves.lost)
        assert KIND.is_reversible(change) is not bool(moves.lost)
        told = KIND.irreversible(change)
        which = f"the {' and '.join(moves.lost)} password of SCRAM user u is gone: "
        assert (told is None) is (not moves.lost)
        assert told is None or told.startswith(which)


def test_who_can_log_in_from_then_on_and_who_cannot_is_said() -> None:
    bindings = [acl("x", "User:u"), acl("y", "User:u"), acl("x", "User:v")]
    for (change, moves), count in product([*_changes()], range(4)):
        live = ClusterState("c", frozenset(bindings[:count]))
        expected = []
        if moves.disabled:
            expected.append(f"nobody knows the password of SCRAM user u from then on: {' and '.join(moves.disabled)}")
        held = sum(binding.entry.principal == "User:u" for binding in live.bindings)
        rights = ("", ", with the 1 ACL that it has already", ", with the 2 ACLs that it has already")[held]
        if moves.given and isinstance(change, Create):
            expected.append(f"whoever knows the password of SCRAM user u can log in{rights}")
        elif moves.given:
            expected.append(f"the password of SCRAM user u is set: {' and '.join(moves.given)}")
        if moves.gone:
            expected.append(f"nobody can log in as SCRAM user u with {' and '.join(moves.gone)} any more")
        assert [*KIND.logins(change, live)] == [("User:u", text) for text in expected]


def test_a_disabled_user_whose_password_is_set_needs_a_person() -> None:
    for change, moves in _changes():
        was_off = isinstance(change, Update) and DISABLED_ITERATIONS in change.before.values.values()
        found = [*KIND.refusals(change)]
        assert [(one.guard, one.object) for one in found] == [(Guard.USER_ENABLE, "User:u")] * (
            was_off and bool(moves.given)
        )


def test_what_sets_a_password_comes_with_passwords_and_what_only_takes_one_away_before_grants_go() -> None:
    for change, moves in _changes():
        sets = bool(moves.given or moves.disabled)
        assert KIND.phase(change, None) is (Phase.ALTER_USERS if sets else Phase.DELETE_USERS)  # type: ignore[arg-type]
