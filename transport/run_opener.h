// RunOpener: between a datapath that lends frames and an endpoint with cluster keys. It opens the
// sealed segments of a run in their frame and hands over, as runs, those that are genuine. Whoever
// drives a keyed endpoint uses it instead of Endpoint::handle_run.
#pragma once

#include <cstdint>
#include <span>

#include "base/nanos.h"
#include "transport/endpoint.h"

namespace heddle::transport {

class RunOpener {
 public:
  // The endpoint must outlive it.
  explicit RunOpener(Endpoint& endpoint) : endpoint_(endpoint) {}

  // The frame of `run` is written to. It must not be kPlaced where payload is sealed: what arrives
  // is no payload yet. Where only headers are protected it may be: what is in a predicted place
  // and is not genuine means nothing, and what is genuine is written there before anybody looks.
  void hand_over(Nanos now, const RxRun& run);

 private:
  bool open(Nanos now, const RxRun& run, uint32_t index);
  uint32_t hand_over_row(Nanos now, const RxRun& run, uint32_t first);

  Endpoint& endpoint_;
};

}  // namespace heddle::transport
