// WireBins: what an endpoint puts on the wire and takes from it, counted in spans of time, by
// connection, path and NICs. The driver tells it of every burst that left and every run that came;
// it emits an event for what a span held once that is over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "events/events.h"
#include "transport/rx_run.h"
#include "transport/tx_batch.h"

namespace heddle::engine {

class WireBins {
 public:
  // Spans begin at multiples of `span` (at most 4 s) of the clock. `sink` must outlive it.
  WireBins(events::Sink& sink, Nanos span);

  // `unsent` of the burst's segments never left.
  void sent(Nanos now, const transport::TxBurst& burst, uint32_t unsent);
  void received(Nanos now, const transport::RxRun& run);

  // Emits what the span before held if that is over.
  void tell(Nanos now) {
    if (used_ > 0 && now >= end_) tell_all(now);
  }
  // The same where nobody may look again before `until`.
  void tell_before_rest(Nanos now, Nanos until) {
    if (used_ > 0 && until >= end_) tell_all(now);
  }
  // Emits what there is, over or not.
  void tell_all(Nanos now);

 private:
  // What is counted together, as one number: this is on every burst's way.
  using Key = uint64_t;
  struct Count {
    uint32_t packets = 0;
    uint32_t bytes = 0;
    uint32_t payload_bytes = 0;
  };
  // More are told before the span is over.
  static constexpr size_t kMostUsed = 128;
  // So many are looked through one by one: they lie in a few cache lines, and what a burst carried
  // has just gone through the caches.
  static constexpr size_t kFew = 16;

  static Key key_of(const transport::TxBurst& burst);
  static Key key_of(const transport::RxRun& run);
  // Where it is counted, now.
  Count& count_of(Nanos now, Key key);
  Count& add(Key key);
  // The key's place in keys_, or used_ if it has none.
  size_t find(Key key) const;
  // Where its place stands in places_, or would.
  size_t spot_of(Key key) const;
  void begin(Nanos now);

  events::Sink& sink_;
  const Nanos span_;
  Nanos begin_;
  Nanos end_;  // of the span that is counted
  size_t used_ = 0;
  std::array<Key, kMostUsed> keys_;
  std::array<Count, kMostUsed> counts_;
  // A hash table of 1 + place in keys_, while those are more than few; 0: free.
  std::array<uint8_t, 2 * kMostUsed> places_{};
};

}  // namespace heddle::engine
