"""What `make mutants` puts into the code: one fault each, somewhere in a function, the same in each run."""

import ast
from pathlib import Path
from types import FunctionType

from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutant import ROOT
from tests.mutants.operators import replacements
from tests.mutants.running import _put
from tests.mutants.sites import faulty, sample, sites_of

_FILE = "reconciler/plan/certificate.py"


def test_each_fault_of_a_file_is_code_that_differs() -> None:
    whole = compile((ROOT / _FILE).read_text(encoding="utf-8"), str(ROOT / _FILE), "exec", dont_inherit=True)
    sites = sites_of(_FILE)
    assert len(sites) > 50
    assert [str(site) for site in sites if faulty(site) == whole] == []


def test_a_larger_sample_begins_with_the_smaller_one() -> None:
    places = ("reconciler/plan/kinds", "reconciler/apply/kinds")
    few, more = sample(places, 3, 17), sample(places, 5, 17)
    assert more[: len(few)] == few
    assert {str(Path(site.file).parent) for site in few} == {*places}
    assert sample(places, 3, 18) != few


def test_a_fault_reaches_functions_that_exist() -> None:
    def kept(number: int) -> bool:
        return number < 3

    assert isinstance(kept, FunctionType)
    other = compile("def kept(number):\n    return number <= 3\n", "other", "exec")
    key = (kept.__code__.co_filename, kept.__code__.co_qualname, kept.__code__.co_firstlineno)
    assert not _put(other, {key: [kept]}), "it is of another file"
    (inner,) = (code for code in other.co_consts if hasattr(code, "co_code"))
    assert _put(inner, {(inner.co_filename, inner.co_qualname, inner.co_firstlineno): [kept]})
    assert kept(3)


def test_words_have_their_opposites() -> None:
    (either,) = ast.parse("a and b").body
    assert isinstance(either, ast.Expr)
    assert [ast.unparse(one) for one in replacements(either.value)] == ["a or b", "b", "a"]


def test_what_is_called_equivalent_is_still_in_the_code() -> None:
    files = {file for file, *_ in EQUIVALENT}
    assert EQUIVALENT.keys() <= {site.key for file in files for site in sites_of(file)}
