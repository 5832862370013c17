// Message samples: times at which a subset of the messages was acknowledged at the sender and
// arrived at the receiver, each by the clock of its host. Both sides select the same messages by
// hashing their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/events.h"

namespace heddle::insight {

// A message that both sides recorded.
struct MessagePair {
  uint32_t sender = 0;  // processes
  uint32_t receiver = 0;
  int64_t acknowledged_ns = 0;  // by the sender's clock
  int64_t arrived_ns = 0;       // by the receiver's
};

// The samples of one process.
class MessageSamples {
 public:
  void add(const events::AnyEvent& event, size_t most_each);

 private:
  friend class MessagePairs;
  struct Sample {
    uint64_t key = 0;  // channel, sequence and direction
    int64_t at_ns = 0;
  };
  struct Connection {
    uint32_t peer_id = 0;
    bool opened = false;
    uint64_t left_out = 0;  // bit mask: messages whose hash has one of these bits set are not
                            // sampled
    std::vector<Sample> samples;
  };
  std::unordered_map<uint32_t, Connection> connections_;
};

// Matches the samples of both ends of each connection between two processes.
class MessagePairs {
 public:
  // `clock_of` has the clock of each process. Processes that share a clock are not compared.
  static std::vector<MessagePair> of(const std::vector<MessageSamples>& processes,
                                     const std::vector<uint32_t>& clock_of);
};

}  // namespace heddle::insight
