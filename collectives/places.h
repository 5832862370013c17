// Places: where the processes of a group are, found through a store that they share. What a
// process once learned of its own address is used again, so that only the first group that spans
// hosts takes a rendezvous.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/driven_endpoint.h"
#include "collectives/key_store.h"
#include "collectives/members.h"

namespace heddle::collectives {

// Called by all `size` processes of a group, with a store that no other group uses. Errors:
// kTimeout (names the missing ranks), kVersion, those of the store and of meet().
Result<Members> find_members(DrivenEndpoint& endpoint, const KeyStore& store, uint32_t rank,
                             uint32_t size, const KeyWait& wait);

}  // namespace heddle::collectives
