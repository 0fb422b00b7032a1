"""Which failures of commands are no violations: each names its cause, and the plan was at it then. Everything else is one."""
import re
from dataclasses import dataclass

SLACK = 1.5  # seconds by which a command may notice something before or after it is done


@dataclass(frozen=True)
class Permission:
    commands: tuple  # kinds of commands
    fault: str  # kind, or kind and variant, of the fault that must have been there while the command ran
    error: re.Pattern  # what the error must say
    why: str


# Commands: "job" is any that writes to the cluster's files or tables, or that is refused when it is submitted; "local job" was accepted, and writes
# to this machine alone.
PERMISSIONS = (
    Permission(("job", "table write", "snapshot"), "full-disk", re.compile(r"(table '\w+'|snapshot of '\w+'|what was written to '\w+'): .*disk( of worker \w+)? is full", re.I),
               "a worker whose disk is full refuses writes to its partitions, and says so; a snapshot, which scans take too, is an entry in each"),
    Permission(("job", "submission", "file write", "table write", "snapshot"), "master-full-disk", re.compile(r"disk.* full|No space left", re.I),
               "a master whose disk is full refuses what it would have to record, and says so"),
)


def permitted(command, error, begin, end, happened):
    """`happened(kind, begin, end)`: whether such a fault was there between these moments (seconds of the monotonic clock)."""
    return any(command in one.commands and one.error.search(error) and happened(one.fault, begin - SLACK, end + SLACK) for one in PERMISSIONS)
