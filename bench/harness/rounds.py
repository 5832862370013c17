"""Interleaved rounds (A B C, B C A, …), so that drift of the machine affects all programs alike; and their
statistics.
"""

import statistics
import time

# Largest number of tries of a disturbed run.
_TRIES = 4
# With at least this many undisturbed rounds, the others are ignored.
_LEAST_CALM = 3


class Spare:
    """The total time that repeated runs may take. None: no limit."""

    def __init__(self, seconds=None):
        self._left_s = seconds

    def use(self, seconds):
        if self._left_s is not None:
            self._left_s -= seconds

    @property
    def is_left(self):
        return self._left_s is None or self._left_s > 0


def interleave(contests, rounds, progress, spare=None):
    """Runs each contest once in each round; returns {name: [sample, …]}. A contest has name and run() ->
    Sample.
    """
    spare = spare or Spare()
    samples = {contest.name: [] for contest in contests}
    total = rounds * len(contests)
    for number in range(rounds):
        first = number % len(contests)
        for contest in contests[first:] + contests[:first]:
            progress.say(sum(map(len, samples.values())), total, contest.name)
            samples[contest.name].append(undisturbed(contest, spare))
    return samples


def undisturbed(contest, spare):
    """Runs until the machine had no other load and no stall, or returns the least disturbed of several tries.
    `made_again` in the sample: the number of repetitions.
    """
    best = None
    for again in range(_TRIES):
        began = time.monotonic()
        sample = contest.run()
        if again > 0:
            spare.use(time.monotonic() - began)
        if best is None or sample.meanwhile.disturbance < best.meanwhile.disturbance:
            best = sample
        best.made_again = again
        if best.meanwhile.disturbance <= 1 or not spare.is_left:
            break
    return best


def calm(samples):
    """Of {name: [sample of a round, …]}, the undisturbed rounds; all rounds if there are too few of these."""
    count = min(map(len, samples.values()))
    good = [number for number in range(count)
            if all(runs[number].meanwhile.disturbance <= 1 for runs in samples.values())]
    if len(good) < min(_LEAST_CALM, count):
        good = range(count)
    return {name: [runs[number] for number in good] for name, runs in samples.items()}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "samples": list(values)}


def ratio(numerators, denominators):
    """Ratios of two programs' samples, round by round."""
    return spread([n / d for n, d in zip(numerators, denominators)])


def text(values, digits=1):
    """Median and range as text."""
    return f"{values['median']:.{digits}f} ({values['min']:.{digits}f} to {values['max']:.{digits}f})"
