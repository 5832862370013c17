#!/usr/bin/env python3
"""What bench/run soak says of a curve: its slope, the interval, the verdict; and its hostile packets are as meant."""

import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from soak import hostile_wire as wire  # noqa: E402: found by the line above
from soak.trend import SHORTEST_S, blocks_of, line, trend  # noqa: E402

_EVERY_S, _COUNT = 5, 600  # 50 minutes
_TIMES = [_EVERY_S * number for number in range(_COUNT)]
_SHARE, _KIB = 0.01, 256


def noisy(seed, per_hour=0.0, start=20_000, spread=2_000):
    """A curve as of a server: it stays at a height for a while, then at another, and may grow below."""
    chance, height, values = random.Random(seed), 0.0, []
    for t in _TIMES:
        if chance.random() < 0.2:
            height = chance.uniform(-spread, spread)
        values.append(start + per_hour * t / 3600 + height)
    return values


class Line(unittest.TestCase):
    def test_a_straight_line_has_its_slope_and_no_width(self):
        slope, half = line([(t, 3 + 2 * t) for t in range(12)])
        self.assertAlmostEqual(slope, 2)
        self.assertAlmostEqual(half, 0)

    def test_an_interval_is_students(self):
        # Residuals 1, -1, -1, 1 leave the slope at 2: sqrt(4 / 2 / 5) times the quantile of 2 degrees of freedom.
        slope, half = line([(0, 1), (1, 1), (2, 3), (3, 7)])
        self.assertAlmostEqual(slope, 2)
        self.assertAlmostEqual(half, 4.303 * (4 / 2 / 5) ** 0.5)

    def test_two_points_have_no_interval(self):
        self.assertEqual(line([(0, 1), (1, 2)]), (1, float("inf")))

    def test_blocks_hold_all_measurements_once(self):
        self.assertEqual(blocks_of(list(range(25)), [1] * 24 + [99], 5), [(2, 1), (7, 1), (12, 1), (17, 1), (22, 1)])
        self.assertEqual(blocks_of([0, 1], [5, 6], 12), [(0, 5), (1, 6)])


class Verdict(unittest.TestCase):
    def test_a_constant_curve_is_flat(self):
        told = trend(_TIMES, [100] * _COUNT, _SHARE, _KIB)
        self.assertEqual((told["verdict"], told["interval_per_hour"]), ("flat", [0, 0]))

    def test_a_leak_grows_though_measurements_jump(self):
        for seed in range(50):
            told = trend(_TIMES, noisy(seed, per_hour=8_000), _SHARE, _KIB)
            self.assertEqual(told["verdict"], "grows", seed)
            self.assertGreater(told["last_quarter"], told["first_quarter"])

    def test_the_interval_holds_the_true_slope_nineteen_times_in_twenty(self):
        def holds(seed):
            low, high = trend(_TIMES, noisy(seed, per_hour=8_000), _SHARE, _KIB)["interval_per_hour"]
            return low <= 8_000 <= high
        share = sum(holds(seed) for seed in range(400)) / 400
        self.assertTrue(0.92 <= share <= 0.98, share)

    def test_heights_that_last_a_while_do_not_look_like_a_leak(self):
        # One in forty does by the interval's construction; by a line through all measurements, every fifth.
        grows = sum(trend(_TIMES, noisy(seed), _SHARE, _KIB)["verdict"] == "grows" for seed in range(400))
        self.assertLess(grows, 20)

    def test_growth_below_what_is_allowed_is_flat(self):
        def verdict(per_hour, start):
            return trend(_TIMES, [start + per_hour * t / 3600 for t in _TIMES], _SHARE, _KIB)["verdict"]
        self.assertEqual((verdict(250, 1_000), verdict(265, 1_000)), ("flat", "grows"))
        self.assertEqual((verdict(990, 100_000), verdict(1_030, 100_000)), ("flat", "grows"))

    def test_memory_that_shrinks_is_flat(self):
        self.assertEqual(trend(_TIMES, noisy(1, per_hour=-8_000), _SHARE, _KIB)["verdict"], "flat")

    def test_one_descriptor_a_minute_grows(self):
        self.assertEqual(trend(_TIMES, [70 + t // 60 for t in _TIMES], 0.01, 2)["verdict"], "grows")

    def test_a_short_run_says_nothing(self):
        few = [t for t in _TIMES if t < SHORTEST_S]
        self.assertEqual(trend(few, few, _SHARE, _KIB)["verdict"], "too short")
        self.assertEqual(trend([], [], _SHARE, _KIB), {"verdict": "none"})

    def test_quarters_are_medians(self):
        told = trend([1, 2, 3, 4, 5, 6, 7, 8], [5, 7, 900, 1, 1, 1, 20, 30], _SHARE, _KIB)
        self.assertEqual((told["first_quarter"], told["last_quarter"], told["most"]), (6, 25, 900))


class HostilePackets(unittest.TestCase):
    def test_only_the_answer_to_this_handshake_counts(self):
        stranger = wire.Stranger(random.Random(1), 4_000)
        nonce = stranger.nonce.to_bytes(8, "little")
        cookie = bytes(range(24))
        retry = bytes((wire.first_byte(wire.RETRY),)).ljust(8, b"\0")
        self.assertEqual(stranger.cookie_of(retry + nonce + cookie), cookie)
        self.assertIsNone(stranger.cookie_of(retry + bytes(8) + cookie))
        self.assertIsNone(stranger.peer_of(retry + nonce + cookie))

    def test_every_init_is_full_size_and_every_packet_fits(self):
        chance = random.Random(2)
        made = wire.packets(chance, 5, 6)
        for _ in range(2_000):
            self.assertEqual(len(wire.Stranger(chance, 9).init(bytes(24), hostile=True)), 512)
            self.assertLessEqual(len(next(made)), 1_400)

    def test_a_seed_repeats_what_is_sent(self):
        first, again = (wire.packets(random.Random(3), 5, 6) for _ in range(2))
        self.assertEqual([next(first) for _ in range(100)], [next(again) for _ in range(100)])


if __name__ == "__main__":
    unittest.main()
