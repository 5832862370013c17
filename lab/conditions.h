// Conditions: the current state of a lab's links, and which hosts are paused. Initially as in the
// file, updated by every fault, and saved with the lab's state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::lab {

struct DirectionCondition {
  bool black_hole = false;  // drops everything without notice to the sender
  BitsPerSec rate;          // zero: unlimited
  topology::LinkFaults faults;

  uint32_t corrupt_per_million() const {
    return faults.corrupt_header_per_million + faults.corrupt_payload_per_million;
  }
  bool operator==(const DirectionCondition& other) const;
};

struct LinkCondition {
  bool down = false;  // neither end has a carrier
  DirectionCondition forward;
  DirectionCondition backward;
};

struct Conditions {
  std::vector<LinkCondition> links;
  std::vector<bool> paused;  // by host index

  // The links that routes may use.
  std::vector<bool> up() const;
};

Conditions initial_conditions(const topology::Topology& topology);

// Updates the conditions by a change.
void apply(const topology::LinkChange& change, Conditions& conditions);

// "50 Mbit/s", or "no limit".
std::string rate_name(BitsPerSec rate);
// "1% loss, 50 Mbit/s": the difference of a direction from the file; empty if there is none.
std::string difference_text(const DirectionCondition& now, const DirectionCondition& file);

// Saves and loads the conditions; without a saved file, load returns the initial ones. Errors:
// kSystem, kInvalid.
Result<void> save_conditions(const std::string& lab, const Conditions& conditions);
Result<Conditions> load_conditions(const std::string& lab, const topology::Topology& topology);

}  // namespace heddle::lab
