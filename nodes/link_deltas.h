// LinkDeltas: what network interfaces did from one reading of their counters to the next. A pure
// function of the readings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "events/events.h"
#include "nodes/counted.h"
#include "nodes/link_reader.h"

namespace heddle::nodes {

class LinkDeltas {
 public:
  struct Taken {
    std::vector<events::NicSampled> samples;
    std::vector<events::NicLinkChanged> changes;
  };
  // Whether an interface has an IP address.
  using HasAddress = std::function<bool(const std::string& interface)>;

  // Samples of the interfaces that did anything since the last reading, but for loopback; at most
  // of kMostInterfaces, those with hardware first. `speed` is left out. And changes of carriers:
  // those whose notification was lost; of virtual interfaces those that were noted since, if the
  // interface is still there, has an address and is no bridge. Others come and go with containers,
  // and a job that uses one uses its address.
  Taken take(std::vector<LinkState> links, Nanos now, const HasAddress& has_address);
  // The event of a notification; nothing: its carrier is as it was, or the interface is not known,
  // removed or virtual.
  std::optional<events::NicLinkChanged> note(const LinkState& link, Nanos now);

 private:
  struct Known {
    LinkState state;
    bool up = false;                            // as it was notified last
    std::vector<events::NicLinkChanged> noted;  // of a virtual interface, since the last reading
  };
  std::map<int, Known> links_;  // by index
  Nanos taken_at_;
};

}  // namespace heddle::nodes
