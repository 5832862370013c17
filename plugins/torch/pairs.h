// Pairs: communicators of two ranks, for what must not mingle with the order of a group's calls:
// messages with a tag. heddle's messages meet in the order of their calls and have no tags, so each
// tag that two ranks use is a communicator of theirs, made when either first needs it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/own_mutex.h"
#include "collectives/shared_communicator.h"

namespace heddle::pytorch {

class Pairs {
 public:
  Pairs(std::shared_ptr<collectives::ProgressThread> thread, collectives::Members group,
        collectives::CommunicatorOptions options)
      : thread_(std::move(thread)), group_(std::move(group)), options_(std::move(options)) {
    options_.tuning.to_be_measured = false;  // messages have one algorithm
  }

  // The communicator of this rank and `peer` (which may be this one). Errors: those of
  // SharedCommunicator::create().
  Result<std::shared_ptr<collectives::SharedCommunicator>> with(uint32_t peer, int64_t tag);
  // The peer's rank there.
  uint32_t rank_of(uint32_t peer) const { return peer > group_.rank ? 1 : 0; }
  // Aborts all that there are.
  void abort();

 private:
  const std::shared_ptr<collectives::ProgressThread> thread_;
  const collectives::Members group_;
  collectives::CommunicatorOptions options_;
  OwnMutex mutex_;
  std::map<std::pair<uint32_t, int64_t>, std::shared_ptr<collectives::SharedCommunicator>> made_;
};

}  // namespace heddle::pytorch
