// Selector: chooses the path of each burst. It sees the paths' samples and nothing else.
// One is made per connection by name. To add one: its own file, its test, one line in
// selector_registry.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/random.h"
#include "base/units.h"

namespace heddle::transport {

// A path as a selector sees it.
struct PathSample {
  uint16_t path = 0;
  Nanos smoothed_rtt;  // zero: never measured
  Nanos latest_rtt;
  Bytes in_flight;
  // Bursts with loss, at most 7; one is forgotten with 64 segments that arrive, and half of them
  // with four round trips without loss.
  uint32_t recent_losses = 0;
  bool marked = false;  // its latest acknowledgement carried congestion marks
  bool stale = false;   // what it measured is more than a dozen round trips old
};

// The paths that may be used now; those that may not (set aside, at their cap) are left out. A
// sample is made when it is asked for: most are not, for most bursts.
class UsablePaths {
 public:
  using Sample = PathSample (*)(const void* owner, uint32_t at);

  UsablePaths(const void* owner, uint32_t size, Sample sample)
      : owner_(owner), size_(size), sample_(sample) {}
  // Samples that stand ready. They must outlive this.
  UsablePaths(const std::vector<PathSample>& samples)  // NOLINT: as a span does
      : owner_(samples.data()), size_(static_cast<uint32_t>(samples.size())), sample_(&stored) {}

  uint32_t size() const { return size_; }
  PathSample operator[](uint32_t at) const { return sample_(owner_, at); }

 private:
  static PathSample stored(const void* owner, uint32_t at) {
    return static_cast<const PathSample*>(owner)[at];
  }

  const void* owner_;
  uint32_t size_;
  Sample sample_;
};

class Selector {
 public:
  virtual ~Selector() = default;
  // Index into `usable`, which has at least one element.
  virtual uint32_t select(const UsablePaths& usable, Random& random) = 0;
  // A burst on `path` was acknowledged; for selectors that reuse good entropies.
  virtual void on_ack(uint16_t path, const PathSample& sample) = 0;
};

// Null for a name that is not in the table.
std::unique_ptr<Selector> make_selector(std::string_view name);
std::span<const std::string_view> selector_names();

}  // namespace heddle::transport
