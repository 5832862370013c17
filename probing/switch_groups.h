// SwitchGroups: which addresses that answered are of one switch. Rules, strongest first:
// equal addresses; position: a NIC has one cable, so what answers at its first hop, and last before
// it, is one switch, and NICs with one router between them share it; subnet: the address of an
// ingress port has its cable's other end beside it (/31 or /30), which is the router before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probing/found.h"
#include "probing/observations.h"

namespace heddle::probing {

class SwitchGroups {
 public:
  explicit SwitchGroups(const Observations& observations);

  // Without names and tiers.
  const std::vector<FoundSwitch>& switches() const { return switches_; }
  std::optional<uint32_t> switch_at(const std::string& address) const;
  // The switch that a NIC is connected to; nothing if no probe shows one.
  std::optional<uint32_t> switch_of(uint32_t nic) const;

 private:
  uint32_t root(uint32_t element);
  uint32_t element_of(const std::string& address);
  void note_conflicts(const Observations& observations);
  void join(uint32_t one, uint32_t other, Certainty certainty);
  void join_by_position(const Observations& observations);
  void join_by_subnet(const Observations& observations);
  void number_switches(const Observations& observations);

  uint32_t nics_ = 0;  // elements below it are the switches of NICs; then come addresses
  std::map<std::string, uint32_t> addresses_;
  std::vector<uint32_t> parents_;
  std::vector<std::vector<uint32_t>> members_;  // of a root
  std::vector<Certainty> certainties_;          // of a root
  std::vector<bool> exists_;                    // of a NIC's switch
  std::set<std::pair<uint32_t, uint32_t>> conflicts_;
  std::map<uint32_t, uint32_t> numbers_;  // of roots
  std::vector<FoundSwitch> switches_;
};

}  // namespace heddle::probing
