// Receiver: takes runs of datagrams from the receive socket, into frames of its own memory or, if a
// prediction matches, directly into place. UdpDatapath drives it. All frames of a batch share one
// arena, filled from its start at every receive(), so that they are still in the cache when they
// are copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "datapath/udp/scattering.h"
#include "datapath/udp/socket.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

struct ReceiverOptions {
  bool coalesces = true;               // GRO: one call may return a run of up to 64 KiB
  uint32_t max_datagram_bytes = 8972;  // without GRO: larger datagrams are dropped
  uint32_t place_min_bytes = 4096;     // predictions with smaller steps are ignored
  uint8_t nic = 0;                     // NIC number reported in runs
};

class Receiver {
 public:
  // `regions` and `statistics` must outlive it.
  Receiver(Socket socket, const ReceiverOptions& options, const RegionTable& regions,
           DatapathStatistics& statistics);
  ~Receiver();

  // See Datapath::receive.
  size_t receive(RxBatch& batch, const transport::Prediction* prediction);
  void release(RxBatch& batch);

  // Datagrams that the kernel dropped because the queue was full, or that were truncated.
  uint64_t dropped() const;
  const Socket& socket() const { return socket_; }

 private:
  struct Scratch;  // the kernel's structures, initialized once

  // One datagram or run, as described by its message.
  struct Arrival {
    uint32_t bytes = 0;
    uint32_t segment_bytes = 0;
    transport::Ecn ecn = transport::Ecn::kNotCapable;
    transport::Address from;
  };

  bool worth_placing(const transport::Prediction& prediction) const;
  bool has_room(const RxBatch& batch) const;
  // How to continue after a receive into a place.
  enum class Next : uint8_t {
    kPlace,    // more data for the same place is likely
    kPredict,  // the place is full: a new prediction saves a copy
    kTake,     // other data arrived
    kNothing,  // the queue is empty
  };
  Next receive_placed(RxBatch& batch, transport::Prediction prediction);
  Next sort_out(transport::Prediction& prediction, Scattering& scattering, const Arrival& arrival,
                RxBatch& batch);
  bool receive_frames(RxBatch& batch);
  size_t take_messages(size_t count);
  bool describe(size_t index, size_t bytes, Arrival& arrival);
  transport::RxRun& add_run(RxBatch& batch, const Arrival& arrival, const std::byte* frame,
                            Nanos at);
  void use_arena(const std::byte* end);

  Socket socket_;
  ReceiverOptions options_;
  const RegionTable& regions_;
  DatapathStatistics& statistics_;
  const size_t slot_bytes_;  // of a frame
  std::unique_ptr<Scratch> scratch_;
  size_t used_ = 0;         // of the arena, by the current batch
  size_t batch_bytes_ = 0;  // received into the current batch
  uint32_t distrust_ = 0;   // batches to receive without prediction after wrong ones
  uint32_t distrust_next_ = 1;
  uint64_t truncated_ = 0;
  bool lent_ = false;
  bool brought_ = false;  // the latest receive() returned data
  // Set after two receives in a row with data, or one with more than kSmallBytes: more is likely,
  // so several datagrams are read per call. Otherwise the first datagram is returned without a
  // check for a second, because request-response messages arrive one at a time.
  bool busy_ = false;
};

}  // namespace heddle::datapath
