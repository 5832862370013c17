// See quantity.h.
#include "topology/quantity.h"

#include <array>
#include <charconv>
#include <span>
#include <system_error>

#include "topology/params.h"

namespace heddle::topology {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr std::array kRateUnits = {Unit{"bit/s", 1},
                                   Unit{"kbit/s", 1'000},
                                   Unit{"Mbit/s", 1'000'000},
                                   Unit{"Gbit/s", 1'000'000'000},
                                   Unit{"Tbit/s", 1'000'000'000'000},
                                   Unit{"b/s", 1},
                                   Unit{"kb/s", 1'000},
                                   Unit{"Mb/s", 1'000'000},
                                   Unit{"Gb/s", 1'000'000'000},
                                   Unit{"Tb/s", 1'000'000'000'000},
                                   Unit{"M", 1'000'000},
                                   Unit{"G", 1'000'000'000},
                                   Unit{"T", 1'000'000'000'000}};
constexpr std::array kByteUnits = {Unit{"B", 1},
                                   Unit{"KB", 1'000},
                                   Unit{"kB", 1'000},
                                   Unit{"KiB", 1ULL << 10},
                                   Unit{"MB", 1'000'000},
                                   Unit{"MiB", 1ULL << 20},
                                   Unit{"GB", 1'000'000'000},
                                   Unit{"GiB", 1ULL << 30}};
constexpr std::array kTimeUnits = {Unit{"ns", 1}, Unit{"us", 1'000}, Unit{"ms", 1'000'000},
                                   Unit{"s", 1'000'000'000}, Unit{"min", 60'000'000'000}};
constexpr std::array kShareUnits = {Unit{"%", 10'000}};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// Reads digits into `number` and removes them from `text`; returns false on too many digits.
bool take_digits(std::string_view& text, uint64_t& number, uint64_t& scale) {
  while (!text.empty() && is_digit(text.front())) {
    if (scale >= 1'000'000'000'000'000 || number >= 1'000'000'000'000'000) return false;
    number = number * 10 + static_cast<uint64_t>(text.front() - '0');
    scale *= 10;
    text.remove_prefix(1);
  }
  return true;
}

// The value in the smallest unit; nothing if the text is not "number unit", or is above `most`.
std::optional<uint64_t> parse(std::string_view text, std::span<const Unit> units, uint64_t most) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  uint64_t number = 0;
  uint64_t ignored = 1;
  if (!take_digits(text, number, ignored)) return std::nullopt;
  uint64_t scale = 1;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text.front())) return std::nullopt;
    if (!take_digits(text, number, scale)) return std::nullopt;
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != text) continue;
    const Uint128 scaled = static_cast<Uint128>(number) * unit.factor;
    if (scaled % scale != 0) return std::nullopt;  // finer than the smallest unit
    const Uint128 value = scaled / scale;
    if (value > most) return std::nullopt;
    return static_cast<uint64_t>(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<BitsPerSec> parse_rate(std::string_view text) {
  const auto value = parse(text, kRateUnits, params::kHighestRate);
  if (!value || *value < 1'000) return std::nullopt;
  return BitsPerSec{*value};
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto value = parse(text, kByteUnits, 1'000'000'000'000);
  if (!value) return std::nullopt;
  return Bytes{*value};
}

std::optional<Nanos> parse_time(std::string_view text) {
  const auto value = parse(text, kTimeUnits, 86'400'000'000'000);
  if (!value) return std::nullopt;
  return Nanos{static_cast<int64_t>(*value)};
}

std::optional<uint32_t> parse_share(std::string_view text) {
  const auto value = parse(text, kShareUnits, 1'000'000);
  if (!value) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

std::optional<std::pair<uint32_t, uint32_t>> parse_fraction(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<uint32_t> {
    uint32_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    const bool fits =
        error == std::errc() && stop == end && value >= 1 && value <= params::kMostOfFraction;
    return fits ? std::optional(value) : std::nullopt;
  };
  const size_t slash = text.find('/');
  const auto above = number(text.substr(0, slash));
  const auto below =
      slash == std::string_view::npos ? std::optional<uint32_t>(1) : number(text.substr(slash + 1));
  if (!above || !below) return std::nullopt;
  return std::pair{*above, *below};
}

}  // namespace heddle::topology
