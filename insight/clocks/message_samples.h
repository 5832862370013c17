// Samples of messages: when some of them were acknowledged at the sender and when they came at the
// receiver, each by the clock of that host. Both sides choose the same ones by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/events.h"

namespace heddle::insight {

// A message that both sides tell of.
struct MessagePair {
  uint32_t sender = 0;  // processes
  uint32_t receiver = 0;
  int64_t acknowledged_ns = 0;  // by the sender's clock
  int64_t arrived_ns = 0;       // by the receiver's
};

// Those of one process.
class MessageSamples {
 public:
  void add(const events::AnyEvent& event, size_t most_each);

 private:
  friend class MessagePairs;
  struct Sample {
    uint64_t key = 0;  // channel, sequence and which way
    int64_t at_ns = 0;
  };
  struct Connection {
    uint32_t peer_id = 0;
    bool opened = false;
    uint64_t left_out = 0;  // of numbers that have one of these bits when mixed
    std::vector<Sample> samples;
  };
  std::unordered_map<uint32_t, Connection> connections_;
};

// What both sides of connections between any of the processes have in common.
class MessagePairs {
 public:
  // `clock_of` tells which clock each process stamps with: between processes of one nothing is
  // asked.
  static std::vector<MessagePair> of(const std::vector<MessageSamples>& processes,
                                     const std::vector<uint32_t>& clock_of);
};

}  // namespace heddle::insight
