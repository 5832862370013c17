// Ledgers: see ledger.h.
#include "relaying/ledger.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::relaying {

uint64_t SendLedger::add(uint64_t frames) {
  CHECK(frames > 0);
  rows_.push_back({messages_, end_, frames});
  end_ += frames;
  return messages_++;
}

std::optional<SendLedger::Next> SendLedger::take_next() {
  if (next_ == end_) return std::nullopt;
  while (next_ >= rows_[next_row_].first + rows_[next_row_].frames) ++next_row_;
  const Row& row = rows_[next_row_];
  const Next next{row.message, next_ - row.first, next_};
  retransmitted_ += next_ < sent_ ? 1 : 0;
  sent_ = std::max(sent_, ++next_);
  return next;
}

bool SendLedger::confirm(uint64_t received) {
  if (received > next_) return false;
  confirmed_ = std::max(confirmed_, received);
  return true;
}

bool SendLedger::rewind(uint64_t received) {
  if (received < confirmed_ || received > sent_) return false;
  next_ = confirmed_ = received;
  next_row_ = 0;
  return true;
}

std::optional<uint64_t> SendLedger::take_complete() {
  if (rows_.empty()) return std::nullopt;
  const Row& oldest = rows_.front();
  if (confirmed_ < oldest.first + oldest.frames) return std::nullopt;
  const uint64_t message = oldest.message;
  rows_.pop_front();
  if (next_row_ > 0) --next_row_;
  return message;
}

ReceiveLedger::Verdict ReceiveLedger::take(uint64_t sequence) {
  if (sequence > received_) return Verdict::kGap;
  if (sequence < received_) {
    ++doubles_;
    return Verdict::kDouble;
  }
  ++received_;
  return Verdict::kNew;
}

}  // namespace heddle::relaying
