// Driver: the one loop that moves segments between a transport::Endpoint and a datapath.
// Whoever owns the two calls turn(); the engine does so from a caller's, a dedicated or the helper
// thread, the simulator from its virtual clock. It never blocks, allocates nothing after
// construction and is not thread-safe. Completions and notices stay in the endpoint for the owner
// to take between turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/nanos.h"
#include "transport/packet_decryptor.h"
#include "transport/payload.h"
#include "transport/rx_run.h"

namespace heddle::transport {
class Endpoint;
class TxBatch;
struct TxBurst;
}  // namespace heddle::transport

namespace heddle::events {
class Sink;
}

namespace heddle::datapath {
class Datapath;
struct RxBatch;
}  // namespace heddle::datapath

namespace heddle::engine {

class WireBins;

struct DriverStatistics {
  uint64_t turns = 0;
  uint64_t turns_with_input = 0;
  uint64_t turns_with_output = 0;
  uint64_t turns_refused = 0;  // the datapath did not take all that was due
};

class Driver {
 public:
  // All must outlive the driver. `input` holds what arrives during a turn, and nothing between
  // turns: drivers of one thread may share it. Null: it has its own.
  Driver(transport::Endpoint& endpoint, datapath::Datapath& datapath,
         datapath::RxBatch* input = nullptr);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // One round: takes one batch of input, then timeouts, then sends up to one batch of bursts.
  // Returns when the next turn is wanted: not after this turn's now() if there was work or more is
  // pending. Until that time the owner may sleep in Datapath::wait(), which also ends when input or
  // room to send appears.
  Nanos turn();

  // Only sends what may leave now, with the copies that this needs; for the moment after a post_*
  // call, which was made at `now`.
  // True: what leaves at once was not all.
  bool push(Nanos now);

  // Makes the copies that post_* calls asked for, so that their completions may be looked at.
  // turn() does this itself; an owner calls it after post_* when it wants completions before the
  // next turn.
  void settle();

  // Drops bursts that wait for the network and name `region`. To be called before the region is
  // unregistered, when every operation on it has ended: nobody needs those bursts any more.
  void forget(transport::RegionId region);

  // Tells `sink`, which must outlive the driver, what leaves and arrives, in bins of `span`.
  void count_wire(events::Sink& sink, Nanos span);
  // Tells what has not been told of that yet: at the end, and before nobody turns up to `until`.
  void end_count();
  void rest(Nanos until);

  // The time of the latest turn.
  Nanos last_turn_at() const { return now_; }
  const DriverStatistics& statistics() const { return statistics_; }

 private:
  template <typename Unwanted>
  void drop_waiting(Unwanted unwanted);
  bool take_input();
  void handle_input();
  size_t give_output();
  void count_sent(std::span<const transport::TxBurst> bursts);
  void refresh_now();

  transport::Endpoint& endpoint_;
  transport::PacketDecryptor decryptor_;
  datapath::Datapath& datapath_;
  std::unique_ptr<datapath::RxBatch> own_input_;
  datapath::RxBatch* input_;
  std::unique_ptr<transport::TxBatch> output_;
  size_t output_taken_ = 0;  // bursts of output_ that the datapath has taken
  transport::Prediction prediction_;
  bool predicts_ = false;
  bool stamps_ = false;         // the datapath's times of arrival are the network's own
  bool refused_ = false;        // the rest of output_ waits for room in the network
  uint64_t closed_before_ = 0;  // connections that had closed when output_ was filled
  Nanos now_;
  DriverStatistics statistics_;
  std::unique_ptr<WireBins> bins_;  // null: nobody wants to know
};

}  // namespace heddle::engine
