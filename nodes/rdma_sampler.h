// RdmaSampler: what the ports of RDMA devices counted from one reading to the next, from a tree as
// /sys has it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "events/events.h"

namespace heddle::nodes {

class RdmaSampler {
 public:
  // Devices that come later are not sampled.
  explicit RdmaSampler(const std::filesystem::path& sys);

  // Events of the ports that counted anything since the last call, or whose state has changed. What
  // a counter that cannot be read counts meanwhile is in the next event.
  std::vector<events::RdmaPortSampled> take(Nanos now);

 private:
  struct Counter {
    std::string path;
    size_t place = 0;               // of the event's counter that it is part of
    std::optional<uint64_t> value;  // as it was read last; nothing: never
  };
  struct Port {
    std::string device;
    uint16_t number = 0;
    std::string state;           // path
    std::optional<bool> active;  // the same
    std::vector<Counter> counters;
  };

  std::vector<Port> ports_;
  Nanos taken_at_;
  bool taken_ = false;
};

}  // namespace heddle::nodes
