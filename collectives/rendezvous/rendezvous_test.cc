// Rendezvous over real sockets on loopback: each rank is a thread with an endpoint of its own.
#include "collectives/rendezvous.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "collectives/rendezvous/messages.h"
#include "collectives/rendezvous/seeker.h"
#include "collectives/rendezvous/store_file.h"
#include "engine/addresses.h"

namespace heddle::collectives {
namespace {

using testing::HasSubstr;

using Endpoints = std::vector<std::unique_ptr<engine::Endpoint>>;

// A place that all ranks see.
class Board {
 public:
  void write(const std::string& text) {
    const std::lock_guard lock(mutex_);
    text_ = text;
  }
  Result<std::string> read() const {
    const std::lock_guard lock(mutex_);
    if (text_.empty()) return fail(ErrorCode::kUnavailable, "the board", "nothing is there", "");
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

// Where not all ranks come: those that do may wait for a core.
constexpr Nanos kOthersCome = seconds(6);

struct Rank {
  Launch launch;
  Nanos timeout = seconds(60);
  std::string bind = "127.0.0.1";
  std::vector<transport::ClusterKey> keys;
  std::function<bool()> stopped;
  std::shared_ptr<Board> board;
  uint32_t most_connections = 4096;
};

transport::ClusterKey key(uint8_t first) {
  transport::ClusterKey made;
  made.secret[0] = std::byte{first};
  return made;
}

Result<std::unique_ptr<engine::Endpoint>> open(const Rank& rank, uint16_t port) {
  engine::Options options;
  options.transport.accept = true;
  options.transport.keys = rank.keys;
  options.transport.max_connections = rank.most_connections;
  options.eager_bytes = mebibytes(1);
  return engine::Endpoint::open({.bind = rank.bind, .port = port}, options);
}

class RendezvousTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = testing::TempDir() + "heddle-meet-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The address of a free port outside of the system's ephemeral range: an ephemeral one could be
  // assigned to another test.
  static std::string free_store(const std::string& host) {
    constexpr uint32_t kFirst = 20'000;
    constexpr uint32_t kPorts = 12'000;  // up to 32,000; the system's begin at 32,768
    static uint32_t next = static_cast<uint32_t>(getpid()) * 64;
    for (uint32_t tried = 0; tried < kPorts; ++tried) {
      const auto probe = open({.bind = host}, static_cast<uint16_t>(kFirst + next++ % kPorts));
      if (probe) return "udp://" + engine::address_text((*probe)->local_address());
    }
    ADD_FAILURE() << "no port is free";
    return "";
  }

  std::vector<Rank> ranks(uint32_t size, const std::string& store) const {
    std::vector<Rank> all(size);
    for (uint32_t rank = 0; rank < size; ++rank) {
      all[rank].launch = {
          .launcher = "test", .rank = rank, .size = size, .store = store, .run = "a run"};
    }
    return all;
  }

  // All at once; the endpoints stay open in endpoints_.
  std::vector<Result<Group>> meet_all(const std::vector<Rank>& all) {
    std::vector<Result<Group>> results(all.size(), fail(ErrorCode::kSystem, "did not run"));
    endpoints_.clear();
    endpoints_.resize(all.size());
    std::vector<std::thread> threads;
    for (size_t at = 0; at < all.size(); ++at) {
      threads.emplace_back([&, at] { results[at] = meet_one(all[at], endpoints_[at]); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  // The endpoint stays open.
  static Result<Group> meet_one(const Rank& rank, std::unique_ptr<engine::Endpoint>& endpoint) {
    endpoint = open(rank, 0).value();
    MeetOptions options{.launch = rank.launch, .timeout = rank.timeout};
    options.open_store = [&rank](uint16_t port, uint32_t) { return open(rank, port); };
    options.stopped = rank.stopped;
    if (rank.board) {
      options.announce = [&rank](const std::string& text) -> Result<void> {
        rank.board->write(text);
        return {};
      };
      options.find = [&rank] { return rank.board->read(); };
    }
    return meet(*endpoint, options);
  }

  // Rank 0 serves; then `stranger` meets, and when it has got its answer the others come. Returns
  // what the ranks got.
  std::vector<Result<Group>> meet_after(const Rank& stranger, const std::vector<Rank>& all,
                                        Result<Group>& answer) {
    std::vector<Result<Group>> results(all.size(), fail(ErrorCode::kSystem, "did not run"));
    endpoints_.clear();
    endpoints_.resize(all.size());
    std::vector<std::thread> threads;
    threads.emplace_back([&] { results[0] = meet_one(all[0], endpoints_[0]); });
    std::unique_ptr<engine::Endpoint> endpoint;
    answer = meet_one(stranger, endpoint);
    for (size_t at = 1; at < all.size(); ++at) {
      threads.emplace_back([&, at] { results[at] = meet_one(all[at], endpoints_[at]); });
    }
    for (std::thread& thread : threads) thread.join();
    return results;
  }

  void expect_one_group(const std::vector<Result<Group>>& results) const {
    for (size_t at = 0; at < results.size(); ++at) {
      ASSERT_TRUE(results[at]) << "rank " << at << ": " << results[at].error().message();
      EXPECT_EQ(results[at]->rank, at);
      EXPECT_EQ(results[at]->size, results.size());
      EXPECT_NE(results[at]->job, 0U);
      EXPECT_EQ(results[at]->job, results[0]->job);
      EXPECT_EQ(results[at]->addresses, results[0]->addresses);
      EXPECT_EQ(results[at]->hosts, results[0]->hosts);
      EXPECT_EQ(results[0]->addresses[at], endpoints_[at]->local_address());
    }
  }

  std::string folder_;
  Endpoints endpoints_;
};

TEST_F(RendezvousTest, RanksMeetAtAnAddress) {
  expect_one_group(meet_all(ranks(5, free_store("127.0.0.1"))));
}

TEST_F(RendezvousTest, RanksMeetOverIpv6) {
  std::vector<Rank> all = ranks(3, "");
  if (!open({.bind = "::1"}, 0)) GTEST_SKIP() << "this host has no IPv6";
  const std::string store = free_store("::1");
  for (Rank& rank : all) {
    rank.bind = "::1";
    rank.launch.store = store;
  }
  expect_one_group(meet_all(all));
}

TEST_F(RendezvousTest, RanksMeetThroughAFileAndItGoes) {
  expect_one_group(meet_all(ranks(4, "file://" + folder_ + "/store")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(RendezvousTest, RanksMeetByAPlaceOfTheirOwn) {
  std::vector<Rank> all = ranks(4, "");
  const auto board = std::make_shared<Board>();
  for (Rank& rank : all) rank.board = board;
  expect_one_group(meet_all(all));
  board->write("something else");
  all[0].timeout = all[1].timeout = millis(300);
  all.resize(2);
  all[0].launch.size = all[1].launch.size = 2;
  all[1].board = std::make_shared<Board>();
  all[1].board->write("something else");
  const auto results = meet_all(all);
  ASSERT_FALSE(results[1]);
  EXPECT_THAT(results[1].error().message(), HasSubstr("what rank 0 announced"));
}

TEST_F(RendezvousTest, AFileThatACrashLeftOverMisleadsNobody) {
  const std::string path = folder_ + "/store";
  // No process listens at the first address; at the second one an endpoint without a store does.
  const auto stranger = open({}, 0).value();
  for (const transport::Address& at :
       {engine::find_address("127.0.0.1:9", 0).value(), stranger->local_address()}) {
    ASSERT_TRUE(write_store_file(path, {.ticket = 5, .run = "a run", .addresses = {at}}));
    std::vector<Rank> all = ranks(3, "file://" + path);
    expect_one_group(meet_all(all));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST_F(RendezvousTest, TheSameStoreServesOneMeetingAfterAnother) {
  const std::vector<Rank> all = ranks(3, free_store("127.0.0.1"));
  const auto first = meet_all(all);
  expect_one_group(first);
  const auto second = meet_all(all);
  expect_one_group(second);
  EXPECT_NE(first[0]->job, second[0]->job);
}

TEST_F(RendezvousTest, EndpointsOfNoAddressAreReachedWhereTheyCameFrom) {
  std::vector<Rank> all = ranks(3, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.bind.clear();
  const auto results = meet_all(all);
  for (size_t at = 0; at < all.size(); ++at) {
    ASSERT_TRUE(results[at]) << results[at].error().message();
    for (const transport::Address& address : results[at]->addresses) {
      EXPECT_TRUE(engine::is_loopback(address)) << engine::address_text(address);
    }
    EXPECT_EQ(results[0]->addresses[at].port, endpoints_[at]->local_address().port);
  }
}

TEST_F(RendezvousTest, OneRankMeetsItself) {
  const auto results = meet_all(ranks(1, ""));
  expect_one_group(results);
}

TEST_F(RendezvousTest, MissingRanksAreNamedToAll) {
  std::vector<Rank> all = ranks(5, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.timeout = kOthersCome;
  all.erase(all.begin() + 2, all.begin() + 4);
  for (const Result<Group>& result : meet_all(all)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
    EXPECT_THAT(result.error().why, HasSubstr("ranks 2-3 of 5"));
  }
}

TEST_F(RendezvousTest, ARankWithoutStoreSaysWhereItLooked) {
  std::vector<Rank> all = ranks(2, free_store("127.0.0.1"));
  all.erase(all.begin());
  all[0].timeout = millis(500);
  const auto results = meet_all(all);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, ErrorCode::kTimeout);
  EXPECT_THAT(results[0].error().why, HasSubstr(all[0].launch.store.substr(6)));
  EXPECT_THAT(results[0].error().todo, HasSubstr("rank 0"));
}

TEST_F(RendezvousTest, ARankThatTwoClaimIsNamedToAll) {
  std::vector<Rank> all = ranks(4, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.launch.token = "what the launcher drew";
  all[3].launch.rank = 2;
  for (const Result<Group>& result : meet_all(all)) {
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().why, HasSubstr("two processes claim rank 2"));
  }
}

TEST_F(RendezvousTest, DifferentSizesAreNamed) {
  std::vector<Rank> all = ranks(2, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.launch.token = "what the launcher drew";
  all[1].launch.size = 3;
  for (const Result<Group>& result : meet_all(all)) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(result.error().why, HasSubstr("was started with 3 ranks"));
  }
}

// Without a token the wrong rank cannot be identified: rank 0 continues, and reports the difference
// at its timeout.
TEST_F(RendezvousTest, DifferentSizesWithoutTokenAreNamedToWhoIsRefusedAndAtTheEnd) {
  std::vector<Rank> all = ranks(2, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.timeout = kOthersCome;
  all[1].launch.size = 3;
  const auto results = meet_all(all);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, ErrorCode::kTimeout);
  EXPECT_THAT(results[0].error().why, HasSubstr("1 registration was refused"));
  EXPECT_THAT(results[0].error().why, HasSubstr("was started with 3 ranks"));
  ASSERT_FALSE(results[1]);
  EXPECT_THAT(results[1].error().why, HasSubstr("was started with 3 ranks"));
}

TEST_F(RendezvousTest, AStrangersWrongSizeDoesNotEndAKeylessMeeting) {
  const std::vector<Rank> all = ranks(3, free_store("127.0.0.1"));
  for (const bool wrong_rank : {false, true}) {
    Rank stranger = all[1];
    stranger.launch.size = 7;
    stranger.launch.rank = wrong_rank ? 5 : 1;
    Result<Group> answer = fail(ErrorCode::kSystem, "did not run");
    const auto results = meet_after(stranger, all, answer);
    expect_one_group(results);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  }
}

TEST_F(RendezvousTest, AStrangerWithoutTheTokenClaimsNoRank) {
  std::vector<Rank> all = ranks(3, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.launch.token = "what the launcher drew";
  for (const char* token : {"", "what the launcher drev"}) {
    Rank stranger = all[1];
    stranger.timeout = kOthersCome;
    stranger.launch.token = token;
    Result<Group> answer = fail(ErrorCode::kSystem, "did not run");
    const auto results = meet_after(stranger, all, answer);
    expect_one_group(results);
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().why, HasSubstr("token")) << answer.error().message();
    EXPECT_THAT(answer.error().todo, HasSubstr("with the same HEDDLE_TOKEN"));
  }
}

TEST_F(RendezvousTest, SilentConnectionsKeepNoRankOut) {
  std::vector<Rank> all = ranks(2, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.most_connections = 200;
  for (Rank& rank : all) rank.timeout = seconds(60);
  endpoints_.clear();
  endpoints_.resize(2);
  std::vector<Result<Group>> results(2, fail(ErrorCode::kSystem, "did not run"));
  std::thread store([&] { results[0] = meet_one(all[0], endpoints_[0]); });
  const transport::Address at = engine::find_address(all[0].launch.store.substr(6), 0).value();
  const auto strangers = open({}, 0).value();
  // One until it is open: then the store is there. The others fill it, and more.
  engine::Connection first = strangers->connect(at, {.paths = 1}).value();
  while (strangers->status(first).state != engine::ConnectionState::kOpen) {
    strangers->progress(millis(5));
    if (strangers->status(first).state != engine::ConnectionState::kClosed) continue;
    first = strangers->connect(at, {.paths = 1}).value();
  }
  std::vector<engine::Connection> held;
  for (int i = 0; i < 250; ++i) held.push_back(strangers->connect(at, {.paths = 1}).value());
  const auto undecided = [&](engine::Connection each) {
    return strangers->status(each).state == engine::ConnectionState::kOpening;
  };
  while (std::any_of(held.begin(), held.end(), undecided)) strangers->progress(millis(5));
  results[1] = meet_one(all[1], endpoints_[1]);
  store.join();
  expect_one_group(results);
}

TEST_F(RendezvousTest, AnotherRunIsTurnedAway) {
  std::vector<Rank> all = ranks(2, free_store("127.0.0.1"));
  for (Rank& rank : all) rank.timeout = kOthersCome;
  all[1].launch.run = "another";
  const auto results = meet_all(all);
  ASSERT_FALSE(results[0]);
  EXPECT_THAT(results[0].error().why, HasSubstr("rank 1 of 2"));
  ASSERT_FALSE(results[1]);
  EXPECT_THAT(results[1].error().why, HasSubstr("its run is 'a run'"));
}

TEST_F(RendezvousTest, AStoreOfAnotherVersionNamesTheHostToUpgrade) {
  struct Case {
    int version;
    const char* todo;
  };
  for (const Case& each :
       {Case{kRendezvousVersion - 1, "upgrade heddle on the host of this process"},
        Case{kRendezvousVersion + 1, "upgrade heddle on the host of the store"}}) {
    std::vector<Rank> all = ranks(2, free_store("127.0.0.1"));
    std::atomic<bool> over = false;
    all[0].stopped = [&over] { return over.load(); };
    std::unique_ptr<engine::Endpoint> served;
    std::thread zero([&] { EXPECT_FALSE(meet_one(all[0], served)); });
    const auto endpoint = open(all[1], 0).value();
    Registration foreign{.version = static_cast<uint8_t>(each.version), .rank = 1, .size = 2};
    foreign.patience = seconds(20);
    foreign.run = all[1].launch.run;
    const transport::Address at =
        engine::find_address(all[1].launch.store.substr(std::string("udp://").size()), 0).value();
    Seeker seeker(*endpoint, foreign, [&at] { return std::vector<StorePlace>{{.address = at}}; });
    const Nanos until = endpoint->now() + seconds(20);
    while (seeker.trouble().code != ErrorCode::kVersion && endpoint->now() < until) {
      seeker.turn();
      endpoint->progress(millis(1));
    }
    EXPECT_FALSE(seeker.outcome());  // the store of its own run may come there yet
    EXPECT_THAT(seeker.trouble().why,
                HasSubstr("it speaks version " + std::to_string(kRendezvousVersion)));
    EXPECT_EQ(seeker.trouble().todo, each.todo);
    over = true;
    zero.join();
  }
}

TEST_F(RendezvousTest, ClusterKeysProveTheStore) {
  std::vector<Rank> all = ranks(3, "file://" + folder_ + "/store");
  for (Rank& rank : all) rank.keys = {key(1)};
  expect_one_group(meet_all(all));
  for (Rank& rank : all) rank.timeout = kOthersCome;
  all[2].keys = {key(2)};
  const auto results = meet_all(all);
  for (const Result<Group>& result : results) ASSERT_FALSE(result);
  EXPECT_THAT(results[0].error().why, HasSubstr("rank 2 of 3"));
  EXPECT_THAT(results[1].error().why, HasSubstr("rank 2 of 3"));
  EXPECT_THAT(results[2].error().todo, HasSubstr("key_file"));
}

TEST_F(RendezvousTest, ATakenPortIsNamed) {
  const auto other = open({}, 0).value();
  std::vector<Rank> all = ranks(2, "udp://" + engine::address_text(other->local_address()));
  all.resize(1);
  all[0].timeout = millis(300);
  const auto results = meet_all(all);
  ASSERT_FALSE(results[0]);
  EXPECT_EQ(results[0].error().code, ErrorCode::kInUse);
}

TEST_F(RendezvousTest, ASignalEndsTheMeeting) {
  for (const uint32_t rank : {0U, 1U}) {
    std::vector<Rank> all = ranks(2, free_store("127.0.0.1"));
    all = {all[rank]};
    all[0].stopped = [] { return true; };
    const auto results = meet_all(all);
    ASSERT_FALSE(results[0]);
    EXPECT_EQ(results[0].error().code, ErrorCode::kCancelled);
  }
}

}  // namespace
}  // namespace heddle::collectives
