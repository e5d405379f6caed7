"""The parts that documents of several kinds have in common, and their checks."""
