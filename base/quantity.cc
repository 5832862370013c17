// Quantities: see quantity.h.
#include "base/quantity.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>

namespace heddle {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr std::array kSizeUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"K", 1ULL << 10},
    Unit{"KiB", 1ULL << 10},
    Unit{"KB", 1'000},
    Unit{"M", 1ULL << 20},
    Unit{"MiB", 1ULL << 20},
    Unit{"MB", 1'000'000},
    Unit{"G", 1ULL << 30},
    Unit{"GiB", 1ULL << 30},
    Unit{"GB", 1'000'000'000},
};

constexpr std::array kDurationUnits = {Unit{"", 1'000'000'000},
                                       Unit{"s", 1'000'000'000},
                                       Unit{"ms", 1'000'000},
                                       Unit{"us", 1'000},
                                       Unit{"ns", 1},
                                       Unit{"m", 60'000'000'000},
                                       Unit{"min", 60'000'000'000},
                                       Unit{"h", 3'600'000'000'000}};

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] | 0x20) != (b[i] | 0x20)) return false;
  }
  return true;
}

template <size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (same_letters(unit.name, name)) return &unit;
  }
  return nullptr;
}

Unexpected bad_size(std::string_view text, std::string why) {
  return fail(ErrorCode::kInvalid, fmt::format("'{}' is not a size", text), std::move(why),
              "give bytes, or a number with K, M or G, like 64K");
}

Unexpected bad_duration(std::string_view text, std::string why) {
  return fail(ErrorCode::kInvalid, fmt::format("'{}' is not a duration", text), std::move(why),
              "give seconds, like 5 or 0.5, or a unit, like 500ms");
}

// What follows the number, without the space that may stand between.
std::string_view unit_of(std::string_view text, const char* end) {
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return unit;
}

std::string scaled(double per_s, std::string_view unit) {
  if (per_s >= 999.5e9) return digits_text(per_s * 1e-12) + fmt::format(" T{}", unit);
  if (per_s >= 999.5e6) return digits_text(per_s * 1e-9) + fmt::format(" G{}", unit);
  if (per_s >= 999.5e3) return digits_text(per_s * 1e-6) + fmt::format(" M{}", unit);
  return digits_text(per_s * 1e-3) + fmt::format(" k{}", unit);
}

}  // namespace

Result<Bytes> parse_size(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) return bad_size(text, "the number is too large");
  if (error != std::errc()) return bad_size(text, "it does not begin with a whole number");
  const Unit* unit = find_unit(kSizeUnits, unit_of(text, end));
  if (unit == nullptr) return bad_size(text, "its unit is not known");
  if (number > UINT64_MAX / unit->factor) return bad_size(text, "the number is too large");
  return Bytes{number * unit->factor};
}

Result<Bytes> parse_message_size(std::string_view text) {
  Result<Bytes> size = parse_size(text);
  if (!size) return size;
  if (size->count == 0) return bad_size(text, "a message has at least 1 byte here");
  if (size->count > kMaxMessageBytes) return bad_size(text, "a message has at most 1 GiB");
  return size;
}

Result<Nanos> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) {
    return bad_duration(text, "it does not begin with a number");
  }
  const Unit* unit = find_unit(kDurationUnits, unit_of(text, end));
  if (unit == nullptr) return bad_duration(text, "its unit is not known");
  const double duration_ns = number * static_cast<double>(unit->factor);
  if (duration_ns < 0) return bad_duration(text, "it is below zero");
  if (duration_ns > 365 * 86'400e9) return bad_duration(text, "it is longer than a year");
  return nanos(static_cast<int64_t>(duration_ns));
}

std::string refuse_whole_number(std::string_view text, uint64_t least, uint64_t most) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stopped == end && number >= least && number <= most) return {};
  return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
}

std::string size_text(uint64_t bytes) {
  constexpr std::array kShown = {Unit{"GiB", 1ULL << 30}, Unit{"MiB", 1ULL << 20},
                                 Unit{"KiB", 1ULL << 10}};
  for (const Unit& unit : kShown) {
    if (bytes >= unit.factor && bytes % unit.factor == 0) {
      return fmt::format("{} {}", bytes / unit.factor, unit.name);
    }
  }
  return fmt::format("{} B", bytes);
}

std::string count_text(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted_text(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

std::string digits_text(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string duration_text(Nanos duration) {
  const auto count = static_cast<double>(duration.count);
  if (count < 999'500) return digits_text(count * 1e-3) + " us";
  if (count < 999'500'000) return digits_text(count * 1e-6) + " ms";
  return digits_text(count * 1e-9) + " s";
}

std::string rate_text(double bits_per_s) { return scaled(bits_per_s, "b/s"); }

std::string byte_rate_text(double bits_per_s) { return scaled(bits_per_s / 8, "B/s"); }

}  // namespace heddle
