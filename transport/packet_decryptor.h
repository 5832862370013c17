// PacketDecryptor: between a datapath that lends frames and an endpoint with cluster keys. It
// decrypts and authenticates the segments of a run in their frame, and passes the genuine ones on
// as runs. The driver of a keyed endpoint uses it instead of Endpoint::handle_run.
#pragma once

#include <cstdint>
#include <span>

#include "base/nanos.h"
#include "transport/endpoint.h"

namespace heddle::transport {

class PacketDecryptor {
 public:
  // The endpoint must outlive it.
  explicit PacketDecryptor(Endpoint& endpoint) : endpoint_(endpoint) {}

  // The frame of `run` is written to. The run must not be kPlaced where payload is encrypted: what
  // arrives is no payload yet. Where only headers are protected it may be: bytes in a predicted
  // place that are not genuine mean nothing, and genuine ones overwrite them before they are read.
  void pass(Nanos now, const RxRun& run);

 private:
  bool open(Nanos now, const RxRun& run, uint32_t index);
  uint32_t pass_burst(Nanos now, const RxRun& run, uint32_t first);

  Endpoint& endpoint_;
};

}  // namespace heddle::transport
