// Drives over the loopback plugin: two or more ranks as threads of the test, with and without
// faults.
#include "nccl/drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/thread.h"
#include "nccl/net_library.h"
#include "nccl/testing/private_folder.h"

namespace heddle::nccl {
namespace {

using ::testing::HasSubstr;
using testing::PrivateFolder;

constexpr int kManyPolls = 100;

// HEDDLE_LOOPBACK while it lives.
class Faults {
 public:
  explicit Faults(const std::string& text) { setenv("HEDDLE_LOOPBACK", text.c_str(), 1); }
  ~Faults() { unsetenv("HEDDLE_LOOPBACK"); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
};

// All ranks of a drive, each with a plugin of its own, in threads.
std::vector<Result<DriveResult>> drive_all(const std::string& net, const DriveOptions& options) {
  const PrivateFolder folder;
  const std::string file = std::string(HEDDLE_TEST_NETS) + "/libnccl-net-" + net + ".so";
  std::vector<Result<DriveResult>> results(static_cast<size_t>(options.size),
                                           fail(ErrorCode::kCancelled, "not run"));
  // Opened by one thread: TSan does not see the locks of the loader.
  std::vector<Result<NetLibrary>> libraries;
  for (int rank = 0; rank < options.size; ++rank) libraries.push_back(NetLibrary::open(file));
  std::vector<Thread> threads;
  for (int rank = 0; rank < options.size; ++rank) {
    Result<Thread> thread = start_thread("rank", [&, rank] {
      Result<NetLibrary>& library = libraries[static_cast<size_t>(rank)];
      Result<ExchangeFolder> exchange = ExchangeFolder::open(folder.path());
      if (!library || !exchange) return;
      DriveOptions own = options;
      own.rank = rank;
      own.patience = seconds(250);  // of a machine with much else to do
      results[static_cast<size_t>(rank)] = drive(library->plugin(), *exchange, own);
    });
    EXPECT_TRUE(thread);
    if (thread) threads.push_back(*std::move(thread));
  }
  for (Thread& each : threads) each.join();
  return results;
}

void expect_all_well(const std::vector<Result<DriveResult>>& results) {
  for (const Result<DriveResult>& each : results) {
    ASSERT_TRUE(each) << each.error().message();
    EXPECT_GT(each->messages_sent, 0U);
  }
}

// The first cause: what the other ranks report is that this one failed.
std::string messages_of(const std::vector<Result<DriveResult>>& results) {
  std::string text;
  for (const Result<DriveResult>& each : results) {
    EXPECT_FALSE(each);
    if (!each) text += each.error().message() + "\n";
  }
  return text;
}

TEST(Drive, RingMovesEveryByteOfAnAllReduce) {
  const auto results = drive_all("loopback12", {.size = 3,
                                                .bytes = 3 << 20,
                                                .message_bytes = 1 << 18,
                                                .channels = 2,
                                                .iterations = 2,
                                                .check = true});
  expect_all_well(results);
  EXPECT_EQ(results[0]->version, 12);
  EXPECT_EQ(results[0]->device, "loopback0");
  // Each iteration 2 (n - 1) / n of the buffer.
  EXPECT_EQ(results[1]->bytes_sent, uint64_t{8} << 20);
  EXPECT_EQ(results[1]->bytes_received, uint64_t{8} << 20);
  EXPECT_EQ(results[1]->send_latency.count(), results[1]->messages_sent);
}

TEST(Drive, TreeMovesSlicesUpAndDown) {
  const auto results = drive_all("loopback10", {.size = 4,
                                                .pattern = TrafficPattern::kTree,
                                                .bytes = 1 << 20,
                                                .iterations = 2,
                                                .check = true});
  expect_all_well(results);
  EXPECT_EQ(results[0]->bytes_received, uint64_t{4} << 20);  // from two children, twice
  EXPECT_EQ(results[3]->bytes_sent, uint64_t{2} << 20);
}

TEST(Drive, PointToPointReceivesInGroups) {
  const auto results = drive_all("loopback", {.size = 3,
                                              .pattern = TrafficPattern::kP2p,
                                              .bytes = 20 * 65'536,
                                              .message_bytes = 32'768,
                                              .iterations = 3,
                                              .zero_every = 5,
                                              .check = true});
  expect_all_well(results);
  EXPECT_EQ(results[0]->version, 9);
  EXPECT_GT(results[0]->grouped_receives, 0U);
  EXPECT_GT(results[0]->empty_messages_sent, 0U);
}

TEST(Drive, PluginOfOneReceiveAtOnceGetsNoGroups) {
  const Faults faults("recvs=1");
  const auto results = drive_all(
      "loopback6",
      {.pattern = TrafficPattern::kP2p, .bytes = 1 << 20, .iterations = 2, .check = true});
  expect_all_well(results);
  EXPECT_EQ(results[0]->version, 6);
  EXPECT_EQ(results[0]->grouped_receives, 0U);
}

TEST(Drive, RegisteredBuffersComeAndGoBesideTraffic) {
  const auto results = drive_all("loopback12", {.pattern = TrafficPattern::kRegistered,
                                                .bytes = 8 << 20,
                                                .message_bytes = 4 << 20,
                                                .iterations = 3,
                                                .check = true});
  expect_all_well(results);
}

TEST(Drive, LlPresetsRequestsAndChecksTheirData) {
  for (const WireProtocol protocol : {WireProtocol::kLl, WireProtocol::kLl128}) {
    for (const char* const net : {"loopback6", "loopback12"}) {
      const auto results =
          drive_all(net, {.protocol = protocol, .bytes = 1 << 20, .iterations = 2, .check = true});
      expect_all_well(results);
    }
  }
}

TEST(Drive, TimedDriveEndsAtTheSameIterationOnAllRanks) {
  const auto results =
      drive_all("loopback12", {.bytes = 1 << 16, .duration = millis(50), .check = true});
  expect_all_well(results);
  EXPECT_EQ(results[0]->iterations, results[1]->iterations);
  EXPECT_GE(results[0]->elapsed, millis(50));
}

TEST(Drive, NullRequestsArePostedAgain) {
  const Faults faults("null=3");
  const auto results = drive_all("loopback12", {.bytes = 8 << 20, .iterations = 2, .check = true});
  expect_all_well(results);
  EXPECT_GT(results[0]->null_requests, 0U);
}

TEST(Drive, ConnectAndAcceptArePolledUntilTheyGiveAComm) {
  const Faults faults("polls=" + std::to_string(kManyPolls));
  const auto results = drive_all("loopback12", {.bytes = 1 << 20, .iterations = 1});
  expect_all_well(results);
  EXPECT_GE(results[0]->connect_polls, uint64_t{2 * kManyPolls});
}

TEST(Drive, RemoteErrorOfTestEndsAllRanksWithNcclsName) {
  const Faults faults("fail=5");
  const auto results = drive_all("loopback12", {.bytes = 64 << 20, .iterations = 1});
  EXPECT_THAT(messages_of(results), HasSubstr("the plugin returned ncclRemoteError (6)"));
}

TEST(Drive, ChangedByteIsFoundByCheck) {
  const Faults faults("corrupt=3");
  const DriveOptions options{.bytes = 8 << 20, .iterations = 1, .check = true};
  EXPECT_THAT(messages_of(drive_all("loopback12", options)),
              HasSubstr("its bytes differ from those sent"));
}

TEST(Drive, ShorterSizeIsFoundWithoutCheck) {
  const Faults faults("shorten=3");
  const auto results = drive_all("loopback12", {.bytes = 8 << 20, .iterations = 1});
  EXPECT_THAT(messages_of(results), HasSubstr("test reports"));
}

TEST(Drive, SizesThatThePluginDoesNotWriteAreCountedAndBytesAreChecked) {
  const Faults faults("silent=1");
  const auto results = drive_all("loopback6", {.bytes = 8 << 20, .iterations = 1, .check = true});
  expect_all_well(results);
  EXPECT_EQ(results[0]->unreported_sizes, results[0]->messages_received);
}

TEST(Drive, RequestThatIsNotWrittenIsABrokenContract) {
  const Faults faults("unwritten=2");
  const auto results = drive_all("loopback12", {.bytes = 8 << 20, .iterations = 1});
  EXPECT_THAT(messages_of(results), HasSubstr("without writing *request"));
}

TEST(Drive, MissingDeviceIsRefused) {
  const auto results = drive_all("loopback12", {.device = 1, .iterations = 1});
  EXPECT_THAT(messages_of(results), HasSubstr("the plugin reports 1 device ("));
}

TEST(Drive, InitThatFailsIsNamed) {
  const Faults faults("init=3");
  const auto results = drive_all("loopback", {.iterations = 1});
  EXPECT_THAT(messages_of(results), HasSubstr("ncclInternalError (3)"));
}

TEST(Drive, StopEndsAWaitForPeers) {
  const PrivateFolder folder;
  Result<NetLibrary> library =
      NetLibrary::open(std::string(HEDDLE_TEST_NETS) + "/libnccl-net-loopback12.so");
  ASSERT_TRUE(library) << library.error().message();
  Result<ExchangeFolder> exchange = ExchangeFolder::open(folder.path());
  ASSERT_TRUE(exchange);
  int asked = 0;
  const Result<DriveResult> result =
      drive(library->plugin(), *exchange, {.stopped = [&asked] { return ++asked > 2; }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

TEST(Drive, MissingPeerTimesOut) {
  const PrivateFolder folder;
  Result<NetLibrary> library =
      NetLibrary::open(std::string(HEDDLE_TEST_NETS) + "/libnccl-net-loopback12.so");
  ASSERT_TRUE(library) << library.error().message();
  Result<ExchangeFolder> exchange = ExchangeFolder::open(folder.path());
  ASSERT_TRUE(exchange);
  const Result<DriveResult> result = drive(library->plugin(), *exchange, {.patience = millis(50)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(result.error().message(), HasSubstr("waiting for rank 1"));
}

}  // namespace
}  // namespace heddle::nccl
