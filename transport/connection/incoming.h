// Incoming: the messages that this side of a connection receives. It announces posted receives,
// decides where arriving payload goes (a posted buffer, or a bounded eager block when the receive
// is not posted yet), recognises repeated bytes, and completes receives in posted order. It knows
// nothing of paths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/pool.h"
#include "base/result.h"
#include "base/ring.h"
#include "events/events.h"
#include "transport/connection/early_messages.h"
#include "transport/connection/fences.h"
#include "transport/connection/outgoing.h"
#include "transport/endpoint.h"
#include "transport/recovery/interval_set.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

// Of a message whose chunks arrive before its last one.
inline constexpr uint32_t kUnknownBytes = UINT32_MAX;

struct InMessage {
  // What has arrived is kept as at most so many intervals: as a window of 64 MiB in bursts has,
  // four times. What would need more is not acknowledged.
  static constexpr size_t kMostIntervals = 4096;
  // A message that is over leaves room for at most so many to the next in its place.
  static constexpr size_t kIntervalsKept = 256;
  bool has_room(uint64_t from, uint64_t to) const {
    return received.size() < kMostIntervals || received.touches(from, to);
  }

  Payload buffer;  // where posted
  OperationId operation = 0;
  uint32_t message_bytes = 0;       // known once started
  uint32_t eager_block = kNoIndex;  // where its bytes wait
  Fill fill = Fill::kAtOnce;
  bool posted = false;
  bool started = false;
  bool failed = false;
  ErrorCode error = ErrorCode::kCancelled;
  bool untold = false;     // withdrawn, and the peer may still begin writes to it
  uint8_t slot = kNoSlot;  // where peers may write it remotely
  IntervalSet received;
  std::vector<OriginalWrite> writes;  // given up by the peer: it is not over before each is fenced
};
using InPool = Pool<InMessage, 16>;  // most endpoints have few at a time

// Blocks of an endpoint's eager region, lent to messages that came before their receive.
class EagerBlocks {
 public:
  EagerBlocks(RegionId region, Bytes size, uint32_t block_bytes);
  uint32_t lend();  // kNoIndex: none left
  void give_back(uint32_t block) { free_.push_back(block); }
  Payload place(uint32_t block) const {
    return {region_, uint64_t{block} * block_bytes_, block_bytes_};
  }
  uint32_t block_bytes() const { return block_bytes_; }
  uint32_t left() const { return static_cast<uint32_t>(free_.size()) + untouched(); }

 private:
  uint32_t untouched() const { return total_ - used_; }

  RegionId region_;
  uint32_t block_bytes_;
  uint32_t total_;
  uint32_t used_ = 0;  // blocks up to here have been lent before
  std::vector<uint32_t> free_;
};

// A row of data segments that arrived, with what is needed to place it.
struct DataRow {
  DataHeader header;  // of the first segment
  uint32_t segments = 0;
  uint32_t step = 0;  // payload of each segment but the last
  uint32_t last = 0;
  const RxRun* run = nullptr;
  uint32_t first = 0;                        // index of the row's first segment in the run
  uint32_t header_bytes = kDataHeaderBytes;  // before each segment's payload
  OriginalWrite original;                    // a repeat of a chunk: the write that was given up
};

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
};

// What became of a row.
struct RowVerdict {
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

// Regions that peers may write. Their names are the datapath's and need not be dense.
using TokenTable = std::map<RegionId, MemoryToken>;

class Incoming {
 public:
  Incoming(InPool& pool, EagerBlocks& eager, Ring<Completion>& completions,
           std::vector<Placement>& placements, ConnectionId connection, const OwnLimits& limits)
      : pool_(pool),
        eager_(eager),
        completions_(completions),
        placements_(placements),
        connection_(connection),
        limits_(limits),
        peer_posts_(limits.max_posted),
        early_(limits.eager_blocks) {}

  // The peer posts so many messages at most beyond the receives that it knows of.
  void open(uint32_t peer_posts) { peer_posts_ = peer_posts; }
  // Receives into regions with a token may be written remotely from now on.
  void open_placed(const TokenTable& tokens, Fences& fences);
  ~Incoming();
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  // Errors: kInvalid, kExhausted. What the peer must be told is appended to `frames`.
  Result<void> post(ChannelId channel, const PostedReceive& receive, Ring<ControlRecord>& frames);
  // False: no such operation, or too late.
  bool cancel(ChannelId channel, OperationId operation, Ring<ControlRecord>& frames);
  // See Endpoint::fill_at_once().
  void fill_at_once(ChannelId channel, OperationId operation);

  RowVerdict accept(const DataRow& row);
  // A chunk landed. The drop reason, if it was for nobody.
  std::optional<events::DropReason> accept_chunk(const ArrivedChunk& chunk);
  // What a grant says of a receive that may be written remotely; false: it is over, or may not be.
  bool describe(ChannelId channel, Sequence sequence, PlacedGrantFrame& grant) const;
  // Completes what waited for a fence only.
  void resume();
  // Asks for a fence of every path that a finished message waits for; false: none waits.
  bool request_fences(bool only_look);
  bool may_be_written() const { return slots_used_ > 0; }
  // Whether some message, finished or not, may be waiting for a fence.
  bool awaits_fences() const { return awaits_fences_; }
  // False: the peer broke a rule.
  // The answer for the peer is appended to `frames`.
  bool on_cancel_send(const CancelFrame& cancel, Ring<ControlRecord>& frames);
  // The peer knows that this receive was withdrawn.
  void forget_withdrawn(ChannelId channel, Sequence sequence);

  // Whether the message that the channel's next receive will meet was heard of.
  bool heard_of_next(ChannelId channel) const;
  // So many messages came ahead of their receives that the peer may wait for grants.
  bool crowded() const { return early_.crowded(); }

  // The buffer and offset at which the next bytes of a message under way would land.
  bool predict(ChannelId& channel, Sequence& sequence, uint32_t& offset, Payload& place) const;

  void fail_all(ErrorCode error);

  uint32_t posted() const { return posted_; }
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t completed() const { return completed_; }
  size_t bytes_held() const;

 private:
  struct Channel {
    Sequence head = kFirstSequence;  // of the oldest receive that is not over; indexes count on
    // Index behind the newest message that anything was heard of; below zero where head passed it.
    int32_t heard_to = 0;
    Ring<uint32_t> messages;  // pool slots of posted receives, from head on

    int64_t posted_to() const { return static_cast<int64_t>(messages.size()); }
    // Of the next receive to be posted.
    Sequence next_post() const { return head + static_cast<uint32_t>(messages.size()); }
    Sequence at(int64_t index) const { return head.moved_by(static_cast<int32_t>(index)); }
    // Posted receives of whose messages nothing was heard, and messages heard of beyond those.
    uint64_t unheard() const {
      return static_cast<uint64_t>(std::max<int64_t>(posted_to() - heard_to, 0));
    }
    bool heard_of_next() const { return heard_to > posted_to(); }
  };

  struct Slot {
    ChannelId channel = 0;
    Sequence sequence;
    bool used = false;
  };

  void take_slot(ChannelId id, Sequence sequence, InMessage& message);
  void release_slot(InMessage& message);
  void await_write(InMessage& message, const OriginalWrite& write);
  void await_every_write(InMessage& message);
  bool over(const InMessage& message) const;
  bool fenced(const InMessage& message) const;
  Channel* channel_for(ChannelId channel);
  void note_heard(Channel& channel, int64_t index);
  uint32_t find(ChannelId id, const Channel& channel, int64_t index) const;
  uint32_t add_early(ChannelId channel, Sequence sequence);
  std::optional<int64_t> index_of(const Channel& channel, Sequence sequence) const;
  void withdraw(ChannelId channel, Sequence sequence, Ring<ControlRecord>& frames);
  bool was_withdrawn(ChannelId channel, Sequence sequence) const;
  RowVerdict check(const DataRow& row, Channel*& channel, int64_t& index);
  RowVerdict judge_eager(uint32_t bytes) const;
  void start(InMessage& message, uint32_t bytes);
  Payload target(const InMessage& message) const;
  void place_row(InMessage& message, const DataRow& row, uint64_t fresh);
  Placement placement_of(const InMessage& message, const DataRow& row, uint32_t first,
                         uint32_t count) const;
  void place(const Placement& placement);
  void move_from_eager(InMessage& message);
  void release_eager(InMessage& message);
  void complete_front(Channel& channel);
  void release(uint32_t slot);

  InPool& pool_;
  EagerBlocks& eager_;
  Ring<Completion>& completions_;
  std::vector<Placement>& placements_;
  ConnectionId connection_;
  OwnLimits limits_;
  std::vector<Channel> channels_;
  const TokenTable* tokens_ = nullptr;  // null: nothing is written remotely
  Fences* fences_ = nullptr;
  std::vector<Slot> slots_;
  uint32_t slots_used_ = 0;
  bool awaits_fences_ = false;
  uint32_t peer_posts_;
  EarlyMessages early_;
  uint32_t posted_ = 0;
  uint32_t unheard_ = 0;  // receives posted or withdrawn beyond the messages that were heard of
  // Receives withdrawn without the peer's knowing yet: what comes for them is not acknowledged, or
  // the peer would take it for delivered.
  std::vector<std::pair<ChannelId, Sequence>> unknown_withdrawals_;
  uint64_t received_bytes_ = 0;
  uint64_t completed_ = 0;
  // The message that got payload last, for predict().
  ChannelId latest_channel_ = 0;
  Sequence latest_sequence_ = kFirstSequence;
};

}  // namespace heddle::transport
