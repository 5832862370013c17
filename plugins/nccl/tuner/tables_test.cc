// The tuner tables of all versions, driven as NCCL drives them.
#include "plugins/nccl/tuner/tables.h"

#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "nccl/measured_network.h"

namespace heddle::nccl {
namespace {

constexpr size_t kCosts = static_cast<size_t>(kTunerAlgorithms) * kTunerProtocols;

std::vector<std::string> lines;  // NOLINT: a logger has no argument for where to write

void remember(LogLevel level, unsigned long flags, const char* /*file*/, int /*line*/,
              const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  EXPECT_TRUE(level == kLogWarn || (flags & kLogTuning) != 0);
  lines.push_back((level == kLogWarn ? "warn: " : "") + std::string(text));
}

// The table of each version behind the arguments of the newest.
struct Face {
  const char* version;
  Status (*init)(void** context, size_t ranks, size_t nodes);
  Status (*choose)(void* context, int function, size_t bytes, float* costs, int algorithms,
                   int* channels);
  Status (*end)(void* context);
};

float** table_of(float* costs) { return reinterpret_cast<float**>(costs); }

template <typename Table, const Table& table>
Status init_old(void** context, size_t ranks, size_t nodes) {
  return table.init(ranks, nodes, &remember, context);
}

template <typename Table, const Table& table, typename Constants>
Status init_new(void** context, size_t ranks, size_t nodes) {
  TunerNvlDomains domains = {1, 1, 1};
  Constants constants = {};
  return table.init(context, 0x1234, ranks, nodes, &remember, &domains, &constants);
}

template <typename Table, const Table& table>
Status choose_new(void* context, int function, size_t bytes, float* costs, int algorithms,
                  int* channels) {
  return table.choose(context, function, bytes, 1, table_of(costs), algorithms, kTunerProtocols, 0,
                      channels);
}

Status choose_third(void* context, int function, size_t bytes, float* costs, int algorithms,
                    int* channels) {
  return kTunerTableV3.choose(context, function, bytes, 1, table_of(costs), algorithms,
                              kTunerProtocols, channels);
}

using ConstantsV5 = TunerConstants<4>;
using ConstantsV7 = TunerConstants<5>;
const Face kFaces[] = {
    {"3", init_old<TunerV3, kTunerTableV3>, choose_third, kTunerTableV3.destroy},
    {"4", init_old<TunerV4, kTunerTableV4>, choose_new<TunerV4, kTunerTableV4>,
     kTunerTableV4.destroy},
    {"5", init_new<TunerV5, kTunerTableV5, ConstantsV5>, choose_new<TunerV5, kTunerTableV5>,
     kTunerTableV5.finalize},
    {"6", init_new<TunerV6, kTunerTableV6, ConstantsV5>, choose_new<TunerV6, kTunerTableV6>,
     kTunerTableV6.finalize},
    {"7", init_new<TunerV7, kTunerTableV7, ConstantsV7>, choose_new<TunerV7, kTunerTableV7>,
     kTunerTableV7.finalize},
};

class TunerTables : public testing::Test {
 protected:
  TunerTables() { lines.clear(); }
  ~TunerTables() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }

  void set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    set_.emplace_back(name);
  }
  void turn_on() {
    set("HEDDLE_NCCL_TUNER", "on");
    set("HEDDLE_NCCL_NET_GBPS", "10");
    set("HEDDLE_NCCL_NET_US", "50");
  }

  // As NCCL sets a table up: a ring and a tree, and nothing else.
  static std::vector<float> costs() {
    std::vector<float> all(kCosts, kTunerIgnored);
    for (size_t i = 0; i < 6; ++i) all[i] = 10.0F + static_cast<float>(i);
    return all;
  }
  static size_t lines_with(const std::string& part) {
    size_t count = 0;
    for (const std::string& line : lines) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  std::vector<std::string> set_;
};

TEST_F(TunerTables, OffEveryVersionSucceedsAndTouchesNothing) {
  for (const Face& face : kFaces) {
    SCOPED_TRACE(face.version);
    int something = 0;
    void* context = &something;
    ASSERT_EQ(face.init(&context, 8, 4), kSuccess);
    EXPECT_EQ(context, nullptr);
    std::vector<float> table = costs();
    int channels = 0;
    EXPECT_EQ(
        face.choose(context, kTunerAllReduce, 1 << 20, table.data(), kTunerAlgorithms, &channels),
        kSuccess);
    EXPECT_EQ(table, costs());
    EXPECT_EQ(channels, 0);
    EXPECT_EQ(face.end(context), kSuccess);
  }
  EXPECT_EQ(lines_with("tuner: off, NCCL chooses"), std::size(kFaces));
}

TEST_F(TunerTables, OnEveryVersionRaisesTheCostsOfTheSlowNetworkAlike) {
  turn_on();
  set("HEDDLE_NCCL_CHANNEL_GBPS", "2.5");
  std::vector<float> first;
  for (const Face& face : kFaces) {
    SCOPED_TRACE(face.version);
    void* context = nullptr;
    ASSERT_EQ(face.init(&context, 8, 4), kSuccess);
    ASSERT_NE(context, nullptr);
    std::vector<float> table = costs();
    int channels = 0;
    EXPECT_EQ(
        face.choose(context, kTunerAllReduce, 1 << 26, table.data(), kTunerAlgorithms, &channels),
        kSuccess);
    for (size_t i = 0; i < kCosts; ++i) {
      EXPECT_EQ(table[i] < 0, costs()[i] < 0);
      EXPECT_TRUE(table[i] < 0 || table[i] > costs()[i]);
    }
    EXPECT_EQ(channels, 4);
    if (first.empty()) first = table;
    EXPECT_EQ(table, first);
    EXPECT_EQ(face.end(context), kSuccess);
  }
}

TEST_F(TunerTables, ACommunicatorOnOneNodeOrOfOneRankIsLeftToNccl) {
  turn_on();
  for (const Face& face : kFaces) {
    for (const auto& [ranks, nodes] : {std::pair<size_t, size_t>{1, 1}, {8, 1}, {0, 0}, {1, 4}}) {
      void* context = nullptr;
      ASSERT_EQ(face.init(&context, ranks, nodes), kSuccess);
      EXPECT_EQ(context, nullptr);
      std::vector<float> table = costs();
      EXPECT_EQ(face.choose(context, kTunerAllReduce, 1, table.data(), kTunerAlgorithms, nullptr),
                kSuccess);
      EXPECT_EQ(table, costs());
      EXPECT_EQ(face.end(context), kSuccess);
    }
  }
}

TEST_F(TunerTables, WrongOrMissingFiguresLeaveTheChoiceToNcclAndSayWhy) {
  const std::string file = testing::TempDir() + "heddle_tuner_network.toml";
  std::FILE* const out = std::fopen(file.c_str(), "w");
  ASSERT_NE(out, nullptr);
  std::fputs("[network]\ngoodput_kbits_per_s = 0\n", out);
  std::fclose(out);
  const std::vector<std::vector<std::pair<const char*, std::string>>> cases = {
      {},
      {{"HEDDLE_NCCL_NET_GBPS", "10"}},
      {{"HEDDLE_NCCL_NET_US", "10"}},
      {{"HEDDLE_NCCL_NET_GBPS", "ten"}, {"HEDDLE_NCCL_NET_US", "10"}},
      {{"HEDDLE_NCCL_NET_GBPS", "-1"}, {"HEDDLE_NCCL_NET_US", "10"}},
      {{"HEDDLE_NCCL_NET_GBPS", "1e30"}, {"HEDDLE_NCCL_NET_US", "10"}},
      {{"HEDDLE_NCCL_NET_GBPS", "10"}, {"HEDDLE_NCCL_NET_US", "nan"}},
      {{"HEDDLE_NCCL_NETWORK", "/nonexistent/network.toml"}},
      {{"HEDDLE_NCCL_NETWORK", file}},
      {{"HEDDLE_NCCL_TUNER", "perhaps"}},
  };
  for (const auto& settings : cases) {
    lines.clear();
    set("HEDDLE_NCCL_TUNER", "on");
    for (const auto& [name, value] : settings) set(name, value);
    void* context = nullptr;
    EXPECT_EQ(kFaces[3].init(&context, 8, 4), kSuccess);
    EXPECT_EQ(context, nullptr);
    EXPECT_EQ(lines_with("warn: NET/heddle: tuner: off, NCCL chooses: "), 1u);
    for (const auto& [name, value] : settings) unsetenv(name);
  }
  std::remove(file.c_str());
}

TEST_F(TunerTables, TheFigureOfASettingCountsAndNotThatOfTheFile) {
  const std::string file = testing::TempDir() + "heddle_tuner_figures.toml";
  std::FILE* const out = std::fopen(file.c_str(), "w");
  ASSERT_NE(out, nullptr);
  std::fputs(network_text({{8'000'000'000}, {4'000'000'000}, {30'000}}, "a test").c_str(), out);
  std::fclose(out);
  set("HEDDLE_NCCL_TUNER", "on");
  set("HEDDLE_NCCL_NETWORK", file);
  set("HEDDLE_NCCL_NET_US", "12.5");
  void* context = nullptr;
  EXPECT_EQ(kFaces[4].init(&context, 8, 4), kSuccess);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(lines_with("8.000 Gb/s between nodes, 12.5 us one way, 4.000 Gb/s a channel, up to 2 "
                       "channels"),
            1u);
  EXPECT_EQ(kFaces[4].end(context), kSuccess);
  std::remove(file.c_str());
}

TEST_F(TunerTables, AChoiceIsLoggedOnceASizeClass) {
  turn_on();
  void* context = nullptr;
  ASSERT_EQ(kFaces[3].init(&context, 8, 4), kSuccess);
  for (int round = 0; round < 5; ++round) {
    for (const size_t bytes : {1 << 26, (1 << 26) + 4'096, 1 << 27}) {
      std::vector<float> table = costs();
      int channels = 0;
      kFaces[3].choose(context, kTunerAllReduce, bytes, table.data(), kTunerAlgorithms, &channels);
      EXPECT_EQ(channels, 0);
    }
  }
  EXPECT_EQ(lines_with("AllReduce of"), 2u);
  EXPECT_EQ(lines_with("AllReduce of 67108864 bytes, 8 ranks on 4 nodes: Ring/Simple, "), 1u);
  EXPECT_EQ(lines_with("instead of NCCL's Tree/LL"), 2u);
  kFaces[3].end(context);
}

TEST_F(TunerTables, OddCallsLeaveTheTable) {
  turn_on();
  for (const Face& face : kFaces) {
    SCOPED_TRACE(face.version);
    void* context = nullptr;
    ASSERT_EQ(face.init(&context, 8, 4), kSuccess);
    int channels = 0;
    std::vector<float> table = costs();
    for (const int function : {-1, 5, 6, 8, 15, 1'000'000}) {
      EXPECT_EQ(face.choose(context, function, 1 << 20, table.data(), kTunerAlgorithms, &channels),
                kSuccess);
    }
    for (const int algorithms : {-1, 0, 8, 1'000'000}) {
      EXPECT_EQ(face.choose(context, kTunerAllReduce, 1, table.data(), algorithms, &channels),
                kSuccess);
    }
    EXPECT_EQ(face.choose(context, kTunerAllReduce, 1, nullptr, kTunerAlgorithms, &channels),
              kSuccess);
    EXPECT_EQ(table, costs());
    EXPECT_EQ(channels, 0);
    EXPECT_EQ(face.choose(context, kTunerAllReduce, 0, table.data(), 6, nullptr), kSuccess);
    EXPECT_EQ(face.end(context), kSuccess);
    EXPECT_EQ(face.init(nullptr, 8, 4), kSuccess);
  }
}

TEST_F(TunerTables, TheSecondVersionChoosesNothing) {
  turn_on();
  void* context = nullptr;
  ASSERT_EQ(kTunerTableV2.init(8, 4, &remember, &context), kSuccess);
  EXPECT_EQ(context, nullptr);
  int algorithm = kTunerUndefined;
  int protocol = kTunerUndefined;
  int channels = 0;
  EXPECT_EQ(kTunerTableV2.choose(context, kTunerAllReduce, 1 << 20, 0, 0, 1, &algorithm, &protocol,
                                 &channels),
            kSuccess);
  EXPECT_EQ(algorithm, kTunerUndefined);
  EXPECT_EQ(protocol, kTunerUndefined);
  EXPECT_EQ(channels, 0);
  EXPECT_EQ(lines_with("passes no costs"), 1u);
  EXPECT_EQ(kTunerTableV2.destroy(context), kSuccess);
  EXPECT_EQ(kTunerTableV2.init(8, 4, nullptr, nullptr), kSuccess);
}

TEST_F(TunerTables, ChunksOfASmallCallAreHalvedAndThatIsLoggedOnce) {
  size_t chunk = 524'288;
  EXPECT_EQ(kTunerTableV6.choose_chunk(nullptr, kTunerAllReduce, 1'000, kTunerTree, kTunerSimple, 1,
                                       &chunk),
            kSuccess);
  EXPECT_EQ(chunk, 524'288u);
  turn_on();
  set("HEDDLE_NCCL_CHANNEL_GBPS", "5");
  void* context = nullptr;
  ASSERT_EQ(kFaces[4].init(&context, 8, 4), kSuccess);
  for (int round = 0; round < 3; ++round) {
    chunk = 524'288;
    EXPECT_EQ(kTunerTableV7.choose_chunk(context, kTunerAllReduce, 100'000, kTunerTree,
                                         kTunerSimple, 1, &chunk),
              kSuccess);
    EXPECT_EQ(chunk, 65'536u);
  }
  EXPECT_EQ(lines_with("chunks of 65536 bytes instead of NCCL's 524288"), 1u);
  chunk = 524'288;
  for (const int odd : {-1, 7, 1'000}) {
    kTunerTableV7.choose_chunk(context, odd, 1'000, kTunerTree, kTunerSimple, 1, &chunk);
    kTunerTableV7.choose_chunk(context, kTunerAllReduce, 1'000, odd, kTunerSimple, 1, &chunk);
    kTunerTableV7.choose_chunk(context, kTunerAllReduce, 1'000, kTunerTree, odd, 1, &chunk);
  }
  EXPECT_EQ(kTunerTableV7.choose_chunk(context, kTunerAllReduce, 1'000, kTunerTree, kTunerSimple, 1,
                                       nullptr),
            kSuccess);
  EXPECT_EQ(chunk, 524'288u);
  kFaces[4].end(context);
}

TEST_F(TunerTables, MissingConstantsAndLoggerAreNoFailure) {
  turn_on();
  void* context = nullptr;
  ASSERT_EQ(kTunerTableV7.init(&context, 1, 8, 4, nullptr, nullptr, nullptr), kSuccess);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(kTunerTableV7.finalize(context), kSuccess);
}

}  // namespace
}  // namespace heddle::nccl
