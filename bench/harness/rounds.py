"""Interleaved rounds (A B C, B C A, …), so that what drifts on a machine drifts for all; and their statistics."""

import statistics

# A run that shared the machine with other programs by more than this is made again, so often.
_OTHERS_MOST = 0.05
_TRIES = 4


def interleave(contests, rounds, progress):
    """Runs each contest once a round; gives {name: [sample, …]}. A contest has name and run() -> Sample."""
    samples = {contest.name: [] for contest in contests}
    total = rounds * len(contests)
    for number in range(rounds):
        first = number % len(contests)
        for contest in contests[first:] + contests[:first]:
            progress.say(sum(map(len, samples.values())), total, contest.name)
            samples[contest.name].append(_undisturbed(contest))
    return samples


def _undisturbed(contest):
    best = None
    for _ in range(_TRIES):
        sample = contest.run()
        if best is None or sample.others_share < best.others_share:
            best = sample
        if best.others_share <= _OTHERS_MOST:
            break
    return best


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "samples": list(values)}


def ratio(numerators, denominators):
    """Of two programs' samples, round by round."""
    return spread([n / d for n, d in zip(numerators, denominators)])


def text(values, digits=1):
    """Median and range for people."""
    return f"{values['median']:.{digits}f} ({values['min']:.{digits}f} to {values['max']:.{digits}f})"
