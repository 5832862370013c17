// WireBins: counts an endpoint's sent and received traffic per time span, connection, path and NIC
// pair. The driver reports every burst that left and every received run; WireBins emits one WireBin
// event per counter when a span is over.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "engine/params.h"
#include "events/events.h"
#include "transport/rx_run.h"
#include "transport/tx_batch.h"

namespace heddle::engine {

class WireBins {
 public:
  // Spans start at multiples of `span` (at most 4 s) of the clock. `sink` must outlive this object.
  WireBins(events::Sink& sink, Nanos span);

  // The last `unsent` segments of the burst did not leave.
  void sent(Nanos now, const transport::TxBurst& burst, uint32_t unsent);
  void received(Nanos now, const transport::RxRun& run);

  // Emits the previous span's counts if that span is over.
  void tell(Nanos now) {
    if (used_ > 0 && now >= end_) report_all(now);
  }
  // The same where no call may follow before `until`.
  void report_before_rest(Nanos now, Nanos until) {
    if (used_ > 0 && until >= end_) report_all(now);
  }
  // Emits all counts, also those of an unfinished span.
  void report_all(Nanos now);

 private:
  // Connection, path and NICs packed into one integer, because every burst looks it up.
  using Key = uint64_t;
  struct Count {
    uint32_t packets = 0;
    uint32_t bytes = 0;
    uint32_t payload_bytes = 0;
  };
  // When the table is full, its counts are emitted before the span is over.
  static constexpr size_t kMostUsed = params::kMostBinsUsed;
  // Up to this number, lookup is a linear search.
  static constexpr size_t kFew = params::kFewBins;

  static Key key_of(const transport::TxBurst& burst);
  static Key key_of(const transport::RxRun& run);
  // The counter of `key` in the span of `now`.
  Count& count_of(Nanos now, Key key);
  Count& add(Key key);
  // The index of `key` in keys_; used_ if absent.
  size_t find(Key key) const;
  // The slot of `key` in places_, or the free slot where it belongs.
  size_t spot_of(Key key) const;
  void begin(Nanos now);

  events::Sink& sink_;
  const Nanos span_;
  Nanos begin_;
  Nanos end_;  // of the current span
  size_t used_ = 0;
  std::array<Key, kMostUsed> keys_;
  std::array<Count, kMostUsed> counts_;
  // Hash table of 1 + index in keys_, in use while used_ > kFew; 0: free.
  std::array<uint8_t, 2 * kMostUsed> places_{};
};

}  // namespace heddle::engine
