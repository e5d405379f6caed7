"""Perform a plan through the ports, step by step, and say truly what became of it.

Each name is imported when it is first used: who only looks for leftovers of runs loads nothing that performs.
"""
