// Selector: chooses the path of each burst. It sees the paths' samples and nothing else.
// One is made per connection by name. To add one: its own file, its test, one line in
// selector_registry.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/nanos.h"
#include "base/random.h"
#include "base/units.h"

namespace heddle::transport {

// A path as a selector sees it. Those that may not be used now (set aside, at their cap) are left
// out.
struct PathSample {
  uint16_t path = 0;
  Nanos smoothed_rtt;  // zero: never measured
  Nanos latest_rtt;
  Nanos min_rtt;
  Bytes in_flight;
  Bytes delivered;             // acknowledged so far
  uint32_t recent_losses = 0;  // bursts with loss in the last few round trips
  bool marked = false;         // its latest acknowledgement carried congestion marks
};

class Selector {
 public:
  virtual ~Selector() = default;
  // Index into `usable`, which has at least one element.
  virtual uint32_t select(std::span<const PathSample> usable, Random& random) = 0;
  // A burst on `path` was acknowledged; for selectors that reuse good entropies.
  virtual void on_ack(uint16_t path, const PathSample& sample) = 0;
};

// Null for a name that is not in the table.
std::unique_ptr<Selector> make_selector(std::string_view name);
std::span<const std::string_view> selector_names();

}  // namespace heddle::transport
