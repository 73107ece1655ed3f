"""Instances on a simulated cloud: placeholder."""


def run(bench):
    """Nothing yet."""
