// InMessage: a message that this side receives, posted or early, and what arrives for it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pool.h"
#include "base/result.h"
#include "transport/endpoint.h"
#include "transport/messages/params.h"
#include "transport/recovery/interval_set.h"
#include "transport/rx_run.h"
#include "transport/wire/immediate.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

// Of a message whose chunks arrive before its last one.
inline constexpr uint32_t kUnknownBytes = UINT32_MAX;

struct InMessage {
  // Of what has arrived; what would need more is not acknowledged.
  static constexpr size_t kMostIntervals = params::messages::kMostIntervals;
  // Those for which a message that is over leaves memory.
  static constexpr size_t kIntervalsKept = params::messages::kIntervalsKept;
  bool has_room(uint64_t from, uint64_t to) const {
    return received.size() < kMostIntervals || received.touches(from, to);
  }
  bool complete() const { return started && received.covered() == message_bytes; }

  Payload buffer;  // where posted
  OperationId operation = 0;
  Nanos posted_at;
  uint32_t message_bytes = 0;       // known once started
  uint32_t eager_block = kNoIndex;  // where its bytes wait
  Fill fill = Fill::kAtOnce;
  bool posted = false;
  bool started = false;
  bool failed = false;
  ErrorCode error = ErrorCode::kCancelled;
  bool unannounced = false;  // withdrawn, which the peer does not know: it may still begin writes
  uint8_t slot = kNoSlot;    // where peers may write it remotely
  IntervalSet received;
  // Writes that the peer declared lost, and the round of fences of all paths (0: none): the message
  // ends once all are fenced.
  std::vector<OriginalWrite> writes;
  uint64_t fence_round = 0;
  bool every_write = false;  // may still land, and no round is requested yet
};
using InPool = Pool<InMessage, 16>;  // most endpoints have few at a time

// A burst of data segments that arrived, with what is needed to place it.
struct DataBurst {
  DataHeader header;  // of the first segment
  uint32_t segments = 0;
  uint32_t step = 0;  // payload of each segment but the last
  uint32_t last = 0;
  const RxRun* run = nullptr;
  uint32_t first = 0;                        // index of its first segment in the run
  uint32_t header_bytes = kDataHeaderBytes;  // before each segment's payload
  OriginalWrite original;  // of a retransmitted chunk: the write that was declared lost

  uint64_t bytes() const { return uint64_t{segments - 1} * step + last; }
};

}  // namespace heddle::transport
