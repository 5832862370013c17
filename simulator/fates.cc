// Names of fates, in declaration order.
#include "simulator/fates.h"

#include "base/check.h"

namespace heddle::simulator {

const char* name_of(Fate fate) {
  static constexpr std::array<const char*, static_cast<size_t>(Fate::kCount)> kNames = {
      "lost",
      "duplicated",
      "reordered",
      "header corrupted",
      "payload corrupted",
      "checksum",
      "cut off",
      "link down",
      "queue full",
      "marked",
      "too large",
      "no route",
      "refused",
      "unread port",
      "host down",
      "receive queue full",
      "stale write",
      "gap before a write",
      "forbidden write",
      "hop limit",
      "trimmed",
      "recalled write"};
  CHECK(fate < Fate::kCount);
  return kNames[static_cast<size_t>(fate)];
}

}  // namespace heddle::simulator
