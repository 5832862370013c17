// SendTurn: a connection's share of what its endpoint sends. Connections with payload take turns by
// deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): each turn allows a quantum of bytes,
// whatever the size of bursts. A burst is cut after it was begun, so the last one of a turn may
// exceed what is left; the next turn pays for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/tx_batch.h"

namespace heddle::transport {

enum class TurnEnd : uint8_t {
  kNothingDue,  // nothing more may leave now
  kShareSpent,  // others come first
  kBatchFull,   // the turn is cut: it continues in the next batch, before others
};

class SendTurn {
 public:
  // Bytes a turn, headers included: the largest burst, so every turn sends at least one.
  static constexpr int64_t kQuantum = kMaxBurstBytes;

  // A turn begins, or one that was cut continues.
  void begin() {
    if (!cut_) left_ += kQuantum;
    cut_ = false;
  }
  bool has_share() const { return left_ > 0; }
  // No other connection waits, so the next turn follows at once.
  void renew() { left_ += kQuantum; }
  // Payload left in the bursts of this batch from `first` on.
  void spend(const TxBatch& batch, size_t first) {
    for (const TxBurst& burst : batch.bursts().subspan(first)) {
      left_ -= int64_t{burst.segments} * (burst.header_bytes + burst.tag_bytes());
      left_ -= static_cast<int64_t>(burst.total_payload());
    }
    left_ = std::max(left_, 1 - kQuantum);  // a strategy's packet may be larger than a burst
  }
  TurnEnd end(TurnEnd why) {
    if (why == TurnEnd::kNothingDue) left_ = std::min<int64_t>(left_, 0);
    if (why == TurnEnd::kBatchFull && !has_share()) return TurnEnd::kShareSpent;
    cut_ = why == TurnEnd::kBatchFull;
    return why;
  }

 private:
  int64_t left_ = 0;  // below zero: a debt
  bool cut_ = false;
};

}  // namespace heddle::transport
