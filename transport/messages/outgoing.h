// Outgoing: the messages that this side of a connection sends. It matches them with the peer's
// grants, says which bytes to send next, and completes each when every byte is acknowledged and its
// receive is known to be posted. It knows nothing of paths and packet numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/result.h"
#include "base/ring.h"
#include "transport/endpoint.h"
#include "transport/recovery/interval_set.h"
#include "transport/recovery/retransmissions.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/wire/control.h"
#include "transport/wire/immediate.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

struct OutMessage {
  Payload payload;
  OperationId operation = 0;
  Nanos posted_at;
  Sequence sequence;
  uint32_t next = 0;  // first byte never sent
  uint16_t channel = 0;
  bool started = false;     // something was sent (matters where the message is empty)
  bool sent_ahead = false;  // before a grant was known: holds an eager block of the peer
  bool lost_ahead = false;  // some of that was lost, or found no room: it waits for the grant
  bool granted = false;
  bool claimable = false;    // the payload strategy may send it
  bool claimed = false;      // it sent some: until all is acknowledged, a NIC may read the payload
  uint8_t slot = kNoSlot;    // of its receive, where that may be written remotely
  bool withdrawing = false;  // the peer was asked whether it can still be withdrawn
  bool failed = false;
  AckPolicy ack_policy = AckPolicy::kPrompt;
  ErrorCode error = ErrorCode::kCancelled;
  IntervalSet acked;  // of [0, max(length, 1)): an empty message counts as one byte

  uint32_t length() const { return static_cast<uint32_t>(payload.length); }
};
using OutPool = Pool<OutMessage, 16>;  // most endpoints have few at a time

// Bytes of one message that may be sent now, all or in part.
struct Piece {
  uint32_t message = kNoIndex;
  uint16_t channel = 0;
  Sequence sequence;
  uint32_t message_bytes = 0;
  uint32_t offset = 0;
  uint32_t length = 0;
  bool retransmission = false;
  bool claimable = false;  // by the payload strategy (PayloadStrategy::claims())
  uint8_t slot = kNoSlot;  // where claimable
  AckPolicy ack_policy = AckPolicy::kPrompt;
  OriginalWrite original;  // of a retransmitted chunk
  Payload payload;         // of the whole message
};

struct PostedSend {
  Payload payload;
  OperationId operation = 0;
  AckPolicy ack_policy = AckPolicy::kPrompt;
  Nanos at = {};
};

// Where a granted receive lies, for the peer's NIC, and which message it is for.
struct RemotePlace {
  MemoryToken token;
  uint64_t offset = 0;
  Sequence sequence;
  uint16_t channel = 0;
};

// What the peer said it takes.
struct PeerLimits {
  uint32_t max_channels = 0;
  uint32_t max_posted = 0;
  uint32_t eager_block_bytes = 0;
  uint16_t eager_blocks = 0;
  // Lengths of the messages that the payload strategy may claim; to 0: none.
  uint32_t claimable_from = 1;
  uint32_t claimable_to = 0;
};

class Outgoing {
 public:
  Outgoing(OutPool& pool, RetransmissionPool& retransmissions, Ring<Completion>& completions,
           ConnectionId connection)
      : pool_(pool),
        completions_(completions),
        connection_(connection),
        retransmissions_(retransmissions) {}

  // Messages posted before on channels that the peer does not have end with kInvalid.
  void set_limits(const PeerLimits& limits);

  // Errors: kInvalid (channel, size), kExhausted.
  Result<void> post(ChannelId channel, const PostedSend& send, uint32_t bound);
  // A frame to send to the peer is left in `record`, where there is one. False: no such operation.
  bool cancel(ChannelId channel, OperationId operation, ControlRecord& record);

  // --- what to send ---
  bool has_work() const;
  // The next piece, without taking it; false: nothing may be sent now.
  bool peek(Piece& piece);
  // The payload strategy does not send what is left of the peeked piece's message.
  void take_by_datagrams(Piece& piece);
  // `bytes` of the peeked piece, from its offset, were sent.
  void take(const Piece& piece, uint32_t bytes);

  // What may be sent now, in bytes and as datagrams of at most `step` payload bytes; of the next
  // some dozens of messages.
  struct Backlog {
    uint64_t bytes = 0;
    uint64_t datagrams = 0;
  };
  Backlog backlog(uint32_t step) const;

  // --- what the peer said ---
  // A packet begins. A peer repeats no grant twice in one, so what it may grant again is bounded.
  void begin_packet() { regrants_left_ = posted_ + limits_.max_posted; }
  // False: the peer broke a rule (a grant too far ahead, a channel out of range).
  bool on_grant(const GrantFrame& grant);
  bool on_placed_grant(const PlacedGrantFrame& grant);
  bool on_cancel_receive(const CancelFrame& cancel);
  // The peer has all of a message that was to be withdrawn.
  bool on_delivered(const CancelFrame& delivered);
  // Bytes [start, end) of the record's message arrived, or did not.
  void on_acked(const DataRecord& record, uint32_t start, uint32_t end);
  // `sent_as`: names the transmission that was declared lost among those of the same bytes.
  void on_lost(const DataRecord& record, uint32_t start, uint32_t end, uint64_t sent_as);
  // Of these bytes, which were declared lost as transmission `sent_as`, the number that has been
  // retransmitted.
  uint32_t retransmitted(const DataRecord& record, uint32_t start, uint32_t end, uint64_t sent_as);
  const RemotePlace& remote_place(uint8_t slot) const { return places_[slot]; }
  // A message too long for its receive, or withdrawn before its receive was posted, was found; the
  // frame for the peer is left in `record`.
  bool poll_truncated(ControlRecord& record);
  // Whether a message ended since the last call while a NIC may still read its payload.
  bool take_abandoned_writes() { return std::exchange(abandoned_writes_, false); }

  // Everything that is still posted ends in order with `error`.
  void fail_all(ErrorCode error);

  uint32_t posted() const { return posted_; }
  uint64_t acked_bytes() const { return acked_bytes_; }
  uint64_t completed() const { return completed_; }
  size_t bytes_held() const;

 private:
  // What is known of the receive with a sequence number.
  struct Grant {
    enum class State : uint8_t { kUnknown, kGranted, kCancelled } state = State::kUnknown;
    uint8_t slot = kNoSlot;
    uint32_t capacity = 0;
  };
  // A message that ended before the peer was known to have posted its receive. Until then it
  // occupies an eager block of the peer if it was sent ahead; otherwise it is announced when the
  // receive is posted, since the peer keeps no state of messages beyond its receives.
  struct OverEarly {
    Sequence sequence;
    bool sent_ahead = false;
  };
  struct Channel {
    Sequence head = kFirstSequence;  // of the oldest message that is not over; indexes count on
    uint32_t next = 0;               // index of the message that is sent next
    // Index behind the newest receive known to have been posted; below zero where head passed that.
    int32_t known_to = 0;
    bool ready = false;       // in ready_
    Ring<uint32_t> messages;  // pool slots, from head on
    Ring<Grant> grants;       // from head on
    std::vector<OverEarly> over_early;

    int64_t index_of(Sequence own) const { return head.known_steps_to(own); }
    // Receives that are known of, beyond the messages posted.
    size_t unmet() const { return grants.size() - std::min(grants.size(), messages.size()); }
  };

  Channel* channel_for(ChannelId channel);
  OutMessage* find(ChannelId channel, Sequence sequence, uint32_t slot);
  bool peek_retransmission(Piece& piece);
  bool peek_new(Piece& piece);
  bool sendable(OutMessage& message);
  bool make_known(Channel& channel, uint64_t index);
  void note_posted_there(ChannelId id, Channel& channel, int64_t index);
  static void keep_over_early(Channel& channel, const OverEarly& over);
  bool grant_one(Channel& channel, uint32_t index, const Grant& grant);
  void withdraw_slot(uint8_t slot);
  void settle_grants(ChannelId id, Channel& channel, uint32_t ahead);
  void apply_grant(uint32_t slot, const Grant& grant);
  void mark_ready(ChannelId id, Channel& channel);
  void give_up(OutMessage& message, ErrorCode error);
  void complete_front(Channel& channel);
  void end_credit(Channel& channel, const OutMessage& message);

  OutPool& pool_;
  Ring<Completion>& completions_;
  ConnectionId connection_;
  PeerLimits limits_;
  std::vector<Channel> channels_;
  Ring<ChannelId> ready_;
  Retransmissions retransmissions_;
  Ring<ControlRecord> truncated_;
  std::vector<RemotePlace> places_;  // by slot; empty where nothing is written remotely
  uint32_t posted_ = 0;
  uint32_t unmet_receives_ = 0;          // known of, beyond the messages posted, over all channels
  uint32_t regrants_left_ = UINT32_MAX;  // receives known already that the packet may still grant
  uint32_t ahead_ = 0;                   // eager blocks of the peer in use
  uint64_t acked_bytes_ = 0;
  uint64_t completed_ = 0;
  bool abandoned_writes_ = false;
};

}  // namespace heddle::transport
