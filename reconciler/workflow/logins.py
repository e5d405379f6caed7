"""After passwords were set: whether they log in, where the operator permits to try. Nobody else's password is tried."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reconciler.adapters.clock import SystemClock
from reconciler.apply import LoginCheck, Outcome, Result
from reconciler.plan import NewPassword, kind_of
from reconciler.ports import LoginAnswer
from reconciler.retry import attempts
from reconciler.workflow.clusters import Target
from reconciler.workflow.planning import declared_for

#: So often is a login tried that is refused: a broker may not know a password yet that another one shows.
_TRIES: Final = 3
#: So many logins are tried in one run; the others are named as not tried.
_MOST: Final = 50
#: So many logins that do not work end the trying: something else is wrong, and brokers log failed logins.
_MOST_FAILED: Final = 3


def check_logins(result: Result, target: Target) -> Result:
    """The result with a login for each password that this run set; as it is where the operator does not permit it."""
    if target.settings is None or not declared_for(target).secret_permit.verify_login:
        return result
    passwords = [
        password
        for item in result.outcomes
        if item.outcome is Outcome.DONE
        for password in kind_of(item.step.change).passwords(item.step.change)
    ]
    return replace(result, logins=tuple(_checked(passwords, target, target.settings.followed)))


def _checked(passwords: list[NewPassword], target: Target, followed: Mapping[str, str]) -> Iterator[LoginCheck]:
    failed, why = 0, ""
    for number, password in enumerate(passwords):
        if number == _MOST:
            why = f"more than {_MOST} passwords were set"
        value = followed.get(password.reference)
        if why or value is None:
            reason = why or "only the salted password is known"
            yield LoginCheck(password.principal, password.mechanism, None, reason)
            continue
        answer = _tried(password, target, value)
        yield LoginCheck(password.principal, password.mechanism, answer.works, answer.detail)
        failed += answer.works is not True
        if failed == _MOST_FAILED:
            why = f"{_MOST_FAILED} others did not work"


def _tried(password: NewPassword, target: Target, value: str) -> LoginAnswer:
    # As in connections.settings_of.
    from reconciler.adapters.kafka.login import log_in  # noqa: PLC0415

    answer = LoginAnswer(None)
    if target.settings is None:
        return answer
    for _ in attempts(SystemClock(), _TRIES):
        answer = log_in(target.settings, password.name, password.mechanism, value)
        if answer.works is not False:
            break
    return answer
