// Incoming: the messages that this side of a connection receives, in the order of their sequence
// numbers. It announces posted receives, matches arriving payload with them, recognizes bytes that
// arrived before, and completes receives in posted order. Where bytes go is PayloadPlacer's
// concern. It knows nothing of paths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "events/events.h"
#include "transport/messages/early_messages.h"
#include "transport/messages/in_message.h"
#include "transport/messages/placement.h"
#include "transport/messages/remote_receives.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/wire/control.h"

namespace heddle::transport {

// A chunk that a NIC of the peer wrote into a granted receive.
struct ArrivedChunk {
  uint8_t slot = kNoSlot;
  uint64_t offset = 0;  // in the message
  uint32_t bytes = 0;
  bool last = false;  // it ends the message
};

// A receive as it is posted.
struct PostedReceive {
  Payload buffer;
  OperationId operation = 0;
  Fill fill = Fill::kAtOnce;
  Nanos at;
};

// What became of a burst.
struct BurstVerdict {
  bool acknowledge = false;  // its packet numbers count as received
  std::optional<events::DropReason> drop;
  uint64_t fresh_bytes = 0;
  bool completes = false;  // its message, of which all bytes are here now
};

// What this side keeps to.
struct OwnLimits {
  uint32_t max_channels = 0;
  uint32_t max_posted = 0;
  uint32_t eager_blocks = 0;
};

// Of the endpoint; all its connections share them.
struct IncomingStores {
  InPool& pool;
  EagerBlocks& eager;
  Ring<Completion>& completions;
  std::vector<Placement>& placements;
};

class Incoming {
 public:
  Incoming(const IncomingStores& stores, ConnectionId connection, const OwnLimits& limits)
      : pool_(stores.pool),
        completions_(stores.completions),
        placer_(stores.eager, stores.placements),
        connection_(connection),
        limits_(limits),
        peer_posts_(limits.max_posted),
        early_(limits.eager_blocks) {}

  // `peer_posts`: messages that the peer posts at most beyond the receives that it knows of.
  void open(uint32_t peer_posts) { peer_posts_ = peer_posts; }
  // Receives into regions with a token may be written remotely from now on.
  void open_placed(const TokenTable& tokens, Fences& fences) { remote_.open(tokens, fences); }
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  // Errors: kInvalid, kExhausted. Frames for the peer are appended to `frames`.
  Result<void> post(ChannelId channel, const PostedReceive& receive, Ring<ControlRecord>& frames);
  // False: no such operation, or too late.
  bool cancel(ChannelId channel, OperationId operation, Ring<ControlRecord>& frames);
  // See Endpoint::fill_at_once().
  void fill_at_once(ChannelId channel, OperationId operation);

  BurstVerdict accept(const DataBurst& burst);
  // A chunk landed. The drop reason, if no receive takes it.
  std::optional<events::DropReason> accept_chunk(const ArrivedChunk& chunk);
  // What a grant says of a receive that may be written remotely; false: it is over, or may not be.
  bool describe(ChannelId channel, Sequence sequence, PlacedGrantFrame& grant) const;
  // Completes what waited for a fence only.
  void resume();
  // Asks for a fence of every path that a finished message waits for; false: none waits.
  bool request_fences(bool only_look);
  bool may_be_written() const { return remote_.any(); }
  // Whether some message, finished or not, may be waiting for a fence.
  bool awaits_fences() const { return awaits_fences_; }
  // False: the peer broke a rule.
  // The answer for the peer is appended to `frames`.
  bool on_cancel_send(const CancelFrame& cancel, Ring<ControlRecord>& frames);
  // The peer knows that this receive was withdrawn.
  void forget_withdrawn(ChannelId channel, Sequence sequence);

  // True if a packet of the message that the channel's next receive will match has arrived.
  bool heard_of_next(ChannelId channel) const;
  // True if the peer may wait for grants, since many messages arrived before their receives.
  bool crowded() const { return early_.crowded(); }

  // The buffer and offset at which the next bytes of a message in flight would land.
  bool predict(ChannelId& channel, Sequence& sequence, uint32_t& offset, Payload& place) const;

  void fail_all(ErrorCode error);

  uint32_t posted() const { return posted_; }
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t completed() const { return completed_; }
  size_t bytes_held() const;

 private:
  struct Channel {
    Sequence head = kFirstSequence;  // of the oldest receive that is not over; indexes count on
    // Index behind the newest message of which a packet arrived; negative once head passed it.
    int32_t heard_to = 0;
    Ring<uint32_t> messages;  // pool slots of posted receives, from head on

    int64_t posted_to() const { return static_cast<int64_t>(messages.size()); }
    // Of the next receive to be posted.
    Sequence next_post() const { return head + static_cast<uint32_t>(messages.size()); }
    Sequence at(int64_t index) const { return head.moved_by(static_cast<int32_t>(index)); }
    // Posted receives whose messages have not begun to arrive.
    uint64_t unheard() const {
      return static_cast<uint64_t>(std::max<int64_t>(posted_to() - heard_to, 0));
    }
    bool heard_of_next() const { return heard_to > posted_to(); }
  };

  static bool over(const InMessage& message);
  Channel* channel_for(ChannelId channel);
  void note_heard(Channel& channel, int64_t index);
  uint32_t find(ChannelId id, const Channel& channel, int64_t index) const;
  uint32_t add_early(ChannelId channel, Sequence sequence);
  std::optional<int64_t> index_of(const Channel& channel, Sequence sequence) const;
  void withdraw(ChannelId channel, Sequence sequence, Ring<ControlRecord>& frames);
  bool was_withdrawn(ChannelId channel, Sequence sequence) const;
  BurstVerdict check(const DataBurst& burst, Channel*& channel, int64_t& index);
  BurstVerdict judge_eager(uint32_t bytes) const;
  void start(InMessage& message, uint32_t bytes);
  void complete_front(Channel& channel);
  void release(uint32_t slot);

  InPool& pool_;
  Ring<Completion>& completions_;
  PayloadPlacer placer_;
  ConnectionId connection_;
  OwnLimits limits_;
  std::vector<Channel> channels_;
  RemoteReceives remote_;
  bool awaits_fences_ = false;
  uint32_t peer_posts_;
  EarlyMessages early_;
  uint32_t posted_ = 0;
  uint32_t unheard_ = 0;  // receives posted or withdrawn whose messages have not begun to arrive
  // Receives whose withdrawal the peer has not acknowledged: data for them is not acknowledged, or
  // the peer would count it as delivered.
  std::vector<std::pair<ChannelId, Sequence>> unknown_withdrawals_;
  uint64_t received_bytes_ = 0;
  uint64_t completed_ = 0;
  // The message that got payload last, for predict().
  ChannelId latest_channel_ = 0;
  Sequence latest_sequence_ = kFirstSequence;
};

}  // namespace heddle::transport
