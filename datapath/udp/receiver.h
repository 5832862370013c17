// Receiver: takes runs of datagrams from the receive socket, in frames of its own memory or, where
// a prediction fits, straight into the memory where they belong. UdpDatapath drives it. All frames
// of a batch stand in one arena, used from its start at every receive(): what is copied out of it
// soon is still in the cache.
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
  bool coalesces = true;               // GRO: one call may bring a row of up to 64 KiB
  uint32_t max_datagram_bytes = 8972;  // without GRO: larger ones are dropped
  uint32_t place_min_bytes = 4096;     // smaller prediction steps are not used
  uint8_t nic = 0;                     // that runs are told to have come to
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

  // Datagrams that the kernel dropped because the queue was full.
  uint64_t dropped() const;
  const Socket& socket() const { return socket_; }

 private:
  struct Scratch;  // the kernel's structures, laid out once

  // What one datagram or row is, as its message tells.
  struct Arrival {
    uint32_t bytes = 0;
    uint32_t segment_bytes = 0;
    transport::Ecn ecn = transport::Ecn::kNotCapable;
    transport::Address from;
  };

  bool worth_placing(const transport::Prediction& prediction) const;
  bool has_room(const RxBatch& batch) const;
  // What is to be done about the queue after a receive into a place.
  enum class Next : uint8_t {
    kPlace,    // more is likely to go to the same place
    kPredict,  // the place is full: another prediction spares a copy
    kTake,     // something else came
    kNothing,  // it is empty
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
  size_t used_ = 0;         // of the arena, by the batch being filled
  size_t batch_bytes_ = 0;  // received into the batch being filled
  uint32_t distrust_ = 0;   // batches to take without prediction: the latest ones were wrong
  uint32_t distrust_next_ = 1;
  uint64_t truncated_ = 0;
  bool lent_ = false;
  bool brought_ = false;  // the latest receive() did
  // The latest two brought something, or the latest one more than little, so more is likely:
  // several are taken at once. Otherwise the first datagram is handed over at once, without a look
  // for a second: messages that answer each other come alone.
  bool busy_ = false;
};

}  // namespace heddle::datapath
