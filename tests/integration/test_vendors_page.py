"""docs/vendors.md against the table of flavors."""

from pathlib import Path

import pytest

from reconciler.model.flavor import FLAVORS, Flavor

PAGE = (Path(__file__).parents[2] / "docs" / "vendors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("flavor", FLAVORS.values(), ids=list(FLAVORS))
def test_the_page_has_every_flavor_with_its_facts_and_documents(flavor: Flavor) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("|") and f"`{flavor.name}`" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    if not flavor.no_acls:
        assert cells[3] == f"{flavor.wait_seconds:g} s"
        assert cells[2].startswith({None: "as stated", True: "on", False: "off"}[flavor.default_allow])
        assert bool(cells[4]) == bool(flavor.unseen)
    assert [document for document in flavor.documents if document not in PAGE] == []
