"""Fuzz targets for everything that reads what a stranger wrote; `make fuzz SECONDS=60` runs them all.

A target is a module of `fuzz.targets`: its docstring opens with the invariant, `one_input` checks that for some bytes,
and `seeds` gives real inputs to start from (recorded traffic and field cases of `../shared`). Without atheris, the unit
tests give every seed and thousands of damaged ones to the same functions. An input that breaks an invariant becomes a
named test of the module it broke.
"""
