"""Ratios of figures, seed by seed, with confidence intervals."""
import math
from dataclasses import dataclass

# Student's t for 95 %, by degrees of freedom from 1.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
           2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045)
NORMAL = 1.96


@dataclass(frozen=True)
class Ratio:
    """The geometric mean of ratios, and the ends of its 95 % confidence interval; without an interval where there is one seed."""
    mean: float
    low: float
    high: float

    def text(self):
        half = (self.high - self.low) / 2
        return f"{self.mean:.2f}" + (f" ±{half:.2f}" if self.low != self.high else "")


def ratio_of(values):
    """`values`: one ratio a seed, all more than 0. None: there are none."""
    logs = [math.log(value) for value in values]
    count = len(logs)
    if count == 0:
        return None
    mean = math.fsum(logs) / count
    half = 0.0
    if count > 1:
        deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in logs) / (count - 1))
        student = STUDENT[count - 2] if count - 2 < len(STUDENT) else NORMAL
        half = student * deviation / math.sqrt(count)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def over_rows(rows):
    """The ratio over all rows, each weighing the same: of each seed the geometric mean over the rows. `rows`: a list of lists, one
    ratio a seed."""
    count = min(map(len, rows), default=0)
    return ratio_of([math.exp(math.fsum(math.log(row[seed]) for row in rows) / len(rows)) for seed in range(count)])


def paired(base, runs, key):
    """Of each seed, the figure over that of the base; seeds without it, or where it is 0, are left out."""
    both = ((one["metrics"].get(key), other["metrics"].get(key)) for one, other in zip(base, runs))
    return [other / one for one, other in both if one and other]


def jobs_over(base, run):
    """Of each job that finished in both, its completion time over that in the base run, with its user."""
    for one, other in zip(base["jobs"], run["jobs"]):
        if one["outcome"] == other["outcome"] == "finished" and one["completion"] > 0:
            yield one["user"], other["completion"], one["completion"]


def worst_job(base, runs):
    return max((own / of_base for one, other in zip(base, runs) for _, own, of_base in jobs_over(one, other)), default=1.0)


def worst_user(base, runs):
    """Of each seed, the largest ratio of the sums of the completion times of a user's jobs."""
    found = []
    for one, other in zip(base, runs):
        sums = {}
        for user, own, of_base in jobs_over(one, other):
            mine, theirs = sums.get(user, (0.0, 0.0))
            sums[user] = (mine + own, theirs + of_base)
        if sums:
            found.append(max(mine / theirs for mine, theirs in sums.values()))
    return found
