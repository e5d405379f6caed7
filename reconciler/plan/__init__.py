"""Changes to an ordered, guarded, saved proposal: the plan is a value, and the only input of apply."""
