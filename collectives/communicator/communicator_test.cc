// Communicators over real sockets: every call gives the right result on every rank, whatever the
// number of ranks, the size, the type and the algorithm.
#include "collectives/communicator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/table_file.h"
#include "collectives/testing/elements.h"
#include "collectives/testing/local_ranks.h"

namespace heddle::collectives {
namespace {

using Bytes = std::vector<std::byte>;

void expect_done(Communicator& communicator, const Result<Request>& request) {
  ASSERT_TRUE(request.has_value()) << request.error().message();
  const Result<void> ended = communicator.wait(*request, kPatience);
  ASSERT_TRUE(ended.has_value()) << ended.error().message();
}

// The bytes of blocks [first, first + blocks) of `count` elements.
Bytes part(const Bytes& all, size_t first, size_t blocks, size_t block_bytes) {
  const auto begin = all.begin() + static_cast<int64_t>(first * block_bytes);
  return {begin, begin + static_cast<int64_t>(blocks * block_bytes)};
}

// One call of each kind of one size, and whether its result is right; a block more or less of
// memory is there to see that nothing else is written.
class Caller {
 public:
  Caller(Communicator& communicator, DataType type, size_t count, bool in_place)
      : communicator_(communicator),
        type_(type),
        count_(count),
        in_place_(in_place),
        rank_(communicator.rank()),
        size_(communicator.size()),
        block_(count * size_of(type)) {}

  void all_reduce(ReduceOp op) {
    reset(elements_of(type_, rank_, count_), block_, 0, 0);
    expect_done(communicator_, communicator_.all_reduce(data(), op));
    expect_output(combined(type_, op, size_, count_), "all_reduce");
  }
  void reduce(ReduceOp op, uint32_t root) {
    reset(elements_of(type_, rank_, count_), rank_ == root ? block_ : 0, 0, 0);
    expect_done(communicator_, communicator_.reduce(data(), op, root));
    if (rank_ == root) expect_output(combined(type_, op, size_, count_), "reduce");
  }
  void reduce_scatter(ReduceOp op) {
    reset(elements_of(type_, rank_, count_ * size_), block_, 0, rank_ * block_);
    expect_done(communicator_, communicator_.reduce_scatter(data(), op));
    expect_output(part(combined(type_, op, size_, count_ * size_), rank_, 1, block_),
                  "reduce_scatter");
  }
  void all_gather() {
    reset(elements_of(type_, rank_, count_), block_ * size_, rank_ * block_, 0);
    expect_done(communicator_, communicator_.all_gather(data()));
    expect_output(gathered(), "all_gather");
  }
  void broadcast(uint32_t root) {
    reset(rank_ == root ? elements_of(type_, root, count_) : Bytes(), block_, 0, 0);
    expect_done(communicator_, communicator_.broadcast(data(), root));
    expect_output(elements_of(type_, root, count_), "broadcast");
  }
  void gather(uint32_t root) {
    reset(elements_of(type_, rank_, count_), rank_ == root ? block_ * size_ : 0, rank_ * block_, 0);
    expect_done(communicator_, communicator_.gather(data(), root));
    if (rank_ == root) expect_output(gathered(), "gather");
  }
  void scatter(uint32_t root) {
    reset(rank_ == root ? elements_of(type_, root, count_ * size_) : Bytes(), block_, 0,
          rank_ * block_);
    expect_done(communicator_, communicator_.scatter(data(), root));
    expect_output(part(elements_of(type_, root, count_ * size_), rank_, 1, block_), "scatter");
  }
  void all_to_all() {
    reset(elements_of(type_, rank_, count_ * size_), block_ * size_, 0, 0);
    expect_done(communicator_, communicator_.all_to_all(data()));
    Bytes right;
    for (uint32_t from = 0; from < size_; ++from) {
      const Bytes block = part(elements_of(type_, from, count_ * size_), rank_, 1, block_);
      right.insert(right.end(), block.begin(), block.end());
    }
    expect_output(right, "all_to_all");
  }

 private:
  // Where `input` lies in the output or the output in the input, if in place.
  void reset(const Bytes& input, size_t output_bytes, size_t input_at, size_t output_at) {
    output_bytes_ = output_bytes;
    const bool shared = in_place_ && !input.empty() && output_bytes > 0;
    const size_t guard = 64;
    memory_.assign(2 * guard + input.size() + output_bytes, std::byte{0x5a});
    input_ = memory_.data() + guard + (shared ? input_at : 0);
    output_ = shared ? memory_.data() + guard + output_at : memory_.data() + guard + input.size();
    std::copy(input.begin(), input.end(), input_);
    before_ = memory_;
  }
  Data data() const { return {.input = input_, .output = output_, .count = count_, .type = type_}; }
  Bytes gathered() const {
    Bytes all;
    for (uint32_t rank = 0; rank < size_; ++rank) {
      const Bytes block = elements_of(type_, rank, count_);
      all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }
  void expect_output(const Bytes& right, const char* call) {
    ASSERT_EQ(right.size(), output_bytes_);
    const bool good = std::equal(right.begin(), right.end(), output_);
    EXPECT_TRUE(good) << call << " of " << count_ << " " << name_of(type_) << " on rank " << rank_
                      << " of " << size_ << (in_place_ ? " in place" : "");
    if (in_place_) return;
    std::copy(right.begin(), right.end(), before_.begin() + (output_ - memory_.data()));
    EXPECT_TRUE(memory_ == before_) << call << " wrote elsewhere";
  }

  Communicator& communicator_;
  DataType type_;
  size_t count_;
  bool in_place_;
  uint32_t rank_;
  uint32_t size_;
  size_t block_;
  size_t output_bytes_ = 0;
  Bytes memory_;
  Bytes before_;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
};

void call_everything(Caller& caller, ReduceOp op, uint32_t root) {
  caller.all_reduce(op);
  caller.reduce_scatter(op);
  caller.reduce(op, root);
  caller.all_gather();
  caller.broadcast(root);
  caller.gather(root);
  caller.scatter(root);
  caller.all_to_all();
}

// --- all sizes, in and out of place ---

using SizeAndWay = std::tuple<uint32_t, SharedMemory>;
class CommunicatorOfSize : public testing::TestWithParam<SizeAndWay> {};

TEST_P(CommunicatorOfSize, EveryCallOfEverySizeIsRight) {
  const auto [size, way] = GetParam();
  LocalRanks ranks({.ranks = size, .shared_memory = way});
  ranks.run([](Communicator& communicator) {
    uint32_t root = 0;
    for (const size_t count : {0U, 1U, 3U, 1000U, 2047U, 70'001U}) {
      for (const bool in_place : {false, true}) {
        Caller caller(communicator, DataType::kFloat32, count, in_place);
        call_everything(caller, ReduceOp::kSum, root++ % communicator.size());
      }
    }
    expect_done(communicator, communicator.barrier());
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, CommunicatorOfSize,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5), kAllRoutes),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) +
                                  way_name(std::get<1>(each.param));
                         });

class CommunicatorOver : public OverAll {};
INSTANTIATE_TEST_SUITE_P(Ways, CommunicatorOver, kAllRoutes,
                         [](const auto& each) { return way_name(each.param); });

TEST_P(CommunicatorOver, EveryTypeAndOperationIsRight) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    for (size_t type = 0; type < kDataTypes; ++type) {
      for (size_t op = 0; op < kReduceOps; ++op) {
        Caller caller(communicator, static_cast<DataType>(type), 333, false);
        caller.all_reduce(static_cast<ReduceOp>(op));
        caller.reduce_scatter(static_cast<ReduceOp>(op));
        caller.reduce(static_cast<ReduceOp>(op), 1);
      }
    }
  });
}

// --- every algorithm, pinned on rank 0 alone ---

using AlgorithmAndWay = std::tuple<Algorithm, SharedMemory>;
class PinnedAlgorithm : public testing::TestWithParam<AlgorithmAndWay> {};

TEST_P(PinnedAlgorithm, IsRightWithManyChunks) {
  const auto [algorithm, way] = GetParam();
  const uint32_t size = algorithm == Algorithm::kTwoLevel ? 6 : 5;
  LocalRanks ranks({.ranks = size});
  ranks.run_with_links([&ranks, algorithm = algorithm, way = way](
                           uint32_t rank, const std::shared_ptr<Links>& links) {
    CommunicatorOptions options;
    options.shared_memory = way;
    if (rank == 0) {
      options.tuning.chunk_bytes = 16 << 10;
      options.tuning.group_ranks = 3;
      for (uint32_t i = 0; i < kCollectives; ++i) {
        if (can_run(static_cast<Collective>(i), algorithm)) options.tuning.pinned[i] = algorithm;
      }
    }
    auto communicator =
        std::move(Communicator::create(links, ranks.members(rank), options)).value();
    for (const size_t count : {0U, 5U, 100'003U}) {
      for (const bool in_place : {false, true}) {
        Caller caller(*communicator, DataType::kInt32, count, in_place);
        call_everything(caller, ReduceOp::kAverage, 2);
      }
    }
    for (uint32_t i = 0; i < kCollectives; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (!can_run(collective, algorithm)) continue;
      EXPECT_EQ(communicator->algorithm_for(collective, 1 << 20), algorithm);
    }
  });
}

// Calls may be made while the ranks still measure; afterwards all have the same costs.
TEST_P(CommunicatorOver, MeasuredCostsAreTheSameOnAllRanks) {
  for (const uint32_t size : {1U, 3U, 4U}) {
    LocalOptions options{.ranks = size, .shared_memory = GetParam()};
    options.communicator.tuning.to_be_measured = true;
    LocalRanks ranks(std::move(options));
    std::vector<Tuning> tunings(size);
    ranks.run([&tunings](Communicator& communicator) {
      Caller caller(communicator, DataType::kInt32, 1000, true);
      call_everything(caller, ReduceOp::kSum, 0);
      tunings[communicator.rank()] = communicator.tuning().value();
    });
    for (const Tuning& tuning : tunings) {
      EXPECT_EQ(tuning, tunings[0]);
      EXPECT_FALSE(tuning.to_be_measured);
      EXPECT_EQ(tuning.costs.ranks, size == 1 ? 0 : size);
    }
  }
}

TEST(Communicator, TakesTheCostsThatRankZeroFindsOnDisk) {
  const std::string folder = testing::TempDir() + "heddle_costs_" + std::to_string(getpid());
  LocalOptions options{.ranks = 3};
  options.communicator.tuning.to_be_measured = true;
  options.communicator.table_folder = folder;
  LocalRanks ranks(options);
  Tuning slow_trees;
  slow_trees.costs.ranks = 3;
  for (auto& row : slow_trees.costs.ns) row.fill(123'456);
  const Fabric fabric = fabric_of(ranks.endpoint(0), ranks.members(0), options.communicator);
  const std::string path = table_path(folder, fabric);
  ASSERT_TRUE(write_table(path, fabric, slow_trees, TableSource::kTune));
  ranks.run([&slow_trees](Communicator& communicator) {
    const Request barrier = communicator.barrier().value();
    ASSERT_TRUE(communicator.wait(barrier, kPatience));
    EXPECT_EQ(communicator.tuning()->costs, slow_trees.costs);
  });
  std::filesystem::remove_all(folder);
}

TEST(Communicator, ADamagedTableOnDiskIsMeasuredAnew) {
  const std::string folder = testing::TempDir() + "heddle_damaged_" + std::to_string(getpid());
  LocalOptions options{.ranks = 2};
  options.communicator.tuning.to_be_measured = true;
  options.communicator.table_folder = folder;
  LocalRanks ranks(options);
  const Fabric fabric = fabric_of(ranks.endpoint(0), ranks.members(0), options.communicator);
  std::filesystem::create_directory(folder);
  std::ofstream(table_path(folder, fabric)) << "heddle costs 1\n";
  ranks.run([](Communicator& communicator) {
    const Request barrier = communicator.barrier().value();
    ASSERT_TRUE(communicator.wait(barrier, kPatience));
    EXPECT_EQ(communicator.tuning()->costs.ranks, 2U);
  });
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, PinnedAlgorithm,
    testing::Combine(testing::Values(Algorithm::kRing, Algorithm::kTree,
                                     Algorithm::kRecursiveDoubling, Algorithm::kHalvingDoubling,
                                     Algorithm::kBinomial, Algorithm::kPairwise, Algorithm::kBruck,
                                     Algorithm::kLinear, Algorithm::kTwoLevel),
                     kAllRoutes),
    [](const auto& each) {
      return std::string(name_of(std::get<0>(each.param))) + way_name(std::get<1>(each.param));
    });

// --- side by side ---

TEST_P(CommunicatorOver, ManyCallsAreUnderWayAtOnce) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    constexpr size_t kCalls = 50;
    std::vector<std::vector<int64_t>> data;
    std::vector<Request> requests;
    for (size_t call = 0; call < kCalls; ++call) {
      data.emplace_back(call * 997, static_cast<int64_t>(communicator.rank() + call));
      requests.push_back(communicator
                             .all_reduce({.input = data.back().data(),
                                          .output = data.back().data(),
                                          .count = data.back().size(),
                                          .type = DataType::kInt64},
                                         ReduceOp::kSum)
                             .value());
    }
    // Asked for in another order than they were made in.
    for (size_t i = kCalls; i-- > 0;) {
      ASSERT_TRUE(communicator.wait(requests[i], kPatience));
      const auto right = static_cast<int64_t>(3 + 3 * i);
      EXPECT_TRUE(std::all_of(data[i].begin(), data[i].end(), [right](int64_t value) {
        return value == right;
      })) << i;
    }
  });
}

TEST_P(CommunicatorOver, MessagesMeetInTheirOrderBesideCollectives) {
  LocalRanks ranks({.ranks = 3, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    const uint32_t next = (communicator.rank() + 1) % 3;
    const uint32_t before = (communicator.rank() + 2) % 3;
    std::vector<std::vector<uint32_t>> out;
    std::vector<std::vector<uint32_t>> in;
    std::vector<Request> requests;
    for (uint32_t i = 0; i < 20; ++i) {
      const size_t count = i % 4 == 3 ? 50'000 : i;
      out.emplace_back(count, 100 * communicator.rank() + i);
      in.emplace_back(count);
    }
    for (uint32_t i = 0; i < 20; ++i) {
      const auto data = [](std::vector<uint32_t>& values) {
        return Data{values.data(), values.data(), values.size(), DataType::kUint32};
      };
      requests.push_back(communicator.send(data(out[i]), next).value());
      requests.push_back(communicator.receive(data(in[i]), before).value());
      if (i % 5 == 0) requests.push_back(communicator.barrier().value());
    }
    for (const Request request : requests) ASSERT_TRUE(communicator.wait(request, kPatience));
    for (uint32_t i = 0; i < 20; ++i) {
      EXPECT_EQ(in[i], std::vector<uint32_t>(in[i].size(), 100 * before + i));
    }
  });
}

TEST_P(CommunicatorOver, AGroupIsDoneWhenAllOfItIs) {
  LocalRanks ranks({.ranks = 4, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    std::vector<uint8_t> out(4);
    std::vector<uint8_t> in(4);
    communicator.group_start();
    for (uint32_t peer = 0; peer < 4; ++peer) {
      out[peer] = static_cast<uint8_t>(10 * communicator.rank() + peer);
      // Also to itself, and all receives behind all sends on even ranks.
      const auto send = [&] {
        communicator.forget(
            communicator.send({.input = &out[peer], .count = 1, .type = DataType::kUint8}, peer)
                .value());
      };
      if (communicator.rank() % 2 == 0) send();
      communicator.forget(
          communicator.receive({.output = &in[peer], .count = 1, .type = DataType::kUint8}, peer)
              .value());
      if (communicator.rank() % 2 == 1) send();
    }
    expect_done(communicator, communicator.group_end());
    for (uint32_t peer = 0; peer < 4; ++peer) EXPECT_EQ(in[peer], 10 * peer + communicator.rank());
  });
}

TEST_P(CommunicatorOver, AllToAllVMovesAnotherCountForEachPair) {
  LocalRanks ranks({.ranks = 4, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    const uint32_t rank = communicator.rank();
    const auto count = [](uint64_t from, uint64_t to) { return (from * 5 + to * 3) % 7 * 700; };
    ExchangeCounts counts;
    uint64_t sent = 0;
    uint64_t received = 0;
    for (uint32_t peer = 0; peer < 4; ++peer) {
      counts.send_counts.push_back(count(rank, peer));
      counts.send_offsets.push_back(sent);
      counts.receive_counts.push_back(count(peer, rank));
      counts.receive_offsets.push_back(received);
      sent += counts.send_counts.back();
      received += counts.receive_counts.back();
    }
    std::vector<uint16_t> out(sent);
    std::vector<uint16_t> in(received);
    for (uint32_t peer = 0; peer < 4; ++peer) {
      std::fill_n(out.begin() + static_cast<int64_t>(counts.send_offsets[peer]),
                  counts.send_counts[peer], static_cast<uint16_t>(16 * rank + peer));
    }
    expect_done(communicator,
                communicator.all_to_all_v(
                    {.input = out.data(), .output = in.data(), .type = DataType::kUint16}, counts));
    for (uint32_t peer = 0; peer < 4; ++peer) {
      const auto first = in.begin() + static_cast<int64_t>(counts.receive_offsets[peer]);
      EXPECT_TRUE(std::all_of(first, first + static_cast<int64_t>(counts.receive_counts[peer]),
                              [&](uint16_t value) { return value == 16 * peer + rank; }));
    }
  });
}

TEST_P(CommunicatorOver, SplitMakesPartsThatWorkSideBySide) {
  LocalRanks ranks({.ranks = 5, .shared_memory = GetParam()});
  ranks.run([](Communicator& world) {
    const int32_t colour = world.rank() == 4 ? -1 : static_cast<int32_t>(world.rank() % 2);
    auto part = world.split(colour, -static_cast<int32_t>(world.rank()));
    ASSERT_TRUE(part.has_value()) << part.error().message();
    ASSERT_EQ(*part == nullptr, world.rank() == 4);
    if (*part != nullptr) {
      EXPECT_EQ((*part)->size(), 2U);
      EXPECT_EQ((*part)->rank(), world.rank() < 2 ? 1U : 0U) << "the larger key goes last";
      std::vector<uint32_t> all(2);
      const uint32_t mine = world.rank();
      expect_done(**part, (*part)->all_gather({&mine, all.data(), 1, DataType::kUint32}));
      EXPECT_EQ(all, (std::vector<uint32_t>{world.rank() % 2 + 2, world.rank() % 2}));
    }
    expect_done(world, world.barrier());
  });
}

TEST_P(CommunicatorOver, CallsThatMakeNoSenseAreRefused) {
  LocalRanks ranks({.ranks = 2, .shared_memory = GetParam()});
  ranks.run([](Communicator& communicator) {
    std::vector<float> memory(100);
    const Data good = {memory.data(), memory.data(), 10};
    EXPECT_EQ(communicator.broadcast(good, 2).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(communicator.all_reduce({nullptr, memory.data(), 10}, ReduceOp::kSum).error().code,
              ErrorCode::kInvalid);
    EXPECT_EQ(communicator.all_reduce({memory.data(), memory.data() + 5, 10}, ReduceOp::kSum)
                  .error()
                  .code,
              ErrorCode::kInvalid);
    EXPECT_EQ(communicator.all_reduce({memory.data(), memory.data(), UINT64_MAX}, ReduceOp::kSum)
                  .error()
                  .code,
              ErrorCode::kInvalid);
    EXPECT_EQ(communicator.all_to_all_v(good, {}).error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(communicator.wait(Request{}, Nanos{}));
    // Nothing of that has hurt it.
    expect_done(communicator, communicator.all_reduce(good, ReduceOp::kMax));
  });
}

// What comes round a ring was copied once more while this rank's part of the sums was
// unacknowledged: a quarter of all.
TEST(Communicator, ARingsGatherReceivesWithoutACopy) {
  LocalOptions options = {.ranks = 4};
  ASSERT_TRUE(pin_algorithms("allreduce:ring", options.communicator.tuning));
  LocalRanks ranks(options);
  ranks.run([](Communicator& communicator) {
    std::vector<float> memory(1 << 20, 1.0F);
    const Data data = {memory.data(), memory.data(), memory.size()};
    for (int call = 0; call < 20; ++call) {
      expect_done(communicator, communicator.all_reduce(data, ReduceOp::kMax));
    }
  });
  uint64_t copied = 0, placed = 0;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    const datapath::DatapathStatistics statistics = ranks.endpoint(rank).datapath_statistics();
    copied += statistics.payload_copied_bytes;
    placed += statistics.payload_placed_bytes;
  }
  if (placed == 0) GTEST_SKIP() << "nothing is received into its place here";
  EXPECT_LT(copied, placed / 4);
}

}  // namespace
}  // namespace heddle::collectives
