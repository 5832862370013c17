// Processor time: how much of a machine's processors other programs use meanwhile. A fabric that is
// emulated on a busy machine measures the machine.
#pragma once

#include "base/nanos.h"

namespace heddle::acceptance {

class ProcessorTime {
 public:
  // Counts from now on; `own_seconds` of processor time were used by children that still run.
  explicit ProcessorTime(double own_seconds = 0);

  // 0 to 1, of all processors. `own_seconds` as above, now.
  double others_share(double own_seconds = 0) const;

 private:
  Nanos start_;
  double busy_;
  double own_;
};

}  // namespace heddle::acceptance
