// MembershipMailbox: received messages of the agreement on surviving ranks (membership_agreement.h)
// that wait until this rank takes part, which is when its program calls for it. The latest message
// of each kind is kept of each rank, and replaces earlier ones; so a rank can occupy a bounded
// amount of memory only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "collectives/membership/membership_agreement.h"

namespace heddle::collectives {

class MembershipMailbox {
 public:
  void put(uint32_t from, MembershipMessage message) {
    const auto key = std::pair(from, message.kind);
    waiting_.insert_or_assign(key, std::move(message));
  }
  // False: it is empty.
  bool take(uint32_t& from, MembershipMessage& message) {
    if (waiting_.empty()) return false;
    auto first = waiting_.extract(waiting_.begin());
    from = first.key().first;
    message = std::move(first.mapped());
    return true;
  }
  size_t size() const { return waiting_.size(); }

 private:
  std::map<std::pair<uint32_t, MembershipMessage::Kind>, MembershipMessage> waiting_;
};

}  // namespace heddle::collectives
