// Outbox and Inbox: a session's messages at one end. They split messages into pieces and join them,
// and keep the outcome of every operation; the ledgers decide which pieces count.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "engine/endpoint.h"
#include "engine/message_link.h"
#include "relaying/frame.h"
#include "relaying/ledger.h"

namespace heddle::relaying {

// The operations of a link, by id.
class OperationBook {
 public:
  engine::Operation open();
  void finish(engine::Operation operation, const engine::Outcome& outcome);
  // Done and kInvalid for one that does not exist.
  engine::Outcome take(engine::Operation operation);
  void forget(engine::Operation operation);

 private:
  struct Entry {
    engine::Outcome outcome;
    bool forgotten = false;
  };
  std::unordered_map<uint64_t, Entry> entries_;
  uint64_t last_ = 0;
};

class Outbox {
 public:
  explicit Outbox(OperationBook& book) : book_(book) {}

  engine::Operation post(engine::Channel channel, const engine::MessageBytes& bytes);
  // Fills in the next data frame, whose payload is the caller's memory. False: none is left.
  bool take_next(Frame& frame);
  bool has_next() const { return ledger_.has_next(); }
  // As those of SendLedger; messages that are complete by it are done.
  bool confirm(uint64_t received);
  bool rewind(uint64_t received);
  bool empty() const { return messages_.empty(); }
  size_t posted() const { return messages_.size(); }
  uint64_t retransmitted() const { return ledger_.retransmitted(); }
  void fail_all(const engine::Outcome& outcome);

 private:
  struct Message {
    engine::Operation operation;
    engine::Channel channel = 0;
    engine::MessageBytes bytes;
  };
  void finish_complete();

  OperationBook& book_;
  SendLedger ledger_;
  std::deque<Message> messages_;
  uint64_t first_ = 0;  // the number of messages_.front()
};

class Inbox {
 public:
  explicit Inbox(OperationBook& book) : book_(book) {}

  engine::Operation post(engine::Channel channel, const engine::MessageBytes& bytes);
  size_t posted() const { return posted_; }
  // Whether the memory for early messages has a place for one more piece.
  bool has_space() const;
  // Takes a data frame. False: no honest end sends it.
  bool take(const Frame& frame);
  uint64_t received() const { return ledger_.received(); }
  uint64_t doubles() const { return ledger_.doubles(); }
  // A message has been completed since the last call.
  bool take_message_end() { return std::exchange(message_end_, false); }
  void fail_all(const engine::Outcome& outcome);

 private:
  struct Receive {
    engine::Operation operation;
    engine::MessageBytes bytes;
  };
  struct EarlyPiece {
    Piece piece;
    std::vector<std::byte> payload;
  };
  struct ChannelState {
    std::deque<Receive> receives;
    std::deque<EarlyPiece> early;
    uint64_t arrived = 0;        // bytes of the message that is arriving
    uint32_t message_bytes = 0;  // its length, once `arrived` is not 0
    uint64_t placed = 0;         // bytes of the message that is being placed
  };
  void place(ChannelState& channel, const Piece& piece, std::span<const std::byte> payload);

  OperationBook& book_;
  ReceiveLedger ledger_;
  std::map<engine::Channel, ChannelState> channels_;
  size_t early_bytes_ = 0;
  size_t posted_ = 0;  // receives that are not done
  bool message_end_ = false;
};

}  // namespace heddle::relaying
