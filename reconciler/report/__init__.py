"""Plans, results and states as text: pure functions from values to what a person or a program reads."""
