// Names of a fabric's links, a direction each: "leaf0 -> spine3", "leaf0 -> spine3 #1" for one of
// several between the same two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/network.h"

namespace heddle::cli {

class LinkNames {
 public:
  // `topology` must outlive it.
  explicit LinkNames(const topology::Topology& topology);

  std::string operator()(simulator::LinkId link) const;
  std::string from(simulator::LinkId link) const;
  std::string to(simulator::LinkId link) const;
  // Among the links between the same two, from 0.
  uint32_t number(simulator::LinkId link) const { return numbers_[link / 2]; }

 private:
  std::string label(const topology::Node& node) const;

  const topology::Topology& topology_;
  std::vector<uint32_t> nic_numbers_;  // of its host; UINT32_MAX: it is the only one
  std::vector<uint32_t> numbers_;      // of each cable
};

}  // namespace heddle::cli
