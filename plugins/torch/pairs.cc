// Pairs: see pairs.h.
#include "plugins/torch/pairs.h"

#include <algorithm>

namespace heddle::pytorch {
namespace {

// A number that both ranks compute, and no other pair or tag of this or another group.
uint64_t number_of(uint64_t group, uint64_t low, uint64_t high, int64_t tag) {
  uint64_t mixed = group;
  for (const uint64_t part : {low + 1, high + 1, static_cast<uint64_t>(tag) + 0x51ed27}) {
    mixed = (mixed ^ part * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

}  // namespace

Result<std::shared_ptr<collectives::SharedCommunicator>> Pairs::with(uint32_t peer, int64_t tag) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) {
    return fail(ErrorCode::kClosed, "cannot send or receive",
                "the process group belongs to the parent of this process",
                "make a new process group after fork()");
  }
  auto& made = made_[{peer, tag}];
  if (made) return made;
  const uint32_t low = std::min(peer, group_.rank);
  const uint32_t high = std::max(peer, group_.rank);
  collectives::Members members = {.communicator = number_of(group_.communicator, low, high, tag)};
  members.rank = group_.rank == low ? 0 : 1;
  members.addresses.push_back(group_.addresses[low]);
  if (high != low) members.addresses.push_back(group_.addresses[high]);
  auto created = collectives::SharedCommunicator::create(thread_, members, options_);
  if (!created) return fail(created.error());
  made = std::move(*created);
  return made;
}

void Pairs::abort() {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return;
  for (const auto& [key, made] : made_) {
    if (made) made->abort();
  }
}

}  // namespace heddle::pytorch
