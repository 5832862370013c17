// Ledgers: which frames of a session each end has sent, confirmed and received, so that any number
// of broken connections between the ends loses no message and doubles none. Pure state: an end asks
// them, sends and receives itself, and knows no relay.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace heddle::relaying {

// One direction at its sender. Messages are numbered from 0 in the order of add(); each is a row of
// frames whose sequence numbers continue those of the message before.
class SendLedger {
 public:
  struct Next {
    uint64_t message = 0;
    uint64_t frame = 0;  // within the message, from 0
    uint64_t sequence = 0;
  };

  // Adds a message of `frames` frames, at least one; returns its number.
  uint64_t add(uint64_t frames);
  // The next frame to send, now counted as sent; nothing: all are.
  std::optional<Next> take_next();
  bool has_next() const { return next_ < end_; }

  // The other end has the first `received` frames. False: more than were sent since the
  // last rewind(), which no honest end reports. Less than before changes nothing: such a report was
  // overtaken.
  bool confirm(uint64_t received);
  // A new connection: the other end has `received` frames, and the next one to send is the first
  // that it lacks. False: more than were ever sent, or less than it confirmed.
  bool rewind(uint64_t received);
  // The number of the oldest message that is wholly confirmed and was not returned before.
  std::optional<uint64_t> take_complete();

  bool all_confirmed() const { return confirmed_ == end_; }
  uint64_t retransmitted() const { return retransmitted_; }

 private:
  struct Row {
    uint64_t message = 0;
    uint64_t first = 0;
    uint64_t frames = 0;
  };

  std::deque<Row> rows_;  // not complete, or complete and not returned
  uint64_t messages_ = 0;
  uint64_t end_ = 0;        // of all rows
  uint64_t next_ = 0;       // to send
  uint64_t sent_ = 0;       // highest `next_` so far
  uint64_t confirmed_ = 0;  // by the other end
  uint64_t retransmitted_ = 0;
  size_t next_row_ = 0;  // of `next_`
};

// One direction at its receiver.
class ReceiveLedger {
 public:
  enum class Verdict : uint8_t {
    kNew,     // the next one: it is to be used
    kDouble,  // here already: it is to be dropped
    kGap,     // one before it is missing, which no connection in order causes
  };

  Verdict take(uint64_t sequence);
  uint64_t received() const { return received_; }
  uint64_t doubles() const { return doubles_; }

 private:
  uint64_t received_ = 0;
  uint64_t doubles_ = 0;
};

}  // namespace heddle::relaying
