"""Benchmarks. Speed is measured here and never asserted in tests; figures are ratios taken in one run.

``python -m bench`` runs all of them and prints the tables of ``docs/performance.md``; each module runs alone as well.
"""
