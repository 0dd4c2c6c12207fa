"""Chrome DevTools Protocol client for Trio: a pure message core, the connection over it, browser finder and launcher.
"""
