// What a thread sleeps on that waits for one of torch's futures, whose wait() no backend can
// replace: DistributedDataParallel waits so.
#pragma once

#include "collectives/pending_call.h"

namespace heddle::pytorch {

const collectives::AwaitedObject& awaited_future();

}  // namespace heddle::pytorch
