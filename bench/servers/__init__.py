"""Servers to compare with: floors and the bare SDK."""
