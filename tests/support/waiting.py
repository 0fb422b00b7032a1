"""For tests in Python that start processes and wait for what these do."""
import os
import time


def until(condition, what, seconds=60, error=AssertionError):
    """What the condition gives, as soon as that is true of it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise error(f"waited for {seconds} s: {what}")
        time.sleep(0.02)
    return found


def content(path):
    """Of a file that may not be there yet."""
    return open(path).read() if os.path.exists(path) else ""
