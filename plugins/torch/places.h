// Places: where the processes of a group are, found through a store that they share. What a
// process once learned of its own address is used again, so that only the first group that spans
// hosts takes a rendezvous.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/driven_endpoint.h"
#include "collectives/members.h"

namespace heddle::pytorch {

// A store of keys and texts, torch's for one.
struct KeyStore {
  std::function<void(const std::string& key, const std::string& text)> set;
  // Waits for the key; throws a std::exception after the store's own timeout.
  std::function<std::string(const std::string& key)> get;
  std::function<bool(const std::string& key)> has;
};

// Called by all `size` processes of a group, with a store that no other group uses. Errors:
// kTimeout (names the missing ranks), kVersion, those of collectives::meet().
Result<collectives::Members> find_members(collectives::DrivenEndpoint& endpoint,
                                          const KeyStore& store, uint32_t rank, uint32_t size,
                                          Nanos timeout);

}  // namespace heddle::pytorch
