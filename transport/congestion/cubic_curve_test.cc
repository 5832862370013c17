// The integer curve against RFC 9438's formulas in floating point.
#include "transport/congestion/cubic_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace heddle::transport {
namespace {

constexpr double kC = 0.4;  // RFC 9438 section 5

struct Epoch {
  double segment;
  double plateau;  // bytes
  double window;   // bytes

  // Figure 2.
  double k() const { return std::cbrt((plateau - window) / segment / kC); }
  // Figure 1.
  double at(double t) const { return segment * kC * std::pow(t - k(), 3) + plateau; }
  double slope(double t) const { return 3 * segment * kC * std::pow(t - k(), 2); }
};

TEST(CubicCurve, IsTheRfcsFunction) {
  Random random(7);
  for (int i = 0; i < 2'000; ++i) {
    const uint64_t segment = random.between(500, 65'536);
    const uint64_t plateau = segment * random.between(4, 50'000);
    const uint64_t window = plateau * random.between(200, 1'000) / 1'000;
    const Epoch rfc{double(segment), double(plateau), double(window)};
    CubicCurve curve(segment);
    curve.begin(plateau, window);
    EXPECT_NEAR(to_seconds(curve.plateau_after()), rfc.k(), 2e-6);
    for (int j = 0; j < 20; ++j) {
      const Nanos t{static_cast<int64_t>(random.below(60'000'000'000))};
      const double expected = std::max(rfc.at(to_seconds(t)), 0.0);
      // Two ticks of time, a millionth of the rise for the rounded coefficient, and whole bytes.
      const double allowed = 2 * std::ldexp(1, -20) * rfc.slope(to_seconds(t)) +
                             2e-6 * std::abs(expected - rfc.plateau) + 2;
      ASSERT_NEAR(static_cast<double>(curve.at(t)), expected, allowed)
          << "segment " << segment << " plateau " << plateau << " window " << window << " t "
          << t.count;
    }
  }
}

TEST(CubicCurve, BeginsAtTheWindowAndReachesThePlateauAtK) {
  CubicCurve curve(1'500);
  curve.begin(1'500'000, 1'050'000);
  EXPECT_NEAR(static_cast<double>(curve.at({})), 1'050'000, 5);
  EXPECT_NEAR(static_cast<double>(curve.at(curve.plateau_after())), 1'500'000, 1);
  // K = cbrt(1000 segments x 0.3 / 0.4) = 9.0856 s.
  EXPECT_NEAR(to_seconds(curve.plateau_after()), 9.0856, 0.0001);
}

TEST(CubicCurve, APlateauBelowTheWindowStartsConvexFromTheWindow) {
  CubicCurve curve(1'500);
  curve.begin(100'000, 150'000);
  EXPECT_EQ(curve.plateau_after(), Nanos{});
  EXPECT_EQ(curve.at({}), 150'000u);
  EXPECT_NEAR(static_cast<double>(curve.at(seconds(10))), 150'000 + 0.4 * 1'500 * 1'000, 5);
}

TEST(CubicCurve, NeverOverflowsHoweverLongItRuns) {
  CubicCurve curve(65'536);
  curve.begin(uint64_t{1} << 40, uint64_t{1} << 39);
  uint64_t last = 0;
  for (int64_t hours = 0; hours < 10'000; hours += 7) {
    const uint64_t bytes = curve.at(seconds(3'600 * hours));
    EXPECT_GE(bytes, last);
    last = bytes;
  }
  EXPECT_GE(curve.at(Nanos::never()), last);
}

}  // namespace
}  // namespace heddle::transport
