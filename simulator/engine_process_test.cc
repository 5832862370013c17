// Programs over the engine's interface in the simulator: they post, poll and never wait.
#include "simulator/engine_process.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "datapath/regions.h"
#include "simulator/world.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

constexpr uint64_t kPattern = 9;

// Sends `rounds` messages to the peer and waits for the reply to each, or echoes received messages.
class Echo : public EngineProgram {
 public:
  Echo(EngineProcess& process, size_t bytes, uint32_t rounds,
       std::optional<transport::Address> peer)
      : bytes_(bytes),
        rounds_(rounds),
        caller_(peer.has_value()),
        outgoing_(bytes),
        incoming_(bytes) {
    process.set_program(this);
    datapath::fill_pattern(kPattern, 0, outgoing_);
    if (caller_) connection_ = *process.endpoint().connect(*peer);
    process.poke();
  }

  uint32_t rounds_done() const { return done_; }
  uint32_t wrong() const { return wrong_; }
  bool failed() const { return failed_; }
  std::optional<ErrorCode> error;

 private:
  bool handle_turn(EngineProcess& process) override {
    engine::Endpoint& endpoint = process.endpoint();
    if (!connection_) connection_ = endpoint.accept(Nanos{});
    if (!connection_ || failed_) return false;
    bool posted = false;
    if (!receive_ && done_ < rounds_) {
      receive_ = *endpoint.receive(*connection_, 0, incoming_.data(), bytes_);
      if (caller_) send_ = *endpoint.send(*connection_, 0, outgoing_.data(), bytes_);
      posted = true;
    }
    return take(endpoint) || posted;
  }

  bool take(engine::Endpoint& endpoint) {
    bool posted = false;
    if (send_ && finished(endpoint.peek(*send_))) send_.reset();
    if (receive_ && !send_) {
      if (!finished(endpoint.peek(*receive_))) return posted;
      receive_.reset();
      if (failed_) return posted;
      wrong_ += datapath::pattern_mismatch(kPattern, 0, incoming_) != bytes_;
      ++done_;
      if (!caller_) {
        // A copy: the buffer is posted for the next message before this one has left.
        outgoing_ = incoming_;
        send_ = *endpoint.send(*connection_, 0, outgoing_.data(), bytes_);
      }
      posted = true;
    }
    return posted;
  }

  bool finished(const engine::Outcome& outcome) {
    if (outcome.done && !outcome.ok) {
      failed_ = true;
      error = outcome.error;
    }
    return outcome.done;
  }

  size_t bytes_;
  uint32_t rounds_;
  bool caller_;
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
  std::optional<engine::Connection> connection_;
  std::optional<engine::Operation> send_;
  std::optional<engine::Operation> receive_;
  uint32_t done_ = 0;
  uint32_t wrong_ = 0;
  bool failed_ = false;
};

EngineProcessOptions at_nic(NicId nic) {
  EngineProcessOptions options;
  options.process.datapath.nic = nic;
  options.engine.transport.accept = true;
  options.engine.eager_bytes = mebibytes(1);
  return options;
}

class EngineProcessTest : public testing::Test {
 protected:
  void make(size_t bytes, uint32_t rounds, std::vector<ProcessChange> changes = {}) {
    topology::LinkShape shape{.rate = gigabits_per_s(10), .delay = micros(5)};
    topology::Topology topology = topology::parallel_paths(2, shape, shape);
    topology.links[2].forward.loss_per_million = 10'000;
    world_.emplace(WorldOptions{.topology = topology, .changes = std::move(changes)}, 1);
    a_ = &world_->add(at_nic(0));
    b_ = &world_->add(at_nic(1));
    server_.emplace(*b_, bytes, rounds, std::nullopt);
    client_.emplace(*a_, bytes, rounds, b_->address());
  }
  bool run(Nanos limit) {
    return world_->run_until_done(
        [this] { return client_->rounds_done() == rounds_wanted_ || client_->failed(); }, limit);
  }

  uint32_t rounds_wanted_ = 0;
  std::optional<Echo> server_;  // their buffers outlive the endpoints
  std::optional<Echo> client_;
  std::optional<World> world_;
  EngineProcess* a_ = nullptr;
  EngineProcess* b_ = nullptr;
};

TEST_F(EngineProcessTest, MessagesAreEchoed) {
  rounds_wanted_ = 30;
  for (const size_t bytes : {size_t{64}, size_t{100'000}, size_t{3'000'000}}) {
    make(bytes, rounds_wanted_);
    ASSERT_TRUE(run(seconds(10))) << bytes;
    EXPECT_FALSE(client_->failed());
    EXPECT_EQ(client_->wrong() + server_->wrong(), 0u);
  }
}

TEST_F(EngineProcessTest, AMinuteWithoutACallDoesNotMakeAPeerDead) {
  rounds_wanted_ = 200;
  make(200'000, rounds_wanted_,
       {{millis(10), 1, ProcessChangeKind::kCallerAway},
        {seconds(70), 1, ProcessChangeKind::kCallerBack}});
  EXPECT_FALSE(run(seconds(69)));
  EXPECT_FALSE(client_->failed());
  ASSERT_TRUE(run(seconds(20)));
  EXPECT_FALSE(client_->failed());
  EXPECT_EQ(client_->wrong() + server_->wrong(), 0u);
}

TEST_F(EngineProcessTest, AVanishedProcessSendsNoClose) {
  rounds_wanted_ = 1'000'000;
  make(200'000, rounds_wanted_, {{millis(10), 1, ProcessChangeKind::kVanish}});
  const Nanos start = world_->now();
  ASSERT_TRUE(run(seconds(20)));
  EXPECT_EQ(client_->error, ErrorCode::kPeerDead);
  EXPECT_GT(world_->now() - start, seconds(4));
}

TEST_F(EngineProcessTest, EqualSeedsGiveEqualHistories) {
  rounds_wanted_ = 30;
  uint64_t first = 0;
  for (int i = 0; i < 2; ++i) {
    make(300'000, rounds_wanted_);
    ASSERT_TRUE(run(seconds(10)));
    if (i == 0) first = world_->network().trace_hash();
    EXPECT_EQ(world_->network().trace_hash(), first);
  }
}

}  // namespace
}  // namespace heddle::simulator
