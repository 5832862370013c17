// Which verdicts there are, and how sure they can be.
#include "insight/confidence.h"

#include <gtest/gtest.h>

#include <array>

#include "insight/diagnosis/outliers.h"

namespace heddle::insight {
namespace {

double most(VerdictClass verdict, PlaceKind place) {
  const auto range = confidence_range(verdict, place);
  return range ? range->most : 0;
}

TEST(ConfidenceTest, HangsOfCommunicationAreNamedByWhatIsMissing) {
  EXPECT_EQ(most(VerdictClass::kCommunicationHang, PlaceKind::kRank), 0.9);
  EXPECT_EQ(most(VerdictClass::kCommunicationHang, PlaceKind::kLink), 0.9);
  EXPECT_EQ(most(VerdictClass::kCommunicationHang, PlaceKind::kJob), 0.6);
  EXPECT_EQ(most(VerdictClass::kNonCommunicationHang, PlaceKind::kRank), 0.97);
}

TEST(ConfidenceTest, EachClassHasItsPlaces) {
  EXPECT_EQ(most(VerdictClass::kNonCommunicationSlow, PlaceKind::kNic), 0);
  EXPECT_EQ(most(VerdictClass::kCommunicationSlow, PlaceKind::kRank), 0);
  EXPECT_EQ(most(VerdictClass::kCommunicationSlow, PlaceKind::kRoute), 0.99);
  EXPECT_EQ(most(VerdictClass::kCommunicationHang, PlaceKind::kRoute), 0);
  EXPECT_EQ(most(VerdictClass::kMismatch, PlaceKind::kJob), 0);
  EXPECT_EQ(most(VerdictClass::kPathFailure, PlaceKind::kNic), 0);
  EXPECT_EQ(most(VerdictClass::kFlapping, PlaceKind::kRank), 0);
  EXPECT_EQ(most(VerdictClass::kFlapping, PlaceKind::kNic), 0.95);
  EXPECT_EQ(most(VerdictClass::kMixedSlow, PlaceKind::kNic), 0);
  EXPECT_EQ(most(VerdictClass::kMixedSlow, PlaceKind::kRank), 0.99);
  EXPECT_EQ(most(VerdictClass::kFabricCollision, PlaceKind::kLink), 0);
  EXPECT_EQ(most(VerdictClass::kFabricCollision, PlaceKind::kRoute), 0.9);
  EXPECT_EQ(most(VerdictClass::kLoadImbalance, PlaceKind::kRank), 0);
}

TEST(ConfidenceTest, RangesAreThoseOfTheirRules) {
  constexpr std::array kPlaces = {PlaceKind::kRank,  PlaceKind::kSenderNic, PlaceKind::kReceiverNic,
                                  PlaceKind::kNic,   PlaceKind::kLink,      PlaceKind::kRoute,
                                  PlaceKind::kGroup, PlaceKind::kJob};
  for (int what = 0; what < static_cast<int>(VerdictClass::kLoadImbalance); ++what) {
    int places = 0;
    for (const PlaceKind place : kPlaces) {
      const auto range = confidence_range(static_cast<VerdictClass>(what), place);
      if (!range) continue;
      ++places;
      EXPECT_GE(range->least, 0.5) << what;
      EXPECT_LE(range->least, range->most) << what;
      EXPECT_LT(range->most, 1) << what;
    }
    EXPECT_GT(places, 0) << what;
  }
  const auto slow = confidence_range(VerdictClass::kNonCommunicationSlow, PlaceKind::kRank);
  ASSERT_TRUE(slow);
  EXPECT_NEAR(slow->least, 0.81, 0.005);
  EXPECT_LE(confidence_of({.errors = 1e6}), slow->most);
}

}  // namespace
}  // namespace heddle::insight
