// Communicators on simulated fabrics, on virtual time: the same classes as on real ones, with
// loss, with many ranks, and with ranks that die. One seed, one history, bit by bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "collectives/communicator.h"
#include "simulator/world.h"
#include "topology/generators.h"

namespace heddle::collectives {
namespace {

using simulator::EngineProcess;
using simulator::ProcessChange;
using simulator::ProcessChangeKind;
using simulator::World;

// One rank: creates the communicator in its first turn, then posts one call after another.
class RankProgram : public simulator::EngineProgram {
 public:
  // Posts the next call; nothing when there is none left.
  using Next = std::function<std::optional<Request>(Communicator&, uint32_t call)>;

  RankProgram(EngineProcess& process, Members members, CommunicatorOptions options, Next next)
      : process_(process),
        members_(std::move(members)),
        options_(std::move(options)),
        next_(std::move(next)) {
    process.set_program(this);
    process.poke();
  }

  bool done() const { return done_; }
  const std::optional<Error>& error() const { return error_; }
  Nanos ended_at() const { return ended_at_; }
  uint32_t calls_done() const { return calls_done_; }
  Communicator* communicator() { return communicator_.get(); }
  // Before the process's endpoint goes.
  void release() {
    communicator_.reset();
    links_.reset();
    done_ = true;
  }

 private:
  bool handle_turn(EngineProcess& process) override {
    if (done_) return false;
    if (!communicator_) {
      links_ = std::make_shared<Links>(process.endpoint());
      communicator_ = std::move(Communicator::create(links_, members_, options_)).value();
    }
    bool moved = communicator_->advance();
    if (!request_) {
      request_ = next_(*communicator_, calls_done_);
      moved = true;
      if (!request_) return end(process, std::nullopt);
    }
    const Result<bool> ended = communicator_->peek(*request_);
    if (!ended) return end(process, ended.error());
    if (*ended) {
      request_.reset();
      ++calls_done_;
      moved = true;
    }
    return moved;
  }

  bool end(EngineProcess& process, const std::optional<Error>& error) {
    done_ = true;
    error_ = error;
    ended_at_ = process.network().now();
    return false;
  }

  EngineProcess& process_;
  Members members_;
  CommunicatorOptions options_;
  Next next_;
  std::shared_ptr<Links> links_;
  std::unique_ptr<Communicator> communicator_;
  std::optional<Request> request_;
  uint32_t calls_done_ = 0;
  bool done_ = false;
  std::optional<Error> error_;
  Nanos ended_at_;
};

struct FabricOptions {
  uint32_t leaves = 4;
  uint32_t hosts_per_leaf = 4;
  uint32_t loss_per_million = 0;
  uint64_t seed = 1;
  std::vector<ProcessChange> changes;
};

class Fabric {
 public:
  explicit Fabric(const FabricOptions& options) {
    topology::LeafSpineShape shape{.leaves = options.leaves,
                                   .spines = 4,
                                   .hosts_per_leaf = options.hosts_per_leaf,
                                   .host_link = {.rate = gigabits_per_s(10), .delay = micros(2)},
                                   .spine_link = {.rate = gigabits_per_s(10), .delay = micros(2)}};
    topology::Topology topology = topology::leaf_spine(shape);
    for (topology::Link& link : topology.links) {
      link.forward.loss_per_million = link.backward.loss_per_million = options.loss_per_million;
    }
    world_ = std::make_unique<World>(
        simulator::WorldOptions{.topology = topology, .changes = options.changes}, options.seed);
    size_ = options.leaves * options.hosts_per_leaf;
    for (uint32_t rank = 0; rank < size_; ++rank) {
      simulator::EngineProcessOptions process;
      process.process.datapath.nic = rank;
      process.engine.transport.accept = true;
      process.engine.transport.peer_dead_after = seconds(3);
      process.engine.eager_bytes = mebibytes(1);
      processes_.push_back(&world_->add(process));
      addresses_.push_back(processes_.back()->address());
    }
  }
  ~Fabric() {
    for (const auto& program : programs_) program->release();
  }

  void begin(const CommunicatorOptions& options,
             const std::function<RankProgram::Next(uint32_t)>& next) {
    for (uint32_t rank = 0; rank < size_; ++rank) {
      programs_.push_back(std::make_unique<RankProgram>(
          *processes_[rank], Members{9, rank, addresses_}, options, next(rank)));
    }
  }
  template <typename Done>
  bool run(Done done, Nanos limit) {
    return world_->run_until_done(done, limit);
  }
  bool run_to_end(Nanos limit) {
    return run(
        [this] {
          return std::all_of(programs_.begin(), programs_.end(),
                             [](const auto& program) { return program->done(); });
        },
        limit);
  }
  uint32_t size() const { return size_; }
  World& world() { return *world_; }
  RankProgram& rank(uint32_t rank) { return *programs_[rank]; }

 private:
  std::unique_ptr<World> world_;
  uint32_t size_ = 0;
  std::vector<EngineProcess*> processes_;
  std::vector<transport::Address> addresses_;
  std::vector<std::unique_ptr<RankProgram>> programs_;
};

// Floats whose sums depend on the order in which they are taken.
std::vector<float> odd_floats(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<float> all(count);
  for (float& each : all) {
    const auto mantissa = static_cast<float>(random.between(1, 1 << 20));
    each = std::ldexp(mantissa, static_cast<int>(random.between(0, 20)) - 20);
  }
  return all;
}

struct SumsOfRun {
  std::vector<std::vector<float>> output;  // by rank
  uint64_t trace = 0;
};

// A few all-reduces of each size, one after the other; the outputs of the last.
SumsOfRun all_reduce_on(const FabricOptions& fabric_options, const std::string& pins,
                        size_t count) {
  CommunicatorOptions options;
  options.tuning.chunk_bytes = 32 << 10;
  EXPECT_TRUE(pin_algorithms(pins, options.tuning));
  SumsOfRun sums;
  const uint32_t size = fabric_options.leaves * fabric_options.hosts_per_leaf;
  std::vector<std::vector<float>> input;
  for (uint32_t rank = 0; rank < size; ++rank) input.push_back(odd_floats(rank, count));
  sums.output.assign(size, std::vector<float>(count));
  Fabric fabric(fabric_options);
  fabric.begin(options, [&](uint32_t rank) {
    return [&, rank](Communicator& communicator, uint32_t call) -> std::optional<Request> {
      if (call == 3) return std::nullopt;
      const Data data = {input[rank].data(), sums.output[rank].data(), count};
      return communicator.all_reduce(data, ReduceOp::kSum).value();
    };
  });
  EXPECT_TRUE(fabric.run_to_end(seconds(60)));
  for (uint32_t rank = 0; rank < size; ++rank) {
    EXPECT_FALSE(fabric.rank(rank).error()) << fabric.rank(rank).error()->message();
  }
  sums.trace = fabric.world().network().trace_hash();
  return sums;
}

class SimulatedAllReduce : public testing::TestWithParam<const char*> {};

TEST_P(SimulatedAllReduce, OfSixteenRanksWithLossGivesTheSameBitsEverywhereAndAgain) {
  const FabricOptions lossy{.loss_per_million = 5000};
  const std::string pins = std::string("allreduce:") + GetParam();
  for (const size_t count : {1U, 1000U, 250'000U}) {
    const SumsOfRun sums = all_reduce_on(lossy, pins, count);
    for (uint32_t rank = 1; rank < 16; ++rank) {
      EXPECT_TRUE(sums.output[rank] == sums.output[0]) << "rank " << rank << " of " << count;
    }
    for (size_t i = 0; i < count; i += 97) {
      double right = 0;
      for (uint32_t rank = 0; rank < 16; ++rank) {
        right += static_cast<double>(odd_floats(rank, i + 1)[i]);
      }
      ASSERT_NEAR(sums.output[0][i], right, right * 1e-5) << i;
      if (i > 5000) break;
    }
    const SumsOfRun again = all_reduce_on(lossy, pins, count);
    EXPECT_EQ(again.trace, sums.trace) << "one seed, one history";
    FabricOptions other = lossy;
    other.seed = 2;
    const SumsOfRun otherwise = all_reduce_on(other, pins, count);
    EXPECT_NE(otherwise.trace, sums.trace);
    EXPECT_TRUE(otherwise.output == sums.output) << "what is lost does not change the sums";
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, SimulatedAllReduce,
                         testing::Values("ring", "tree", "recursive_doubling", "halving_doubling",
                                         "two_level/4"),
                         [](const auto& each) {
                           const std::string name = each.param;
                           return name.substr(0, name.find('/'));
                         });

TEST(SimulatedCollectives, EveryCallOfSixtyFourRanksEnds) {
  constexpr uint32_t kRanks = 64;
  FabricOptions options{.leaves = 8, .hosts_per_leaf = 8, .loss_per_million = 1000};
  Fabric fabric(options);
  constexpr size_t kCount = 500;
  std::vector<std::vector<uint32_t>> in(kRanks, std::vector<uint32_t>(kRanks * kCount));
  std::vector<std::vector<uint32_t>> out(kRanks, std::vector<uint32_t>(kRanks * kCount));
  for (uint32_t rank = 0; rank < kRanks; ++rank) std::fill(in[rank].begin(), in[rank].end(), rank);
  fabric.begin({}, [&](uint32_t rank) {
    return [&, rank](Communicator& communicator, uint32_t call) -> std::optional<Request> {
      const Data data = {in[rank].data(), out[rank].data(), kCount, DataType::kUint32};
      switch (call) {
        case 0:
          return communicator.barrier().value();
        case 1:
          return communicator.reduce_scatter(data, ReduceOp::kSum).value();
        case 2:
          return communicator.broadcast(data, kRanks - 1).value();
        case 3:
          return communicator.gather(data, 5).value();
        case 4:
          return communicator.all_gather(data).value();
        case 5:
          return communicator.all_to_all(data).value();
        default:
          return std::nullopt;
      }
    };
  });
  ASSERT_TRUE(fabric.run_to_end(seconds(60)));
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_FALSE(fabric.rank(rank).error()) << fabric.rank(rank).error()->message();
    for (uint32_t peer = 0; peer < kRanks; ++peer) {
      ASSERT_EQ(out[rank][peer * kCount], peer);
      ASSERT_EQ(out[rank][peer * kCount + kCount - 1], peer);
    }
  }
}

// --- ranks that die in the middle of a call ---

struct Death {
  ProcessChangeKind kind;
  Nanos most;  // until every other rank knows
};

class DyingRank : public testing::TestWithParam<Death> {};

TEST_P(DyingRank, EndsTheCallOnAllOthersInTime) {
  const Nanos dies_at = millis(50);
  FabricOptions options;
  options.changes = {{dies_at, 6, GetParam().kind}};
  Fabric fabric(options);
  std::vector<std::vector<float>> memory(16, std::vector<float>(2'000'000));
  fabric.begin({}, [&](uint32_t rank) {
    return [&, rank](Communicator& communicator, uint32_t) -> std::optional<Request> {
      const Data data = {memory[rank].data(), memory[rank].data(), memory[rank].size()};
      return communicator.all_reduce(data, ReduceOp::kSum).value();
    };
  });
  const Nanos start = fabric.world().now();
  fabric.run([&] { return fabric.world().now() >= start + dies_at - millis(1); }, seconds(1));
  if (GetParam().kind != ProcessChangeKind::kPause) fabric.rank(6).release();
  const auto others_done = [&] {
    for (uint32_t rank = 0; rank < 16; ++rank) {
      if (rank != 6 && !fabric.rank(rank).done()) return false;
    }
    return true;
  };
  ASSERT_TRUE(fabric.run(others_done, seconds(20)));
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (rank == 6) continue;
    ASSERT_TRUE(fabric.rank(rank).error());
    EXPECT_LE((fabric.rank(rank).ended_at() - start - dies_at).count, GetParam().most.count);
    EXPECT_NE(fabric.rank(rank).error()->message().find("rank 6 is gone"), std::string::npos)
        << fabric.rank(rank).error()->message();
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, DyingRank,
                         testing::Values(Death{ProcessChangeKind::kKill, seconds(1)},
                                         Death{ProcessChangeKind::kVanish, seconds(5)},
                                         Death{ProcessChangeKind::kPause, seconds(5)}),
                         [](const auto& each) {
                           if (each.param.kind == ProcessChangeKind::kKill) return "killed";
                           return each.param.kind == ProcessChangeKind::kVanish ? "host_gone"
                                                                                : "stopped";
                         });

}  // namespace
}  // namespace heddle::collectives
