"""Interleaved rounds (A B C, B C A, …), so that what drifts on a machine drifts for all; and their statistics."""

import statistics

# A run that the machine disturbed is made again, in all so often.
_TRIES = 4


def interleave(contests, rounds, progress):
    """Runs each contest once a round; gives {name: [sample, …]}. A contest has name and run() -> Sample."""
    samples = {contest.name: [] for contest in contests}
    total = rounds * len(contests)
    for number in range(rounds):
        first = number % len(contests)
        for contest in contests[first:] + contests[:first]:
            progress.say(sum(map(len, samples.values())), total, contest.name)
            samples[contest.name].append(undisturbed(contest))
    return samples


def undisturbed(contest):
    """A run during which the machine did nothing else and did not stand still, or else the least disturbed of several;
    whatever it measured. `made_again` in the sample: how often."""
    best = None
    for again in range(_TRIES):
        sample = contest.run()
        if best is None or sample.meanwhile.disturbance < best.meanwhile.disturbance:
            best = sample
        best.made_again = again
        if best.meanwhile.disturbance <= 1:
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
