"""Whether a curve of measurements is flat: medians of its quarters, its slope for an hour with a confidence
interval, a verdict. Pure functions.

Consecutive measurements of one process are strongly correlated, so a line through all of them would give an
interval that is much too narrow. The line goes through the medians of a dozen blocks instead, with Student's
interval for that number of blocks.
"""

import math
import statistics

BLOCKS = 12
SHORTEST_S = 600   # of measurements after the warm-up: less is not enough to extrapolate to an hour
# Two-sided 95 % quantiles of Student's t for 1 to BLOCKS - 2 degrees of freedom.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


def blocks_of(times, values, count=BLOCKS):
    """(middle time, median value) of at most `count` runs of measurements, with equal numbers in each."""
    count = min(count, len(times))
    edges = [round(number * len(times) / count) for number in range(count + 1)]
    return [(statistics.fmean(times[low:high]), statistics.median(values[low:high]))
            for low, high in zip(edges, edges[1:])]


def line(points):
    """Least squares: (slope, half width of its 95 % interval); the half width is infinity if it is unknown."""
    middle_t = statistics.fmean(t for t, _ in points)
    middle_v = statistics.fmean(v for _, v in points)
    spread = sum((t - middle_t) ** 2 for t, _ in points)
    if spread == 0:
        return 0.0, math.inf
    slope = sum((t - middle_t) * (v - middle_v) for t, v in points) / spread
    freedom = len(points) - 2
    if freedom < 1:
        return slope, math.inf
    rest = sum((v - middle_v - slope * (t - middle_t)) ** 2 for t, v in points)
    return slope, _T95[min(freedom, len(_T95)) - 1] * math.sqrt(rest / freedom / spread)


def trend(times_s, values, allowed_share, allowed):
    """Of one curve, in time order. Allowed growth an hour: the larger of `allowed` and that share of the first quarter.

    `verdict`: "flat" where the slope's interval includes 0 or the slope is below what is allowed, else "grows"; "too
    short" where there is less than SHORTEST_S of it, and "none" without measurements.
    """
    if not values:
        return {"verdict": "none"}
    quarter = max(1, len(values) // 4)
    first, last = statistics.median(values[:quarter]), statistics.median(values[-quarter:])
    per_s, half = line(blocks_of(times_s, values))
    slope, half = per_s * 3600, half * 3600
    bound = max(allowed, allowed_share * first)
    told = {"first_quarter": first, "last_quarter": last, "most": max(values), "measurements": len(values),
            "slope_per_hour": slope, "interval_per_hour": None if math.isinf(half) else [slope - half, slope + half],
            "allowed_per_hour": bound}
    if times_s[-1] - times_s[0] < SHORTEST_S or math.isinf(half):
        told["verdict"] = "too short"
    else:
        told["verdict"] = "flat" if slope - half <= 0 or slope <= bound else "grows"
    return told
