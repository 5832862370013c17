// StrangerBudget: see stranger_budget.h. Every queue of a connection that a peer can make grow is
// named here with its bound. apps/cli/service/stranger_memory_test.cc measures a whole listener.
#include "transport/stranger_budget.h"

#include <algorithm>

#include "transport/connection/connection.h"
#include "transport/connection/params.h"
#include "transport/connection/shared.h"
#include "transport/security/replay_memory.h"

namespace heddle::transport {
namespace {

using namespace params::stranger;

// The least power of two that is no less: rings grow by doubling. Old and new exist at once for a
// moment, on one connection at a time: that is in `shared`.
uint64_t doubled(uint64_t count) {
  uint64_t power = 1;
  while (power < count) power *= 2;
  return power;
}

uint64_t connection_bytes(const EndpointOptions& o, uint32_t max_posted) {
  constexpr uint64_t kGrant = 8;
  constexpr uint64_t kLeastFrame = 8;  // that asks for an answer
  const uint64_t paths = o.max_paths;
  // Grants of the peer that our messages have not met: as many as it has announced that it posts,
  // over all channels, so each ring is at most twice what it holds.
  const uint64_t grants = 2 * kGrant * (uint64_t{max_posted} + o.max_channels);
  const uint64_t answers = ControlQueue::kMostAnswers + o.max_datagram_bytes / kLeastFrame;
  const uint64_t frames = sizeof(ControlRecord) * doubled(answers);
  return sizeof(Connection) + kBookkeeping + paths * (kPath + sizeof(OlderRanges)) +
         o.max_channels * kChannel + grants + frames + o.eager_blocks * 2 * sizeof(InMessage);
}

}  // namespace

size_t replay_limit(const EndpointOptions& options) {
  const uint32_t engines = options.engine.count;
  return size_t{options.keys.empty() ? 1u : 4u} *
         ((options.max_connections + engines - 1) / engines);
}

StrangerBudget stranger_budget(const EndpointOptions& o) {
  const uint64_t eager_blocks = o.eager_region == kNoRegion || o.eager_block_bytes == 0
                                    ? 0
                                    : o.eager_bytes.count / o.eager_block_bytes;
  // Early messages wait in blocks; the gaps in what arrived of each are bounded as well.
  const uint64_t gaps = 2 * sizeof(uint64_t) * 2 *
                        std::min<uint64_t>(InMessage::kMostIntervals, o.eager_block_bytes / 2);
  const uint64_t engine = kQueues + 2 * replay_limit(o) * ReplayMemory::kNodeBytes +
                          eager_blocks * (o.eager_block_bytes + gaps) +
                          uint64_t{o.max_sent_runs} * sizeof(SentBurst);
  return {.shared = engine * o.engine.count, .each = connection_bytes(o, o.max_posted)};
}

uint32_t stranger_charge(const EndpointOptions& options, uint32_t max_posted) {
  return static_cast<uint32_t>(connection_bytes(options, std::min(max_posted, kMostPosted)));
}

bool admits_stranger(const EndpointOptions& options, bool keyed, uint64_t charged,
                     uint32_t charge) {
  if (keyed || options.stranger_bytes.count == 0) return true;
  return stranger_budget(options).shared + charged + charge <= options.stranger_bytes.count;
}

}  // namespace heddle::transport
