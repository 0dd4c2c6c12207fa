"""The relay that Chrome starts: Chrome's stdio on one side, a Unix socket with any number of brokers on the other.

Standard library only, works under ``python -I -S``. It has no policy. What both ends of a leg must agree on lives here
(framing, message table, folders, build label), because this is the one package that every program may import.
"""
