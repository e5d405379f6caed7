"""Which test files one process runs together, and in which order: the longest first, so that all end together.

What a session shares (brokers, Spark, a cluster behind proxies) each process would start for itself: files of one group
share it. The broker that many groups share starts in few processes, which run all that need it. A figure here that is
out of date costs time and changes nothing else.
"""

from collections.abc import Collection, Sequence, Set
from typing import Final

import pytest

#: Seconds of a group, or of a file with brokers or long processes of its own, and the beginnings of its files' paths.
LONG: Final[tuple[tuple[int, tuple[str, ...]], ...]] = (
    # The oldest broker, and the one without an authorizer.
    (
        260,
        (
            "tests/contract/test_acl_writes.py",
            "tests/contract/test_config_writes.py",
            "tests/contract/test_lease.py",
            "tests/contract/test_quota_writes.py",
            "tests/contract/test_reading.py",
            "tests/contract/test_topic_writes.py",
            "tests/contract/test_user_writes.py",
            "tests/integration/kafka/test_",
            "tests/integration/test_convert_kafka_acls.py",
            "tests/integration/test_main_job.py",
            "tests/integration/test_sandbox.py",
        ),
    ),
    # One Spark session, and for one of the files both shared brokers.
    (
        220,
        (
            "tests/integration/fleet/test_",
            "tests/integration/test_python_page.py",
            "tests/property/test_fleet_law.py",
            "tests/security/test_fleet_leftovers.py",
        ),
    ),
    # One Chromium.
    (150, ("tests/browser/test_",)),
    # Three brokers and a controller behind proxies.
    (
        140,
        (
            "tests/faults/test_faults.py",
            "tests/faults/test_fleet_move.py",
            "tests/faults/test_no_window.py",
            "tests/faults/test_reassignment.py",
        ),
    ),
    # Builds the wheel, and installs it.
    (130, ("tests/integration/release/test_distribution.py",)),
    (110, ("tests/integration/test_demo.py",)),
    (110, ("tests/integration/ci/test_action_scripts.py",)),
    # Three brokers, most of the time one of them stands still.
    (100, ("tests/integration/apply/test_dying_broker.py",)),
    (100, ("tests/integration/ci/test_pull_request_story.py",)),
    (100, ("tests/property/test_hostile_manifests.py",)),
    # The broker with allow.everyone.if.no.acl.found.
    (
        95,
        (
            "tests/integration/apply/test_barrier.py",
            "tests/integration/apply/test_bridges.py",
            "tests/integration/test_broker_is_the_judge.py",
        ),
    ),
    (85, ("tests/integration/test_examples.py",)),
    (75, ("tests/integration/test_sandbox_lifecycle.py",)),
    (70, ("tests/unit/cli/test_streams.py",)),
    (70, ("tests/integration/test_core_alone.py",)),
    (65, ("tests/integration/report/test_limits.py",)),
    (65, ("tests/property/test_edit.py",)),
    (60, ("tests/security/test_pipeline_places.py",)),
    (60, ("tests/property/test_killed_server.py",)),
    (60, ("tests/security/test_reader_fuzz.py",)),
    # The broker that tests of the roles share.
    (60, ("tests/integration/test_roles_on_a_broker.py",)),
    (60, ("tests/property/test_topic_convergence.py",)),
    # Documents of the examples.
    (
        60,
        (
            "tests/integration/report/test_command.py",
            "tests/integration/report/test_expected.py",
            "tests/integration/report/test_schemas.py",
            "tests/integration/report/test_webhook.py",
        ),
    ),
    (60, ("tests/reports/test_reports.py",)),
    (55, ("tests/property/test_promises.py",)),
    # The broker with policies.
    (50, ("tests/integration/topics/test_deletion.py", "tests/integration/topics/test_validate_with_broker.py")),
    (50, ("tests/integration/apply/test_two_operators.py",)),
    (50, ("tests/integration/apply/test_config_resources.py",)),
    (50, ("tests/property/test_bridge_laws.py",)),
    (50, ("tests/security/test_reader_floods.py",)),
    (50, ("tests/integration/test_history.py",)),
    (45, ("tests/property/test_plan_laws.py",)),
    (45, ("tests/property/test_ends.py",)),
    (40, ("tests/faults/test_no_window_open.py",)),
    (40, ("tests/property/test_break_glass_law.py",)),
    (40, ("tests/security/test_break_glass_marks.py",)),
    (40, ("tests/integration/apply/test_cut_commands.py",)),
    (40, ("tests/integration/test_pre_commit.py",)),
    (35, ("tests/integration/apply/test_quotas.py",)),
    (35, ("tests/integration/test_secrets.py",)),
    (30, ("tests/integration/apply/test_kill_points.py",)),
    (30, ("tests/security/test_rows.py",)),
    (30, ("tests/security/test_action_guardrails.py",)),
    (30, ("tests/unit/report/test_first_screen.py",)),
    (30, ("tests/property/test_export.py",)),
    (30, ("tests/property/test_guardrail_laws.py",)),
    (30, ("tests/property/test_refused_steps.py",)),
    (30, ("tests/integration/apply/test_users.py",)),
    (30, ("tests/unit/workflow/test_fleet_killed.py",)),
    (25, ("tests/security/test_access_floods.py",)),
    (25, ("tests/integration/test_serve.py",)),
    (25, ("tests/security/test_audit.py",)),
    # One parser of Terraform's language: 2 s of a processor to make.
    (
        20,
        (
            "tests/integration/test_convert.py",
            "tests/integration/test_convert_layout.py",
            "tests/integration/test_convert_terraform.py",
            "tests/property/test_convert_sources.py",
        ),
    ),
    (20, ("tests/integration/test_tutorials.py",)),
    # Whatever else has a broker or Spark, or tries a law on many examples; then all the others, in their order.
    (20, ("tests/integration/", "tests/contract/", "tests/property/", "tests/security/")),
)

#: The fixture with the broker that many groups share, and how many processes start one: two have time for all that need
#: it. A broker takes five seconds of a processor to start, and a hundredth of one while it is there.
BROKER: Final = "tests::broker"
WITH_BROKER: Final = 2


def group_of(path: str) -> str:
    """The name of the group that a test file is in: its own path, unless it shares what takes long to start."""
    starts = next((starts for _, starts in LONG if path.startswith(starts)), ())
    return path if not starts or starts[0].endswith("/") else starts[0]


def rank_of(path: str) -> int:
    """The place of a test file's group in the order."""
    return next((rank for rank, (_, starts) in enumerate(LONG) if path.startswith(starts)), len(LONG))


def chosen(needed: Sequence[Set[str]], has: Set[str], others: Collection[Set[str]], *, last_first: bool) -> int | None:
    """The place of the group that a process runs next, of those that are left; ``None`` where others run them all.

    ``needed`` are the fixtures of the session that each group needs, ``has`` and ``others`` what this process and the
    others have started.
    """
    places = range(len(needed))[:: -1 if last_first else 1]
    sharing = [place for place in places if BROKER in needed[place]]
    if BROKER in has:
        return next(iter(sharing or places), None)
    brokers = sum(BROKER in other for other in others)
    if brokers < WITH_BROKER:
        return next(iter(places), None)
    # At the end, what is left for the brokers that there are takes longer than another one to start.
    apart = [place for place in places if BROKER not in needed[place]]
    return next(iter(apart or sharing[brokers:]), None)


def longest_first(items: list[pytest.Item]) -> None:
    """Bring the tests into that order, each file's own kept."""
    items.sort(key=lambda item: rank_of(_path(item.nodeid)))


def _path(nodeid: str) -> str:
    return nodeid.partition("::")[0]
