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

// A path's share of a connection's payload, as a plan sets it.
struct PlannedShare {
  uint16_t path = 0;
  uint32_t share_per_million = 0;
};

// A path as a selector sees it.
struct PathSample {
  uint16_t path = 0;
  Nanos latest_rtt;  // zero: never measured. Averages are too old to compare queues
  Bytes in_flight;
  // Bursts with loss, at most 7; one is forgotten with 64 segments that arrive, and half of them
  // with four round trips without loss.
  uint32_t recent_losses = 0;
  bool marked = false;  // its latest acknowledgement carried congestion marks
  bool stale = false;   // what it measured is more than a dozen round trips old
};

// The paths that may be used now; those that may not (suspect, at their cap) are left out. A
// sample is made on request: for most bursts, few are.
class UsablePaths {
 public:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  using Sample = PathSample (*)(const void* owner, uint32_t at);
  using Find = uint32_t (*)(const void* owner, uint16_t path);

  UsablePaths(const void* owner, uint32_t size, Sample sample, Find finds)
      : owner_(owner), size_(size), sample_(sample), find_(finds) {}
  // Samples that stand ready. They must outlive this.
  UsablePaths(const std::vector<PathSample>& samples)  // NOLINT: as a span does
      : owner_(&samples),
        size_(static_cast<uint32_t>(samples.size())),
        sample_(&stored),
        find_(&find_stored) {}

  uint32_t size() const { return size_; }
  PathSample operator[](uint32_t at) const { return sample_(owner_, at); }
  // Where the path stands among them; kNowhere: it may not be used.
  uint32_t find(uint16_t path) const { return find_(owner_, path); }

 private:
  static PathSample stored(const void* owner, uint32_t at) {
    return (*static_cast<const std::vector<PathSample>*>(owner))[at];
  }
  static uint32_t find_stored(const void* owner, uint16_t path) {
    const auto& samples = *static_cast<const std::vector<PathSample>*>(owner);
    for (uint32_t at = 0; at < samples.size(); ++at) {
      if (samples[at].path == path) return at;
    }
    return kNowhere;
  }

  const void* owner_;
  uint32_t size_;
  Sample sample_;
  Find find_;
};

class Selector {
 public:
  virtual ~Selector() = default;
  // Index into `usable`, which has at least one element.
  virtual uint32_t select(const UsablePaths& usable, Random& random) = 0;
  // Bytes of payload segments left on the path that was selected last.
  virtual void on_sent(uint16_t /*path*/, Bytes /*sent*/) {}
  // Bytes were acknowledged on `path`; for selectors that reuse good entropies.
  virtual void on_ack(uint16_t path, const PathSample& sample, Bytes acked) = 0;
  // From now on a plan sets these shares; for selectors that follow one.
  virtual void set_shares(std::span<const PlannedShare> /*shares*/) {}
};

// Null for a name that is not in the table.
std::unique_ptr<Selector> make_selector(std::string_view name);
std::span<const std::string_view> selector_names();

}  // namespace heddle::transport
