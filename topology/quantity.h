// Quantities of topology files: a decimal number and a mandatory unit. Integer arithmetic is exact,
// so that a file means the same in every program that reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::topology {

// "200Mbit/s", "1.5Gbit/s", "800kbit/s", short "200Mb/s", or as Ethernet's rates are named, "400G"
// and "1.6T": 1 kbit/s to 100 Tbit/s.
std::optional<BitsPerSec> parse_rate(std::string_view text);
// "1500B", "125KB" (x1000), "128KiB" (x1024), likewise M and G: up to 1 TB.
std::optional<Bytes> parse_bytes(std::string_view text);
// "100ns", "5us", "1.5ms", "2s", "1min": zero to one day.
std::optional<Nanos> parse_time(std::string_view text);
// "1%", "0.01%": parts per million, 0% to 100%.
std::optional<uint32_t> parse_share(std::string_view text);
// "8" or "1/2": numerator and divisor, each from 1 to 65,536.
std::optional<std::pair<uint32_t, uint32_t>> parse_fraction(std::string_view text);

}  // namespace heddle::topology
