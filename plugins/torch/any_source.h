// AnySource: receives from any rank of a group. Each message between two ranks follows an
// announcement, which has its size and may be received without knowing it. A receive from any rank
// asks all ranks for their next announcement; the first that comes decides which message it takes.
// Those of other ranks are kept for the next receives with this tag, whatever their sizes. Messages
// of one rank keep their order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "base/result.h"
#include "collectives/call.h"
#include "plugins/torch/pairs.h"

namespace heddle::pytorch {

// The announcement of a message of `bytes` bytes, sent or received before it.
collectives::Call announcement_call(bool sends, uint32_t peer, void* bytes);

class AnySource : public std::enable_shared_from_this<AnySource> {
 public:
  // What one receive with this tag wants.
  struct Request {
    int64_t tag = 0;
    std::optional<uint32_t> source;  // nothing: any
    uint64_t bytes = 0;
    // Posts the receive of the message that follows the announcement of this rank.
    std::function<void(uint32_t source, Pairs& pairs)> begin;
    std::function<void(const Error& error)> refuse;  // no message will come
  };

  // The pairs are the group's, which may leave before this ends.
  AnySource(std::weak_ptr<Pairs> pairs, uint32_t rank, uint32_t size)
      : pairs_(std::move(pairs)), rank_(rank), size_(size) {}

  // Calls `post`, which posts receives of an announcement and a message of this rank, unless the
  // next announcement of the rank is or will be received here: then false.
  bool post_directly(uint32_t source, int64_t tag, const std::function<void()>& post);
  // Begins or refuses the request, now or later. Its number.
  uint64_t receive(Request request);
  // The request is forgotten. False: it has begun, or was refused.
  bool cancel(int64_t tag, uint64_t number);

 private:
  enum class State : uint8_t { kIdle, kAsked, kAnnounced, kLost };
  struct Peer {
    State state = State::kIdle;
    uint64_t bytes = 0;  // of the announced message
    std::string lost;    // why no message comes from it
  };
  struct Waiting {
    uint64_t number = 0;
    Request request;
  };
  struct Tag {
    std::map<uint32_t, Peer> peers;
    std::deque<uint32_t> announced;  // in the order of their announcements
    std::deque<Waiting> waiting;
  };
  // Requests that have ended: they hold tensors, which must not be destroyed under the mutex.
  using Ended = std::vector<Waiting>;

  Tag& tag_of(int64_t tag);
  void advance(int64_t tag, Tag& state, Ended& ended);
  void match(Tag& state, Pairs& pairs, Ended& ended);
  void ask(int64_t tag, Tag& state, Pairs& pairs);
  void refuse_hopeless(Tag& state, Ended& ended);
  void take_announcement(int64_t tag, uint32_t source, const Result<uint64_t>& bytes);

  const std::weak_ptr<Pairs> pairs_;
  const uint32_t rank_;
  const uint32_t size_;
  OwnMutex mutex_;               // never taken by the progress thread, for which its owners wait
  std::map<int64_t, Tag> tags_;  // under mutex_
  uint64_t numbers_ = 0;         // under mutex_
};

}  // namespace heddle::pytorch
