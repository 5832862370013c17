// Conditions: how the links of a lab are at the moment, and which hosts are paused. They begin as
// the file says, change with every fault, and are written down beside the lab's state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::lab {

struct DirectionCondition {
  bool black_hole = false;  // everything vanishes; the sender notices nothing
  BitsPerSec rate;          // zero: not limited
  topology::LinkFaults faults;

  uint32_t corrupt_per_million() const {
    return faults.corrupt_header_per_million + faults.corrupt_payload_per_million;
  }
  bool operator==(const DirectionCondition& other) const;
};

struct LinkCondition {
  bool down = false;  // both ends have no carrier
  DirectionCondition forward;
  DirectionCondition backward;
};

struct Conditions {
  std::vector<LinkCondition> links;
  std::vector<bool> paused;  // by host

  // Which links packets are routed over.
  std::vector<bool> up() const;
};

Conditions initial_conditions(const topology::Topology& topology);

// What a change makes of them.
void apply(const topology::LinkChange& change, Conditions& conditions);

// "50 Mbit/s", or "no limit".
std::string rate_name(BitsPerSec rate);
// "1% loss, 50 Mbit/s": how a direction differs from what the file says; empty: it does not.
std::string difference_text(const DirectionCondition& now, const DirectionCondition& file);

// Writes them down, and reads them; without a file they are as at the beginning. Errors: kSystem,
// kInvalid.
Result<void> save_conditions(const std::string& lab, const Conditions& conditions);
Result<Conditions> load_conditions(const std::string& lab, const topology::Topology& topology);

}  // namespace heddle::lab
