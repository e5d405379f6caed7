"""Usage and tightening as text."""
