// See confidence.h.
#include "insight/confidence.h"

#include "insight/diagnosis/outliers.h"
#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

using Range = std::optional<ConfidenceRange>;

bool is_nic(PlaceKind place) {
  return place == PlaceKind::kNic || place == PlaceKind::kSenderNic ||
         place == PlaceKind::kReceiverNic;
}

bool is_rank(PlaceKind place) { return place == PlaceKind::kRank; }

bool joins_ranks(PlaceKind place) { return is_nic(place) || place == PlaceKind::kLink; }

// Late links may share a link of the fabric.
bool carries_data(PlaceKind place) { return joins_ranks(place) || place == PlaceKind::kRoute; }

// Failed paths meet there.
bool meets_paths(PlaceKind place) {
  return place == PlaceKind::kRoute || place == PlaceKind::kNic || place == PlaceKind::kLink ||
         place == PlaceKind::kGroup;
}

ConfidenceRange of_outliers() {
  return {confidence_of({.errors = params::kLeastErrors}), params::kMostOutlierConfidence};
}

Range of_hangs(PlaceKind place) {
  if (place == PlaceKind::kJob) return ConfidenceRange{params::kUnplaced, params::kUnplaced};
  if (!is_rank(place) && !joins_ranks(place)) return std::nullopt;
  return ConfidenceRange{params::kPlaced, params::kPlaced};
}

// Of `count` incidents or paths, the fewest.
ConfidenceRange by_count(size_t count) {
  return {1 - 1 / static_cast<double>(count), params::kMostConfidence};
}

}  // namespace

Range confidence_range(VerdictClass verdict, PlaceKind place) {
  switch (verdict) {
    case VerdictClass::kNonCommunicationHang:
      if (!is_rank(place)) return std::nullopt;
      return ConfidenceRange{params::kLeastWaited, params::kStopped};
    case VerdictClass::kCommunicationHang:
      return of_hangs(place);
    case VerdictClass::kMismatch:
      if (is_rank(place)) return ConfidenceRange{params::kDiffers, params::kStopped};
      if (place != PlaceKind::kGroup) return std::nullopt;
      return ConfidenceRange{params::kPlaced, params::kDiffers};
    case VerdictClass::kNonCommunicationSlow:
    case VerdictClass::kMixedSlow:
      return is_rank(place) ? Range(of_outliers()) : std::nullopt;
    case VerdictClass::kCommunicationSlow:
      return carries_data(place) ? Range(of_outliers()) : std::nullopt;
    case VerdictClass::kDegradation:
      return is_rank(place) || carries_data(place) ? Range(of_outliers()) : std::nullopt;
    case VerdictClass::kFabricCollision:
      if (place != PlaceKind::kRoute && place != PlaceKind::kGroup) return std::nullopt;
      return ConfidenceRange{of_outliers().least, params::kPlaced};
    case VerdictClass::kFlapping:
      if (!meets_paths(place)) return std::nullopt;
      return by_count(params::kLeastFlaps);
    case VerdictClass::kPathFailure:
      if (place != PlaceKind::kRoute) return std::nullopt;
      return by_count(1 + params::kLeastFailedPaths);
    case VerdictClass::kLoadImbalance:  // a note
      break;
  }
  return std::nullopt;
}

}  // namespace heddle::insight
