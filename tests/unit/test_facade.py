"""Packages whose names are imported on demand, and what a short command does not load."""

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

from reconciler import apply, workflow
from reconciler.adapters import converters
from reconciler.facade import on_demand

FACADES = (apply, workflow, converters)


@pytest.mark.parametrize("package", FACADES, ids=lambda package: package.__name__)
def test_every_name_that_is_exported_is_there(package: object) -> None:
    for name in package.__all__:  # type: ignore[attr-defined]
        assert getattr(package, name).__class__.__name__ != "module", name


@pytest.mark.parametrize("package", FACADES, ids=lambda package: package.__name__)
def test_what_is_found_on_demand_is_what_is_exported(package: object) -> None:
    found = [name for names in package._MODULES.values() for name in names]  # type: ignore[attr-defined]
    assert len(found) == len(set(found))
    assert set(found) <= set(package.__all__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", FACADES, ids=lambda package: package.__name__)
def test_no_module_takes_the_place_of_a_name(package: object) -> None:
    """Importing ``apply.perform`` would put the module where the function is looked for."""
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}  # type: ignore[attr-defined]
    names = {name for names in package._MODULES.values() for name in names}  # type: ignore[attr-defined]
    assert modules & names == set()


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute"):
        on_demand("reconciler.apply", {"run": ["Run"]})("nothing")


def test_a_name_is_looked_for_once() -> None:
    find = on_demand("reconciler.apply", {"lease_markers": ["GRACE"]})
    assert find("GRACE") is import_module("reconciler.apply.lease_markers").GRACE
    assert "GRACE" in vars(apply)
    del apply.GRACE


#: What a plan of ACLs has no use for, each of which takes milliseconds of every run.
UNUSED = (
    "reconciler.apply.performing",
    "reconciler.manifest.models.quotas",
    "reconciler.manifest.models.topic_policy",
    "pyspark",
    "kafka",
    "deepdiff",
)


def test_a_plan_loads_nothing_that_only_other_commands_need() -> None:
    program = f"""
import sys
import reconciler.cli.plan, reconciler.cli.notes, reconciler.workflow.planning, reconciler.workflow.checks
import reconciler.report.plan_text, reconciler.adapters.kafka.cluster
print([name for name in {UNUSED!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
