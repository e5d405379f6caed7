"""Two states to changes: the one definition of difference, whatever engine performs it."""
