// RdmaStream: RC queue pairs between two hosts, one in each direction, without heddle's protocol:
// what the NICs' own transport reaches, by the tests that qperf calls rc_bw and rc_lat. Each end
// describes itself by a line, which the caller brings to the other end. Linux only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "datapath/rdma_devices.h"

namespace heddle::datapath {

// The RDMA port that has this address, by which a stream can be opened. Errors: kUnavailable, with
// the reasons of all ports; kInvalid.
Result<RdmaChoice> rdma_port_of(const std::string& address);

// Bytes that arrived, and from the first to the last of their messages.
struct RdmaArrived {
  uint64_t bytes = 0;
  Nanos first;
  Nanos last;
  uint64_t changed = 0;  // bytes of the last messages that differ from what was sent
};

class RdmaStream {
 public:
  // On the RDMA port of this local address; `traffic_class` is that of its packets, the DSCP in its
  // upper six bits. Errors: those of rdma_port_of(); kPermission, kExhausted (locked memory),
  // kSystem.
  static Result<std::unique_ptr<RdmaStream>> open(const std::string& address,
                                                  uint8_t traffic_class);
  virtual ~RdmaStream() = default;

  // At most 120 letters.
  virtual std::string own_end() const = 0;
  // Errors: kInvalid for a line of another version, kSystem.
  virtual Result<void> connect(const std::string& peer_end) = 0;

  // Sends messages of 64 KiB until `end`, and returns once all have arrived. Errors: kSystem where
  // the NIC reports one.
  virtual Result<void> send_until(Nanos end) = 0;
  // Short messages that the other end's serve() answers, one at a time; the round trips. Errors:
  // likewise, and kTimeout where no answer comes.
  virtual Result<std::vector<Nanos>> ping_until(Nanos end, size_t most) = 0;

  // The other end of both: takes what has come. False: there was nothing. Errors: likewise.
  virtual Result<bool> serve() = 0;
  // Waits for something to serve, for input at the descriptor, or for `end`.
  virtual void wait(int descriptor, Nanos end) = 0;
  // What arrived since the last call. The sender has to wait meanwhile: payload is compared.
  virtual RdmaArrived take_arrived() = 0;
};

}  // namespace heddle::datapath
