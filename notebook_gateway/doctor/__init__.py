"""`notebook-gateway doctor`: the walk along the road of a call, what `--fix` mends, and the archive for a report.

The table of findings and the hops without a connection stand in `onboarding/doctor/`.
"""
