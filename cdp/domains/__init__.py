"""Typed commands and events, a module for each domain, with the protocol's own names; see `cdp.domains.protocol`."""
