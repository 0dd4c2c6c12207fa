"""The Chrome extension, shipped as package data. No Python lives here.
"""
