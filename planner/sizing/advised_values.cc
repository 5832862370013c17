// See advised_values.h.
#include "planner/sizing/advised_values.h"

#include <fmt/core.h>

#include <cmath>

#include "base/quantity.h"

namespace heddle::planner {
namespace {

constexpr int kRateDigits = 3;  // of rate_text()
// What an exact value may be off by, in the last digit kept: arithmetic of doubles.
constexpr double kExact = 1e-9;

double unit_of(double value, int digits) {
  return std::pow(10, std::floor(std::log10(value)) - (digits - 1));
}

}  // namespace

double rounded_up(double value, int digits) {
  if (!(value > 0)) return value;
  const double unit = unit_of(value, digits);
  return std::ceil(value / unit - kExact) * unit;
}

double rounded_down(double value, int digits) {
  if (!(value > 0)) return value;
  const double unit = unit_of(value, digits);
  return std::floor(value / unit + kExact) * unit;
}

std::string rate_at_least_text(double bits_per_s) {
  return rate_text(rounded_up(bits_per_s, kRateDigits));
}

std::string times_at_least_text(double times) {
  const double unit = times < 10 ? 0.01 : 0.1;
  return fmt::format("{:.{}f}", std::ceil(times / unit - kExact) * unit, times < 10 ? 2 : 1);
}

std::string share_at_most_text(double share) {
  return fmt::format("{:.4g}", rounded_down(share, 2));
}

}  // namespace heddle::planner
