"""First run, client installers and browser keeper.

Empty for now: they come with their own issue, and nothing is stubbed.
"""
