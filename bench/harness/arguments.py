"""Types of arguments: what is wrong is refused before anything is measured."""

import argparse
import os
import re

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def at_least_one(text):
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no count of 1 or more")
    return int(text)


def byte_counts(text):
    """"64K,1M" as a list of bytes; multiples of 8."""
    counts = []
    for word in text.split(","):
        match = re.fullmatch(r"([0-9]{1,9})([KMG]?)", word)
        count = int(match[1]) * _UNITS[match[2]] if match else 0
        if count < 8 or count % 8:
            raise argparse.ArgumentTypeError(f"'{word}' is no size: a multiple of 8 bytes, like 64K or 1M")
        counts.append(count)
    return counts


def without_settings_of(*prefixes):
    """Words of `env` that remove this process's variables with these prefixes: they are not part of a measurement."""
    return [word for name in os.environ if name.startswith(prefixes) and not name.startswith("HEDDLE_BENCH")
            for word in ("-u", name)]
