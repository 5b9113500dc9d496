"""Models: loading, chat rendering, packed forward passes, the built-in base policy.

Nothing is imported here, so that the torch-free parts stay cheap.
"""
