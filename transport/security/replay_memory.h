// ReplayMemory: which handshakes were accepted lately, so that a recorded, delayed or duplicated
// one makes no second connection. It needs to remember them only as long as their cookies are good.
// It remembers at most twice `limit`.
#pragma once

#include <cstddef>
#include <set>
#include <utility>

#include "base/nanos.h"
#include "transport/connection/params.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

class ReplayMemory {
 public:
  static constexpr size_t kNodeBytes =
      params::stranger::kReplayBytes;  // of one handshake, as the allocator counts

  // Each handshake is remembered for `kept` at least, as long as at most `limit` arrive in that
  // time.
  ReplayMemory(Nanos kept, size_t limit) : kept_(kept), limit_(limit) {}

  bool knows(const KeyNonce& nonce) const {
    return recent_.contains(nonce) || older_.contains(nonce);
  }
  // Never forgets early: false if there is no room.
  bool remember(Nanos now, const KeyNonce& nonce) {
    advance(now);
    if (recent_.size() >= limit_) return false;
    recent_.insert(nonce);
    return true;
  }
  // Forgets the oldest handshakes early if there is no room.
  void remember_latest(Nanos now, const KeyNonce& nonce) {
    if (remember(now, nonce)) return;
    older_ = std::move(recent_);
    recent_.clear();
    recent_.insert(nonce);
  }
  size_t bytes_held() const { return (recent_.size() + older_.size()) * kNodeBytes; }

 private:
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
