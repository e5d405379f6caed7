"""The door for programs, and what a short command does not load."""

import subprocess
import sys

import pytest

from reconciler import api
from reconciler.parts.fleet import api as fleet


@pytest.mark.parametrize("door", [api, fleet], ids=["core", "fleet"])
def test_every_name_of_a_door_is_a_function_or_a_class(door: object) -> None:
    names: list[str] = door.__all__  # type: ignore[attr-defined]
    assert names == sorted(names)
    assert all(callable(getattr(door, name)) for name in names)


#: What a plan of ACLs has no use for, each of which takes milliseconds of every run.
UNUSED = (
    "reconciler.apply.performing",
    "reconciler.kinds.quota",
    "reconciler.manifest.models.topic_policy",
    "pyspark",
    "kafka",
    "deepdiff",
)


def test_a_plan_loads_nothing_that_only_other_commands_need_and_a_client_only_once_it_connects() -> None:
    program = f"""
import sys
import reconciler.cli.plan, reconciler.cli.notes, reconciler.app.plan, reconciler.app.test
import reconciler.show.plan, reconciler.cli.validate
print([name for name in (*{UNUSED!r}, "confluent_kafka") if name in sys.modules])
import reconciler.kafka.cluster
print([name for name in {UNUSED!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n[]\n"


def test_help_loads_no_manifests_plans_or_clients() -> None:
    """It is the first that somebody sees of the program, and completion waits for it at each key."""
    program = """
import sys
from reconciler.cli.main import run
run(["--help"])
print([name for name in ("pydantic", "yaml", "confluent_kafka", "reconciler.plan.step") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
