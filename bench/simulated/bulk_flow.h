// BulkFlow: one connection with continuous messages from one simulated NIC to another, and the
// times of their arrival.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/units.h"
#include "simulator/world.h"

namespace heddle::bench {

struct BulkFlowOptions {
  uint32_t from = 0;  // NIC
  uint32_t to = 0;
  uint16_t port = 4791;  // on both NICs; each flow of a NIC needs its own
  uint64_t message_bytes = 1u << 20;
  uint32_t ahead = 8;  // messages posted at a time
  uint16_t paths = 32;
  bool discovery = false;  // discover the fabric's routes, and use some paths of each
  Bytes receive_capacity = mebibytes(4);  // of each end: bytes that may arrive before they are read
  std::string congestion = "cubic";
  std::string selector = "reps";
};

class BulkFlow {
 public:
  BulkFlow(simulator::World& world, const BulkFlowOptions& options);
  ~BulkFlow();

  uint64_t payload_bytes_received() const;
  uint64_t messages_received() const;  // complete, in order
  bool closed() const;
  uint64_t messages_failed() const;
  // Of the sender; null once it is closed.
  const transport::ConnectionStatistics* sender() const;

 private:
  class End;
  std::unique_ptr<End> receiver_;
  std::unique_ptr<End> sender_;
};

}  // namespace heddle::bench
