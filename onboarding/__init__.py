"""First run, doctor, client installers and browser keeper. Empty for now: it comes with its own issue, and nothing is stubbed.
"""
