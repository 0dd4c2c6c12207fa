"""Pytest fixtures for the headless chain."""
