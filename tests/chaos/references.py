"""Inputs of jobs, and what must come of them: plain Python, nothing of weft."""
import collections


def words(chance, count):
    """Text of words of which few are frequent."""
    lines = []
    while count > 0:
        length = min(count, chance.randint(1, 20))
        lines.append(" ".join(f"w{int(chance.paretovariate(0.7)) % 20_000}" for _ in range(length)))
        count -= length
    return "\n".join(lines) + "\n"


def wordcount(text):
    return sorted(f"{word}\t{count}" for word, count in collections.Counter(text.split()).items())


def records(chance, count):
    """Of 100 bytes, with keys of ten, as TeraSort wants them. All are different."""
    made = []
    for number in range(count):
        key = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=10))
        made.append(f"{key}{number:032}".ljust(99, chance.choice("xyz")) + "\n")
    return "".join(made)


def terasort(content):
    """In which order records of one key come is open: the keys are so long that there are none."""
    return "".join(sorted((content[at:at + 100] for at in range(0, len(content), 100)), key=lambda record: record[:10]))


def users(count):
    return "".join(f"u{number}\tname{number * 7919 % 100_003}\n" for number in range(count))


def orders(chance, count, users_count):
    """Some are of nobody."""
    return "".join(f"u{chance.randrange(users_count + users_count // 5)}\torder{number} {'-' * chance.randrange(60)}\n" for number in range(count))


def join(left, right):
    """Inner; lines of the key and what else both have, sorted."""
    names = dict(line.split("\t", 1) for line in left.splitlines())
    rows = (line.split("\t", 1) for line in right.splitlines())
    return sorted(f"{key}\t{names[key]}\t{rest}" for key, rest in rows if key in names)


def numbers(chance, count):
    """Rows of a table: keys that begin with one of a few letters, and numbers."""
    return {f"{chance.choice('abcdefg')}{number}": chance.randrange(1000) for number in range(count)}


def sums(rows):
    """By the keys' first letters."""
    total = collections.Counter()
    for key, value in rows.items():
        total[key[0]] += value
    return dict(total)
