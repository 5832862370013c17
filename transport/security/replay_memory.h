// ReplayMemory: which handshakes were accepted lately, so that a recorded one makes no second
// connection. It needs to remember them only as long as their cookies are good; and it remembers no
// more than a bound, beyond which nothing is accepted until it forgets.
#pragma once

#include <cstddef>
#include <set>

#include "base/nanos.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

class ReplayMemory {
 public:
  // Everything is remembered for `kept` at least; at most `limit` of one such time.
  ReplayMemory(Nanos kept, size_t limit) : kept_(kept), limit_(limit) {}

  bool knows(const KeyNonce& nonce) const {
    return recent_.contains(nonce) || older_.contains(nonce);
  }
  // False: there is no room.
  bool remember(Nanos now, const KeyNonce& nonce) {
    advance(now);
    if (recent_.size() >= limit_) return false;
    recent_.insert(nonce);
    return true;
  }
  size_t bytes_held() const { return (recent_.size() + older_.size()) * kNodeBytes; }

 private:
  static constexpr size_t kNodeBytes = 64;  // as the allocator counts

  void advance(Nanos now) {
    if (now - began_ < kept_) return;
    older_ = now - began_ < 2 * kept_ ? std::move(recent_) : std::set<KeyNonce>();
    recent_.clear();
    began_ = now;
  }

  Nanos kept_;
  size_t limit_;
  Nanos began_;
  std::set<KeyNonce> recent_;
  std::set<KeyNonce> older_;
};

}  // namespace heddle::transport
