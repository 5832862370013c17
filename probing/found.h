// FoundFabric: what infer.h makes of observations: switches, links with their state by direction,
// the route of each flow, and findings, each with its certainty and evidence.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "probing/observations.h"
#include "topology/topology.h"

namespace heddle::probing {

enum class Certainty : uint8_t {
  kSeen,      // answers say so
  kInferred,  // follows from answers and from one assumption: a NIC has one cable
  kGuessed,   // the likeliest explanation
};
inline constexpr std::array<std::string_view, 3> kCertaintyNames = {"seen", "inferred", "guessed"};
constexpr std::string_view name_of(Certainty certainty) {
  return kCertaintyNames[static_cast<size_t>(certainty)];
}

// A NIC, or a switch of the found fabric.
struct Place {
  static constexpr uint32_t kUnknown = UINT32_MAX;

  topology::NodeKind kind = topology::NodeKind::kNic;
  uint32_t index = kUnknown;

  bool is_known() const { return index != kUnknown; }
  auto operator<=>(const Place&) const = default;
};
constexpr Place nic_place(uint32_t nic) { return {topology::NodeKind::kNic, nic}; }
constexpr Place switch_place(uint32_t index) { return {topology::NodeKind::kSwitch, index}; }

struct FoundSwitch {
  std::string name;
  bool is_named = false;                   // by the site, not by its place
  std::vector<std::string> addresses;      // none: it does not answer
  uint32_t tier = 0;                       // 1: NICs are connected to it; 0: not known
  Certainty certainty = Certainty::kSeen;  // that all addresses are of one switch
};

// One direction of a cable, or of parallel cables that answers cannot separate.
struct Hop {
  Place from;
  Place to;

  auto operator<=>(const Hop&) const = default;
};

struct DirectionState {
  uint32_t flows = 0;          // that were seen to cross it
  BitsPerSec rate;             // at least; zero: not measured
  bool rate_is_exact = false;  // no other link explains the slowest trains over it
};

struct FoundLink {
  Place a;  // the NIC, or the lower tier
  Place b;
  uint32_t cables = 1;  // that answers separate
  Certainty certainty = Certainty::kSeen;
  DirectionState forward;  // from a to b
  DirectionState backward;
};

struct FoundRoute {
  // In the order of travel; empty for one that is not known. Of a flow that does not arrive: as far
  // as it was seen.
  std::vector<std::optional<uint32_t>> switches;
  bool arrives = false;

  bool is_complete() const {
    for (const auto& each : switches) {
      if (!each) return false;
    }
    return arrives;
  }
};

enum class FindingKind : uint8_t { kDead, kLossy, kSlow, kDelayed, kMissing, kSilent, kSprayed };
inline constexpr std::array<std::string_view, 7> kFindingNames = {
    "dead", "lossy", "slow", "delayed", "missing", "silent", "sprayed"};
constexpr std::string_view name_of(FindingKind kind) {
  return kFindingNames[static_cast<size_t>(kind)];
}

struct Finding {
  FindingKind kind = FindingKind::kDead;
  std::vector<Hop> places;  // several: it is one of them, the evidence fits each
  Certainty certainty = Certainty::kInferred;
  double loss = 0;          // kLossy: share of the packets
  BitsPerSec rate;          // kSlow
  BitsPerSec usual_rate;    // kSlow: of its siblings
  uint32_t bad_flows = 0;   // that show it
  uint32_t good_flows = 0;  // over the other links, that do not
  std::string evidence;

  bool is_fault() const { return kind != FindingKind::kSilent && kind != FindingKind::kSprayed; }
};

struct FoundFabric {
  std::vector<ProbedNic> nics;
  std::vector<FoundSwitch> switches;
  std::vector<FoundLink> links;                              // add_link() adds one
  std::map<std::pair<Place, Place>, uint32_t> link_numbers;  // by both ends, the lesser one first
  std::map<FlowKey, FoundRoute> routes;
  std::vector<Finding> findings;
};

// "h3", "h3.1" or the switch's name; "?" for a place that is not known.
std::string name_of(const FoundFabric& found, const Place& place);
// "leaf0 -> spine1".
std::string name_of(const FoundFabric& found, const Hop& hop);
// Adds a link; there is none between its ends.
void add_link(FoundFabric& found, FoundLink link);
// The index of the link between two places; nothing if there is none.
std::optional<uint32_t> link_between(const FoundFabric& found, const Place& one,
                                     const Place& other);

}  // namespace heddle::probing
