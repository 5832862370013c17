// Driver: the loop that moves segments between a transport::Endpoint and a datapath. The owner of
// both calls turn(): the engine from a caller's, a dedicated or the helper thread, the simulator
// from its virtual clock. It never blocks, allocates nothing after construction and is not
// thread-safe. Completions and notices stay in the endpoint until the owner takes them between
// turns.
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
struct RecallRequest;
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
  uint64_t turns_refused = 0;  // the datapath did not accept all bursts that were due

  void add(const DriverStatistics& other) {
    turns += other.turns;
    turns_with_input += other.turns_with_input;
    turns_with_output += other.turns_with_output;
    turns_refused += other.turns_refused;
  }
};

class Driver {
 public:
  // All arguments must outlive the driver. `input` holds received data during a turn only, so
  // drivers of one thread may share it. Null: the driver allocates its own.
  Driver(transport::Endpoint& endpoint, datapath::Datapath& datapath,
         datapath::RxBatch* input = nullptr);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // One round: receives one batch, handles timeouts, then sends up to one batch of bursts. Returns
  // the time of the next turn: at most this turn's now() if there was work or more is pending.
  // Until then the owner may sleep in Datapath::wait(), which also returns on input or when the
  // network can send again.
  Nanos turn();

  // Sends what may leave now, after the copies that the sends need; called right after a post_*
  // call that was made at `now`. Returns true if more bursts could leave at once.
  bool push(Nanos now);

  // Performs the copies and passes on the requests to the NIC that post_* calls brought about, so
  // their completions can be polled. turn() does this itself; an owner calls settle() after post_*
  // if it needs completions before the next turn.
  void settle();

  // Drops queued bursts that read `region`. The owner calls it before it unregisters the region,
  // after every operation on the region has ended; those bursts are obsolete then.
  void forget(transport::RegionId region);

  // Emits counts of sent and received traffic to `sink`, which must outlive the driver, in bins of
  // `span`.
  void count_wire(events::Sink& sink, Nanos span);
  // Emits pending counts: end_count() at the end, rest() before a pause without turns up to
  // `until`.
  void end_count();
  void rest(Nanos until);

  // The time of the latest turn or push().
  Nanos last_turn_at() const { return now_; }
  const DriverStatistics& statistics() const { return statistics_; }

 private:
  template <typename Unwanted>
  void drop_waiting(Unwanted unwanted);
  void recall(const transport::RecallRequest& request);
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
  bool stamps_ = false;         // the datapath's receive times come from the network
  bool refused_ = false;        // the rest of output_ waits until the network can send
  uint64_t closed_before_ = 0;  // connections that had closed when output_ was filled
  Nanos now_;
  DriverStatistics statistics_;
  std::unique_ptr<WireBins> bins_;  // null: wire traffic is not counted
};

}  // namespace heddle::engine
