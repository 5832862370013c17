// RDMA tests: what RC queue pairs of two hosts' NICs reach, by the tests and the figures that qperf
// calls rc_bw and rc_lat. Each end is a function in a process on its host; the client drives the
// server by lines: "open" makes its end, "connect END" takes the client's, and "count" asks for the
// bytes that arrived since, and in which time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::datapath {
class RdmaStream;
}
namespace heddle::lab {
class ControlLine;
}

namespace heddle::acceptance {

struct RdmaPlan {
  Nanos latency;  // how long each test takes, one after the other
  Nanos stream;

  Nanos span() const { return latency + stream; }
};

struct RdmaResult {
  double bits_per_s = 0;       // received; 0: no figure
  double us = 0;               // one-way latency (RTT/2), median
  uint64_t changed_bytes = 0;  // that arrived, of the last messages
};

// Addresses of the RDMA ports that are tested, and the server's TCP port.
struct RdmaEnds {
  std::string server;
  std::string client;
  uint16_t port = 0;
};

// On the server's RDMA port, for the client alone, until it leaves or for `limit`. Errors: those of
// datapath::RdmaStream and lab::ControlLine.
Result<void> serve_rdma_tests(const RdmaEnds& ends, Nanos limit);

// On the client's RDMA port. Errors: likewise.
Result<RdmaResult> run_rdma_tests(const RdmaEnds& ends, const RdmaPlan& plan);

// Parts of both, public for tests: a line that is connected, and how an end is made.
using OpenRdmaStream = std::function<Result<std::unique_ptr<datapath::RdmaStream>>()>;
Result<void> serve_rdma_line(const lab::ControlLine& line, const OpenRdmaStream& open, Nanos end);
// `what`: of its errors.
Result<RdmaResult> run_rdma_line(const std::string& what, const lab::ControlLine& line,
                                 const OpenRdmaStream& open, const RdmaPlan& plan);

}  // namespace heddle::acceptance
