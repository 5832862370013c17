// Torch's store as a store of keys.
#pragma once

#include "collectives/key_store.h"
#include "plugins/torch/c10d.h"

namespace heddle::pytorch {

// What the store throws becomes kSystem.
collectives::KeyStore key_store(const c10::intrusive_ptr<c10d::Store>& store);

}  // namespace heddle::pytorch
