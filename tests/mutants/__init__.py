"""Faults that the tests must notice, as data, and what puts each into a copy of the code (``make mutants``)."""
