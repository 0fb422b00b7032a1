"""What schedulers must keep to, next to the scheduler that they are built on."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    base: str
    mean: float  # of each row, times the base's
    tail: float  # the 95th percentile of each row
    mean_of_all: float = 1.05  # over all rows
    user: float = 1.5  # the sum of the completion times of any one user
    missed: float = 0.1  # part of the deadlines of a row, more than under the base
    saves: tuple = ()  # rows in which at most `crossing` times the base's bytes cross between racks
    crossing: float = 0.8


DEFAULT = "fsp"
BOUNDS = {
    DEFAULT: Bound("fair", 1.00, 1.05, 0.85, 1.2),
    "delay": Bound("fair", 1.05, 1.10),
    "shufflewatcher": Bound("delay", 1.05, 1.10, saves=("concentrated-shuffles",)),
    "carbyne": Bound("fair", 1.05, 1.10),
    "tetris": Bound("fair", 1.05, 1.10),
    "adaptive": Bound("fair", 1.05, 1.10),
    "ras": Bound("fair", 1.05, 1.10),
    "reverse_adaptive": Bound("fair", 1.05, 1.10),
}
