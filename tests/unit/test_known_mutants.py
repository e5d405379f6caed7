"""The known mutants still fit today's code; ``make mutants`` runs them."""

import pytest

from tests.mutants.known import KNOWN
from tests.mutants.mutant import ROOT, Mutant


@pytest.mark.parametrize("mutant", KNOWN, ids=lambda mutant: mutant.law)
def test_a_known_mutant_still_fits_the_code(mutant: Mutant) -> None:
    source = (ROOT / "reconciler" / mutant.file).read_text(encoding="utf-8")
    assert mutant.applied(source) != source
    compile(mutant.applied(source), mutant.file, "exec")  # what does not compile is noticed by any test
    assert all((ROOT / test).exists() for test in mutant.tests)
