// Pair: two endpoints with a network between them, on virtual time, in one test. It moves real
// bytes; the network delays, loses, reorders and duplicates. Queues and fabrics are the
// simulator's; this is for the transport alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "transport/endpoint.h"

namespace heddle::transport::testing {

struct PairOptions {
  EndpointOptions endpoint;  // of both, but for accept, reply_port and the eager region
  size_t eager_bytes = 1 << 20;
  Nanos delay = micros(20);  // one way
  uint32_t loss_per_million = 0;
  uint32_t late_per_million = 0;  // runs that arrive up to late_by later than others
  Nanos late_by = micros(100);
  uint32_t twice_per_million = 0;  // runs that arrive twice
  uint64_t seed = 1;
  uint32_t coalesce = 64;  // segments of one burst that arrive as one run, at most
  std::function<bool(int side, const TxBurst& burst, uint32_t segment)>
      drop;  // more loss, by choice
  // Sees each burst that leaves; those to another address than the other side's are lost.
  std::function<void(int side, const TxBurst& burst)> watch_burst;
  // Sees, and may change, the bytes of each run that leaves.
  std::function<void(int side, std::span<std::byte> frame)> tamper;
  std::function<void(int side, EndpointOptions& endpoint)> adjust;  // where the sides differ
  // How long this remote write stays in its NIC, and those of its path behind it; unset: not at
  // all. The NIC reads the payload as it leaves.
  std::function<Nanos(int side, const TxBurst& burst)> stall;
  bool ignores_recalls = false;  // as a NIC does that still reads afterwards
  std::function<void(bool inside)>
      watch;                     // called before and after each call of an endpoint by run_*()
  events::Sink* sink = nullptr;  // of both sides
};

class Pair {
 public:
  explicit Pair(PairOptions options);

  Endpoint& operator[](int side) { return *endpoints_[static_cast<size_t>(side)]; }
  Nanos now() const { return now_; }
  Address address(int side) const;

  // Bytes of this side that payload can name; region 0 of each side is its eager memory.
  RegionId add_region(int side, size_t bytes);
  std::vector<std::byte>& region(int side, RegionId id) {
    return regions_[static_cast<size_t>(side)][id];
  }

  // Runs until `done` says so, or until `limit` of virtual time has passed; true: done.
  bool run_until(const std::function<bool()>& done, Nanos limit);
  void run_for(Nanos span);
  // This side gets no turn while paused; what arrives waits.
  void pause(int side, bool paused) { paused_[static_cast<size_t>(side)] = paused; }
  // This side forgets everything, as a process does that is started anew at the same address.
  void restart(int side);
  // `segments` datagrams, `segment_bytes` each but the last, arrive at this side now, as one run.
  void inject(int side, const Address& from, std::span<const std::byte> frame, uint32_t segments,
              uint32_t segment_bytes, Ecn ecn = Ecn::kNotCapable);

  std::vector<Completion> completions[2];
  std::vector<Notice> notices[2];
  std::vector<WriterAdmission> admissions[2];
  uint64_t recalls[2] = {0, 0};
  uint64_t writes_left[2] = {0, 0};  // chunks with payload that left this side's NIC
  uint64_t datagrams = 0;
  // The largest number of bytes in flight towards each side.
  uint64_t most_on_way[2] = {0, 0};

 private:
  struct Arrival {
    int side = 0;
    Address from;
    std::vector<std::byte> frame;
    uint32_t segments = 0;
    uint32_t segment_bytes = 0;
    uint32_t last_bytes = 0;
    Ecn ecn = Ecn::kNotCapable;
  };

  // A remote write in a NIC or in flight.
  struct Chunk {
    int side = 0;  // that it is for
    uint16_t path = 0;
    ChunkWrite write;
    Payload source;
    std::vector<std::byte> bytes;
  };

  // pair_chunks.cc
  void set_token(int side, RegionId region);
  void send_chunk(int side, const TxBurst& burst);
  void leave(Chunk chunk);
  bool leave_chunks();
  void recall(int side, const RecallRequest& request);
  void fence(int side, const FenceRequest& request);
  bool land_chunks(int side);
  bool write_remotely(const Chunk& chunk);
  void land(const Chunk& chunk);
  void report_sent(int side, const Chunk& chunk, bool ok);
  void serve_nic(int side);

  void make_endpoint(int side);
  bool turn(int side);
  void receive(int side, Arrival& arrival);
  void send(int side, const TxBurst& burst);
  void deliver(Arrival& arrival);
  void settle(int side);
  void copy(int side, const Placement& placement);
  std::byte* bytes_of(int side, RegionId region, uint64_t offset, uint64_t length);
  void watch(bool inside) const {
    if (options_.watch) options_.watch(inside);
  }
  Nanos next_time() const;

  PairOptions options_;
  Random random_;
  Nanos now_ = seconds(1);
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::vector<std::byte>> regions_[2];
  std::multimap<Nanos, Arrival> arrivals_;
  std::unique_ptr<TxBatch> batch_ = std::make_unique<TxBatch>();
  std::multimap<Nanos, Chunk> stalled_;  // by when they leave their NIC
  std::multimap<Nanos, Chunk> chunks_;
  // By side, connection and path: the epoch that lands there; of every path: nothing does.
  std::map<std::tuple<int, uint32_t, uint16_t>, uint32_t> epochs_;
  bool paused_[2] = {false, false};
  uint64_t on_way_[2] = {0, 0};
};

}  // namespace heddle::transport::testing
