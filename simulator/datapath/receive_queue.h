// ReceiveQueue: the datagrams that have arrived at a simulated datapath: a bounded queue, from
// which runs of datagrams that arrived together are taken, whose payload may be put into predicted
// places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/datapath.h"
#include "simulator/datapath/host_memory.h"
#include "simulator/datapath/options.h"
#include "simulator/network.h"
#include "simulator/packet.h"
#include "simulator/params.h"

namespace heddle::simulator {

class ReceiveQueue {
 public:
  // All must outlive it.
  ReceiveQueue(Network& network, const SimDatapathOptions& options, HostMemory& memory)
      : network_(network), options_(options), memory_(memory) {}
  ~ReceiveQueue();
  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;

  bool empty() const { return packets_ == 0; }
  // The oldest datagram; there is one.
  const Packet& front() const { return network_.packets()[first_]; }
  // False: it does not fit, and is the caller's.
  bool push(PacketId packet);

  // Begins a batch: the frames of the one before are no more.
  void begin_batch() { frames_.clear(); }
  // A batch ends at this size of its frames.
  bool batch_full() const { return frames_.size() >= kBatchBytes; }
  size_t frame_bytes() const { return frames_.size(); }
  const std::byte* frames() const { return frames_.data(); }
  // Takes the oldest run, whose frames are appended. `prediction` may be null. Returns the bytes
  // that were put into the predicted place.
  uint64_t take_run(transport::RxRun& run, const transport::Prediction* prediction);
  // Overwrites the batch's frames, which reveals a use after their release.
  void poison_frames();

 private:
  static constexpr size_t kBatchBytes = params::kBatchBytes;

  uint32_t run_length() const;
  uint32_t alike_length(uint32_t length) const;
  bool continues_run(const Packet& first, const Packet& last, const Packet& next) const;
  uint64_t take_packet(transport::RxRun& run);
  bool place_predicted(uint32_t length, const transport::Prediction& prediction);
  bool fits(uint32_t length, const transport::Prediction& prediction) const;
  void append_frame(const Packet& packet, uint32_t bytes);

  Network& network_;
  const SimDatapathOptions& options_;
  HostMemory& memory_;
  PacketId first_ = kNoIndex;
  PacketId last_ = kNoIndex;
  uint32_t packets_ = 0;
  uint64_t bytes_ = 0;
  std::vector<std::byte> frames_;  // of the lent batch
};

}  // namespace heddle::simulator
