// What the Python module calls: a face without heddle's own headers, since torch's define some of
// the same names.
#pragma once

#include <string>

#include "plugins/torch/c10d.h"

namespace heddle::pytorch {

// As ProcessGroupHeddle::create().
c10::intrusive_ptr<BackendBase> create_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                             int size, double timeout_seconds);
// All process groups say goodbye to the other ranks, and are of no use any more.
void leave_all_groups();
std::string heddle_version();

}  // namespace heddle::pytorch
