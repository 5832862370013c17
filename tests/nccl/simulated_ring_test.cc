// The NCCL plugin's network on simulated fabrics, on virtual time: ranks that send around rings as
// NCCL's proxy does, with loss, with links that fail, and with ranks that die.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "plugins/nccl/net/net.h"
#include "simulator/world.h"
#include "topology/generators.h"
#include "transport/stranger_budget.h"

namespace heddle::nccl {
namespace {

using simulator::EngineProcess;
using simulator::World;

constexpr size_t kMessage = 200'000;  // the largest
constexpr Nanos kPollPause = micros(200);
constexpr int kInFlight = 4;  // of a channel, as in NCCL's protocol Simple

// The size and bytes of the n-th message that `rank` sends on `channel`.
size_t message_bytes(uint32_t rank, uint32_t channel, int n) {
  Random random(rank * 1000 + channel * 100 + static_cast<uint32_t>(n));
  return random.below(8) == 0 ? 0 : random.below(kMessage) + 1;
}
std::byte message_byte(uint32_t rank, uint32_t channel, int n, size_t i) {
  return static_cast<std::byte>(i * 7 + rank * 31 + channel * 131 + static_cast<size_t>(n) * 17);
}

// One direction of one channel of a rank: a comm, and its requests in posted order.
struct Direction {
  Comm* comm = nullptr;
  Registration* registration = nullptr;
  std::vector<std::byte> memory = std::vector<std::byte>(kInFlight * kMessage);
  std::vector<Request*> requests;  // in flight
  int posted = 0;
  int done = 0;

  std::byte* slot(int n) { return memory.data() + static_cast<size_t>(n % kInFlight) * kMessage; }
};

struct Channel {
  ListenComm* listen = nullptr;
  std::array<std::byte, kHandleBytes> to_next{};  // the next rank's handle
  Direction send;
  Direction receive;
};

struct RingOptions {
  uint32_t ranks = 4;
  uint32_t channels = 2;
  int messages = 12;  // a channel
  uint32_t loss_per_million = 0;
  uint32_t strangers = 0;       // connections of another host to each rank, before ranks begin
  uint32_t peers_that_fit = 0;  // in a rank's stranger_bytes; 0: as by default
  std::vector<topology::LinkChange> link_changes;
  uint64_t seed = 1;
};

class Rank : public simulator::EngineProgram {
 public:
  Rank(EngineProcess& process, uint32_t rank, const RingOptions& options,
       std::vector<std::unique_ptr<Rank>>& ranks)
      : net_(std::in_place, sources(process, options.seed + rank)),
        rank_(rank),
        options_(options),
        ranks_(ranks),
        channels_(options.channels) {
    process.set_program(this);
    process.poke();
  }

  void begin(EngineProcess& process) {
    begun_ = true;
    process.poke();
  }
  bool done() const { return done_ || failure_ != kSuccess; }
  Status failure() const { return failure_; }
  // Before the process's endpoint goes.
  void release() {
    if (!net_) return;
    for (Channel& channel : channels_) {
      delete channel.listen;
      for (Direction* side : {&channel.send, &channel.receive}) {
        if (side->comm == nullptr) continue;
        EXPECT_EQ(net_->unregister_memory(*side->comm, side->registration), kSuccess);
        delete side->comm;
        side->comm = nullptr;
      }
    }
    net_.reset();
    done_ = true;
  }

 private:
  static NetSources sources(EngineProcess& process, uint64_t seed) {
    NetSources sources;
    sources.devices = []() -> Result<std::vector<Device>> {
      return std::vector<Device>{Device{.name = "sim0", .guid = 1, .members = {0}}};
    };
    // The simulated process owns its endpoint.
    sources.open = [&process](const Device&, int) -> Result<std::shared_ptr<engine::Endpoint>> {
      return std::shared_ptr<engine::Endpoint>(&process.endpoint(), [](engine::Endpoint*) {});
    };
    sources.numbers = [random = std::make_shared<Random>(seed)] { return random->next() | 1; };
    return sources;
  }

  // Nothing wakes a rank whose neighbor begins to listen: it polls, as NCCL does.
  Nanos due_at() const override { return next_poll_; }

  bool handle_turn(EngineProcess& process) override {
    if (done() || !begun_) return false;
    if (!listening_) return listen();
    bool moved = false;
    bool all = true;
    for (uint32_t i = 0; i < options_.channels && failure_ == kSuccess; ++i) {
      moved = connect(i) || moved;
      moved = send(i) || moved;
      moved = receive(i) || moved;
      all = all && channels_[i].send.done == options_.messages &&
            channels_[i].receive.done == options_.messages;
    }
    done_ = all;
    next_poll_ = connecting() && !done() ? process.endpoint().now() + kPollPause : Nanos::never();
    return moved;
  }

  bool connecting() const {
    for (const Channel& channel : channels_) {
      if (channel.send.comm == nullptr || channel.receive.comm == nullptr) return true;
    }
    return false;
  }

  bool listen() {
    EXPECT_EQ(net_->init(), kSuccess);
    Rank& before = *ranks_[(rank_ + options_.ranks - 1) % options_.ranks];
    for (uint32_t i = 0; i < options_.channels; ++i) {
      EXPECT_EQ(net_->listen(0, kUndefinedTrafficClass, HandleBytes(before.channels_[i].to_next),
                             channels_[i].listen),
                kSuccess);
    }
    listening_ = true;
    return true;
  }

  bool connect(uint32_t index) {
    Channel& channel = channels_[index];
    bool moved = false;
    if (channel.send.comm == nullptr && ranks_[(rank_ + 1) % options_.ranks]->listening_) {
      note(net_->connect(0, kUndefinedTrafficClass, HandleBytes(channel.to_next),
                         channel.send.comm));
      moved = register_memory(channel.send);
    }
    if (channel.receive.comm == nullptr) {
      note(net_->accept(*channel.listen, channel.receive.comm));
      moved = register_memory(channel.receive) || moved;
    }
    return moved;
  }

  bool register_memory(Direction& side) {
    if (side.comm == nullptr) return false;
    EXPECT_EQ(net_->register_memory(*side.comm, side.memory.data(), side.memory.size(),
                                    kPointerHost, side.registration),
              kSuccess);
    return true;
  }

  bool send(uint32_t index) {
    Direction& side = channels_[index].send;
    if (side.comm == nullptr) return false;
    bool moved = take_done(side, [](int, int) {});
    while (side.posted < options_.messages && side.posted - side.done < kInFlight) {
      const size_t bytes = message_bytes(rank_, index, side.posted);
      std::byte* const slot = side.slot(side.posted);
      for (size_t i = 0; i < bytes; ++i) slot[i] = message_byte(rank_, index, side.posted, i);
      Request* request = nullptr;
      note(static_cast<SendComm*>(side.comm)->send({slot, bytes, 3, side.registration}, request));
      if (request == nullptr) break;
      side.requests.push_back(request);
      ++side.posted;
      moved = true;
    }
    return moved;
  }

  bool receive(uint32_t index) {
    Direction& side = channels_[index].receive;
    if (side.comm == nullptr) return false;
    bool moved = take_done(side, [&](int n, int bytes) { check(index, n, bytes); });
    while (side.posted < options_.messages && side.posted - side.done < kInFlight) {
      const TransferBuffer buffer = {side.slot(side.posted), kMessage, 3, side.registration};
      Request* request = nullptr;
      note(static_cast<ReceiveComm*>(side.comm)->receive({&buffer, 1}, request));
      if (request == nullptr) break;
      side.requests.push_back(request);
      ++side.posted;
      moved = true;
    }
    return moved;
  }

  template <typename Taken>
  bool take_done(Direction& side, Taken taken) {
    bool moved = false;
    while (!side.requests.empty()) {
      bool done = false;
      int bytes = 0;
      note(side.comm->test(*side.requests.front(), done, &bytes));
      if (!done) break;
      side.requests.erase(side.requests.begin());
      taken(side.done++, bytes);
      moved = true;
    }
    return moved;
  }

  void check(uint32_t channel, int n, int bytes) {
    const uint32_t from = (rank_ + options_.ranks - 1) % options_.ranks;
    ASSERT_EQ(static_cast<size_t>(bytes), message_bytes(from, channel, n));
    const std::byte* const slot = channels_[channel].receive.slot(n);
    for (size_t i = 0; i < static_cast<size_t>(bytes); ++i) {
      ASSERT_EQ(slot[i], message_byte(from, channel, n, i)) << "message " << n << ", byte " << i;
    }
  }

  void note(Status status) {
    if (status != kSuccess && failure_ == kSuccess) failure_ = status;
  }

  std::optional<Net> net_;
  const uint32_t rank_;
  const RingOptions options_;
  std::vector<std::unique_ptr<Rank>>& ranks_;
  std::vector<Channel> channels_;
  Nanos next_poll_ = Nanos::never();
  bool begun_ = false;
  bool listening_ = false;
  bool done_ = false;
  Status failure_ = kSuccess;
};

class Ring {
 public:
  explicit Ring(const RingOptions& options) {
    topology::Topology fabric =
        topology::leaf_spine({.leaves = 2,
                              .spines = 4,
                              .hosts_per_leaf = options.ranks / 2 + 1,
                              .host_link = {.rate = gigabits_per_s(10), .delay = micros(2)},
                              .spine_link = {.rate = gigabits_per_s(10), .delay = micros(2)}});
    for (topology::Link& link : fabric.links) {
      link.forward.loss_per_million = link.backward.loss_per_million = options.loss_per_million;
    }
    fabric.changes = options.link_changes;
    world_ = std::make_unique<World>(simulator::WorldOptions{.topology = fabric}, options.seed);
    std::vector<EngineProcess*> processes;
    for (uint32_t rank = 0; rank < options.ranks; ++rank) {
      simulator::EngineProcessOptions process;
      process.process.datapath.nic = rank;
      fit_for_links(process.engine);
      process.engine.eager_bytes = mebibytes(1);
      if (options.peers_that_fit > 0) limit_strangers(process.engine, options.peers_that_fit);
      processes.push_back(&world_->add(process));
    }
    for (uint32_t rank = 0; rank < options.ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(*processes[rank], rank, options, ranks_));
    }
    if (options.strangers > 0) add_stranger(options, processes);
    for (uint32_t rank = 0; rank < options.ranks; ++rank) ranks_[rank]->begin(*processes[rank]);
  }
  ~Ring() {
    for (const auto& rank : ranks_) rank->release();
  }

  bool run(Nanos limit) {
    return world_->run_until_done(
        [&] {
          for (const auto& rank : ranks_) {
            if (!rank->done()) return false;
          }
          return true;
        },
        limit);
  }
  World& world() { return *world_; }
  Rank& rank(size_t index) { return *ranks_[index]; }
  size_t size() const { return ranks_.size(); }

 private:
  static void limit_strangers(engine::Options& options, uint32_t peers) {
    transport::EndpointOptions with = options.transport;
    with.eager_bytes = options.eager_bytes;
    with.eager_region = 0;  // a registered region, as in an open endpoint
    options.transport.stranger_bytes = {transport::stranger_budget(with).bytes(peers)};
  }

  // It connects, opens no comm and stays.
  void add_stranger(const RingOptions& options, const std::vector<EngineProcess*>& ranks) {
    simulator::EngineProcessOptions process;
    process.process.datapath.nic = options.ranks;
    EngineProcess& stranger = world_->add(process);
    for (EngineProcess* const rank : ranks) {
      for (uint32_t i = 0; i < options.strangers; ++i) {
        EXPECT_TRUE(stranger.endpoint().connect(rank->endpoint().local_address()));
      }
    }
    stranger.poke();
    world_->run_for(millis(20));
  }

  std::unique_ptr<World> world_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST(SimulatedNcclRing, EveryByteArrivesOnAQuietFabricAndUnderLoss) {
  for (const uint32_t loss : {0U, 1000U, 20'000U}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Ring ring({.loss_per_million = loss, .seed = seed});
      ASSERT_TRUE(ring.run(seconds(20))) << "loss " << loss << ", seed " << seed;
      for (size_t i = 0; i < ring.size(); ++i) EXPECT_EQ(ring.rank(i).failure(), kSuccess);
    }
  }
}

TEST(SimulatedNcclRing, ASpineThatDropsEverythingCostsTimeAndNoData) {
  RingOptions options = {.messages = 20};
  // The links of spine 0 (the first after the hosts' links), black-holed for good at 1 ms.
  for (uint32_t link = options.ranks; link < options.ranks + 2; ++link) {
    options.link_changes.push_back(
        {.at = millis(1), .link = link, .kind = topology::LinkChangeKind::kDown});
  }
  Ring ring(options);
  ASSERT_TRUE(ring.run(seconds(20)));
  for (size_t i = 0; i < ring.size(); ++i) EXPECT_EQ(ring.rank(i).failure(), kSuccess);
}

// A connect that met a full endpoint failed for good, and NCCL ended the job.
TEST(SimulatedNcclRing, ConnectsWaitUntilIdleConnectionsOfStrangersHaveLeft) {
  Ring ring({.strangers = 8, .peers_that_fit = 4});
  ASSERT_TRUE(ring.run(seconds(30)));
  for (size_t i = 0; i < ring.size(); ++i) EXPECT_EQ(ring.rank(i).failure(), kSuccess);
  EXPECT_GT(ring.world().now(), seconds(9));
}

TEST(SimulatedNcclRing, ADeadRankIsARemoteErrorAtItsNeighborsWithinSixSeconds) {
  for (const auto kind :
       {simulator::ProcessChangeKind::kKill, simulator::ProcessChangeKind::kVanish}) {
    Ring ring({.messages = 60});
    ring.world().run_for(millis(2));
    ring.rank(2).release();
    ring.world().apply({.process = 2, .kind = kind});
    ring.world().run_for(seconds(6));
    EXPECT_EQ(ring.rank(1).failure(), kRemoteError);
    EXPECT_EQ(ring.rank(3).failure(), kRemoteError);
  }
}

}  // namespace
}  // namespace heddle::nccl
