"""What tests of the page and of metrics wait for."""
import sys
import time


def until(condition, what, seconds=60):
    """What `condition` returns when that is true; ends the test when it is not in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    return sys.exit("FAILED: waited for " + what)
