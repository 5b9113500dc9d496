"""The loop: the only place where the parts are wired together."""
