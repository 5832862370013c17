// See failure_looks.h.
#include "engine/failure_looks.h"

#include <algorithm>
#include <utility>

namespace heddle::engine {
namespace {

// Chosen: routing protocols settle, and `heddle plan` answers, within it. Range: 2 to 60 s.
constexpr Nanos kSettles = seconds(5);
// Where paths fail again within kRecent of that, it grows to at most this. Range: 2 to 10; 30 to
// 600 s.
constexpr int64_t kGrows = 4;
constexpr Nanos kRecent = seconds(60);

}  // namespace

bool FailureLooks::begin(Nanos now, uint64_t failures) {
  if (settling(now) || std::exchange(seen_, failures) == failures) return false;
  const bool again = settled_at_ > Nanos{} && now - settled_at_ < kRecent;
  settles_ = again ? std::min(kGrows * settles_, kRecent) : kSettles;
  settled_at_ = now + settles_;
  return true;
}

}  // namespace heddle::engine
