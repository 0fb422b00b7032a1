"""How long a request and its answer take between racks: round_trips.py HERE THERE ... connects from one address to the others now and
then, as it lets them connect, and prints the mean seconds of that when it is terminated."""
import signal
import socket
import statistics
import sys
import threading
import time

PORT = 5999
PAUSE = 0.1  # seconds between two connections to each
LONGEST = 5  # seconds


def accept(listener):
    while True:
        listener.accept()[0].close()


def measure(there):
    began = time.monotonic()
    try:
        socket.create_connection((there, PORT), timeout=LONGEST).close()
    except OSError:
        return None
    return time.monotonic() - began


def main():
    here, others = sys.argv[1], sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=accept, args=(socket.create_server((here, PORT)),), daemon=True).start()
    took = []
    try:
        while True:
            took += [seconds for seconds in map(measure, others) if seconds is not None]
            time.sleep(PAUSE)
    finally:
        print(statistics.mean(took) if took else 0)


if __name__ == "__main__":
    main()
