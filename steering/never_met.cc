// See never_met.h.
#include "steering/never_met.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "insight/confidence.h"
#include "steering/rule_table.h"

namespace heddle::steering {
namespace {

using insight::PlaceKind;
using insight::VerdictClass;

constexpr std::array kPlaces = {PlaceKind::kRank,  PlaceKind::kSenderNic, PlaceKind::kReceiverNic,
                                PlaceKind::kNic,   PlaceKind::kLink,      PlaceKind::kRoute,
                                PlaceKind::kGroup, PlaceKind::kJob};

// Of a class at the rule's places, how sure it can be; nothing: it has none of them.
std::optional<double> most_confidence(const Rule& rule, VerdictClass what) {
  std::optional<double> most;
  for (const PlaceKind place : kPlaces) {
    const auto& all = rule.places;
    if (!all.empty() && std::find(all.begin(), all.end(), place) == all.end()) continue;
    const auto range = insight::confidence_range(what, place);
    if (range) most = std::max(most.value_or(0), range->most);
  }
  return most;
}

void add_of(const Rule& rule, std::vector<std::string>& found) {
  const bool names_classes = rule.classes != default_classes();
  std::vector<VerdictClass> nowhere;
  for (const VerdictClass what : rule.classes) {
    const std::optional<double> most = most_confidence(rule, what);
    if (!most) {
      nowhere.push_back(what);
    } else if (*most < rule.confidence) {
      found.push_back(
          fmt::format("the rule '{}' never acts on {}: its confidence there is at most {}, and the "
                      "rule asks for {}",
                      rule.name, name_of(what), *most, rule.confidence));
    }
  }
  if (!names_classes && nowhere.size() < rule.classes.size()) return;
  for (const VerdictClass what : nowhere) {
    found.push_back(fmt::format("the rule '{}' never acts on {}, which has none of its places",
                                rule.name, name_of(what)));
  }
}

}  // namespace

std::vector<std::string> never_met(const Policy& policy) {
  std::vector<std::string> found;
  for (const Rule& rule : policy.rules) add_of(rule, found);
  return found;
}

}  // namespace heddle::steering
