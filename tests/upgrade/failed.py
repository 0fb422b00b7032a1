"""What ends an upgrade that is not as it should be: an error, or a wait that takes too long."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../support")
from waiting import until  # noqa: E402

DEADLINE = 300  # seconds, of each wait


class Failed(Exception):
    """The upgrade is not what it should be."""


def wait_for(what, condition):
    return until(condition, what, DEADLINE, Failed)
