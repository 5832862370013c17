// Growth: processes that join a running job, by keys of a store that its ranks share. A newcomer
// takes a number and waits. When the ranks call grow(), rank 0 counts the newcomers that still wait
// (one that has ended meanwhile costs a second and keeps no other out), all find where they are
// (places.h), the ranks agree on who is in the next communicator as after a failure (membership/),
// and each of them writes the result for the newcomers. So it makes no difference which rank dies
// meanwhile: either all that are left take the newcomers in, or none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/driven_endpoint.h"
#include "collectives/key_store.h"
#include "collectives/members.h"
#include "collectives/params.h"
#include "collectives/shared_communicator.h"

namespace heddle::collectives {

struct GrowOptions {
  // If one of the ranks and newcomers has not written where it is within this, no newcomer is taken
  // in. The same on all of them.
  Nanos find_within = params::kFindNewcomersWithin;
};

// All ranks call it, in the same order as their calls, when none is running. Nothing: no newcomer
// waits, and `communicator` works on; it takes as long as a broadcast (a second more where a
// newcomer has ended), and waits for no rank that is late. Otherwise, once all ranks have come, the
// communicator with the newcomers behind the ranks that are left; `communicator` is of no more use.
// If newcomers were not found, it has none. Errors: those of calls, after which shrink() makes one
// of the ranks that are left; and those of shrink(), after which this rank cannot go on
// (kUnavailable, kPeerDead, kTimeout).
Result<std::optional<SharedCommunicator::Shrunk>> grow(SharedCommunicator& communicator,
                                                       DrivenEndpoint& endpoint,
                                                       const KeyStore& store,
                                                       const GrowOptions& options = {});

struct JoinOptions {
  Nanos timeout = Nanos::never();  // until the ranks have taken this process in
  Nanos find_within = params::kFindNewcomersWithin;
  std::function<bool()> stopped;  // looked at ten times a second: true ends it; may be empty
};

// Of a newcomer: its communicator's members, once the ranks of the job have called grow(). Errors:
// kTimeout, kCancelled, those of the store.
Result<Members> join(DrivenEndpoint& endpoint, const KeyStore& store,
                     const JoinOptions& options = {});

}  // namespace heddle::collectives
