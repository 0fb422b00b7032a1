"""What ends an upgrade that is not as it should be: an error, or a wait that takes too long."""
import time

DEADLINE = 300  # seconds, of each wait


class Failed(Exception):
    """The upgrade is not what it should be."""


def wait_for(what, condition, seconds=DEADLINE):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise Failed(f"waited {seconds} s in vain: {what}")
        time.sleep(0.05)
    return value


def say(text):
    print(f"upgrade-test: {text}", flush=True)
