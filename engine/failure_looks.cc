// See failure_looks.h.
#include "engine/failure_looks.h"

#include <algorithm>
#include <utility>

#include "engine/params.h"

namespace heddle::engine {

using namespace params::failure_looks;

bool FailureLooks::begin(Nanos now, uint64_t failures) {
  if (settling(now) || std::exchange(seen_, failures) == failures) return false;
  const bool again = settled_at_ > Nanos{} && now - settled_at_ < kRecent;
  settles_ = again ? std::min(kGrows * settles_, kRecent) : kSettles;
  settled_at_ = now + settles_;
  return true;
}

}  // namespace heddle::engine
