// RcStream: an RdmaStream over one VerbsDevice. The immediate of a write says what it is: part of
// the stream, a ping, or the answer to one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datapath/rdma_stream.h"
#include "datapath/verbs/device.h"
#include "datapath/verbs/memory.h"
#include "datapath/verbs/queue_pair.h"

namespace heddle::datapath {

class RcStream final : public RdmaStream {
 public:
  // Errors: kExhausted, kSystem.
  static Result<std::unique_ptr<RcStream>> make(std::unique_ptr<VerbsDevice> device,
                                                uint8_t traffic_class);
  ~RcStream() override;

  std::string own_end() const override;
  Result<void> connect(const std::string& peer_end) override;
  Result<void> send_until(Nanos end) override;
  Result<std::vector<Nanos>> ping_until(Nanos end, size_t most) override;
  Result<bool> serve() override;
  void wait(int descriptor, Nanos end) override;
  RdmaArrived take_arrived() override;

 private:
  explicit RcStream(std::unique_ptr<VerbsDevice> device) : device_(std::move(device)) {}

  Result<void> prepare(uint8_t traffic_class);
  Result<void> write(uint32_t bytes, uint32_t kind);
  // Takes completions; `arrivals` of them were messages of the peer.
  Result<size_t> take(size_t& arrivals);
  Result<void> arrive(const Completion& done);

  std::unique_ptr<VerbsDevice> device_;
  std::vector<std::byte> memory_;  // the peer's stream arrives in its first half; the own is behind
  RegisteredRange range_;
  std::unique_ptr<QueuePair> sending_;
  std::unique_ptr<QueuePair> receiving_;
  uint32_t first_number_ = 0;
  uint64_t peer_memory_ = 0;
  uint32_t peer_key_ = 0;
  uint32_t in_flight_ = 0;  // own writes
  uint32_t taken_ = 0;      // receives that are to be posted again
  uint64_t answers_ = 0;    // to pings
  RdmaArrived arrived_;
  uint32_t peer_first_number_ = 0;  // the seed of its payload
  uint64_t filled_ = 0;             // places of a chunk, a bit each, that the peer's stream reached
};

}  // namespace heddle::datapath
