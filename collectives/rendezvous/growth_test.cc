// Processes that join a running job: ranks and newcomers as threads, each with an endpoint of its
// own on loopback, and a folder as their store.
#include "collectives/growth.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/temporary_folder.h"
#include "collectives/rendezvous/messages.h"

namespace heddle::collectives {
namespace {

std::shared_ptr<DrivenEndpoint> open_endpoint() {
  const ConfigSources sources = {
      .command_line = {{"bind", "127.0.0.1"}}, .environment = {}, .file = {}, .default_files = {}};
  auto opened = DrivenEndpoint::open(Config::load(config_keys(), sources).value());
  EXPECT_TRUE(opened) << opened.error().message();
  return *std::move(opened);
}

std::unique_ptr<SharedCommunicator> make(const std::shared_ptr<DrivenEndpoint>& endpoint,
                                         const Members& members) {
  auto made = SharedCommunicator::create(DrivenEndpoint::thread_of(endpoint), members,
                                         endpoint->communicator_options());
  EXPECT_TRUE(made) << made.error().message();
  return *std::move(made);
}

// Sums ones over all ranks.
uint32_t count_ranks(SharedCommunicator& communicator) {
  std::vector<uint32_t> ones(5000, 1);
  const auto call = communicator.post({.collective = Collective::kAllReduce,
                                       .type = DataType::kUint32,
                                       .count = ones.size(),
                                       .input = ones.data(),
                                       .output = ones.data(),
                                       .exchange = {}});
  if (!call || !call->wait(seconds(30))) return 0;
  return ones.front() == ones.back() ? ones.front() : 0;
}

// A newcomer on a busy machine may take a second for a sign.
constexpr GrowOptions kPatient = {.find_within = seconds(30)};

class Growth : public testing::Test {
 protected:
  Growth() : folder_(std::move(TemporaryFolder::make("heddle-growth")).value()) {}

  KeyStore store() { return folder_store(folder_.path() + "/store").value(); }
  // Takes a number and waits until it has a seat; then it is gone.
  void leave_when_seated(std::atomic<uint32_t>& waiting) {
    const KeyStore keys = store();
    const std::string number = std::to_string(keys.count("heddle/newcomers", 1).value());
    ++waiting;
    const KeyWait wait(seconds(30));
    for (int beat = 1; !keys.find("heddle/seat/" + number).value(); ++beat) {
      ASSERT_FALSE(wait.ended()) << "it got no seat";
      ASSERT_TRUE(keys.set("heddle/beat/" + number, std::to_string(beat)));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // The same store, which counts the newcomers that have taken a number.
  KeyStore noting(std::atomic<uint32_t>& waiting) {
    KeyStore noted = store();
    noted.count = [&waiting, count = noted.count](const std::string& key, uint32_t more) {
      const Result<uint64_t> counted = count(key, more);
      if (key == "heddle/newcomers") ++waiting;
      return counted;
    };
    return noted;
  }
  // Ranks that run `body`, each in a thread, and wait for it in end().
  using Body = std::function<void(SharedCommunicator&, DrivenEndpoint&)>;
  void start_job(uint32_t size, const Body& body) {
    Members members = {.communicator = 7, .rank = 0, .addresses = {}};
    std::vector<std::shared_ptr<DrivenEndpoint>> endpoints;
    for (uint32_t rank = 0; rank < size; ++rank) {
      endpoints.push_back(open_endpoint());
      members.addresses.push_back(endpoints.back()->address());
    }
    for (members.rank = 0; members.rank < size; ++members.rank) {
      threads_.emplace_back([body, members, endpoint = endpoints[members.rank]] {
        const auto communicator = make(endpoint, members);
        body(*communicator, *endpoint);
      });
    }
  }
  void start(const std::function<void()>& body) { threads_.emplace_back(body); }
  void end() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  TemporaryFolder folder_;
  std::vector<std::thread> threads_;
};

TEST_F(Growth, WithoutNewcomersTheCommunicatorStaysAsItIs) {
  start_job(3, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    const auto grown = grow(communicator, endpoint, store());
    ASSERT_TRUE(grown) << grown.error().message();
    EXPECT_FALSE(*grown);
    EXPECT_EQ(count_ranks(communicator), 3U);
  });
  end();
}

TEST_F(Growth, NewcomersAreBehindTheRanksAndWorkWithThem) {
  std::atomic<uint32_t> waiting = 0;
  for (int i = 0; i < 2; ++i) {
    start([this, &waiting] {
      const auto endpoint = open_endpoint();
      const auto members =
          join(*endpoint, noting(waiting), {.timeout = seconds(30), .stopped = {}});
      ASSERT_TRUE(members) << members.error().message();
      EXPECT_GE(members->rank, 3U);
      EXPECT_EQ(members->size(), 5U);
      const auto communicator = make(endpoint, *members);
      EXPECT_EQ(count_ranks(*communicator), 5U);
    });
  }
  while (waiting < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  start_job(3, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    EXPECT_EQ(count_ranks(communicator), 3U);
    const auto grown = grow(communicator, endpoint, store(), kPatient);
    ASSERT_TRUE(grown) << grown.error().message();
    ASSERT_TRUE(*grown);
    EXPECT_EQ((**grown).former_ranks, (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_EQ((**grown).communicator->rank(), communicator.rank());
    EXPECT_EQ(count_ranks(*(**grown).communicator), 5U);
  });
  end();
}

TEST_F(Growth, ANewcomerThatEndedWhileItWaitedIsNotCounted) {
  ASSERT_TRUE(store().count("heddle/newcomers", 1));
  ASSERT_TRUE(store().set("heddle/beat/1", "5"));
  start_job(2, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    for (int i = 0; i < 2; ++i) {
      const auto grown = grow(communicator, endpoint, store());
      ASSERT_TRUE(grown) << grown.error().message();
      EXPECT_FALSE(*grown);
    }
    EXPECT_EQ(count_ranks(communicator), 2U);
  });
  end();
  EXPECT_EQ(store().count("heddle/seated", 0).value(), 1U) << "it is not looked for again";
}

TEST_F(Growth, ANewcomerThatEndedWhileItWaitedKeepsNoOtherOut) {
  std::atomic<uint32_t> waiting = 0;
  ASSERT_TRUE(store().count("heddle/newcomers", 1));
  start([this, &waiting] {
    const auto endpoint = open_endpoint();
    const auto members = join(*endpoint, noting(waiting), {.timeout = seconds(60), .stopped = {}});
    ASSERT_TRUE(members) << members.error().message();
    EXPECT_EQ(members->rank, 2U);
    EXPECT_EQ(count_ranks(*make(endpoint, *members)), 3U);
  });
  while (waiting < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_TRUE(store().count("heddle/newcomers", 1));
  start_job(2, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    const auto grown = grow(communicator, endpoint, store(), {.find_within = seconds(10)});
    ASSERT_TRUE(grown) << grown.error().message();
    ASSERT_TRUE(*grown);
    EXPECT_EQ(count_ranks(*(**grown).communicator), 3U);
  });
  end();
}

// It had a seat and is gone: the ranks wait for it as long as their options say, and go on.
TEST_F(Growth, WithoutANewcomerThatIsGoneTheRanksGoOn) {
  std::atomic<uint32_t> waiting = 0;
  start([this, &waiting] { leave_when_seated(waiting); });
  while (waiting < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  start_job(2, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    const auto grown = grow(communicator, endpoint, store(), {.find_within = millis(1'500)});
    ASSERT_TRUE(grown) << grown.error().message();
    ASSERT_TRUE(*grown);
    EXPECT_EQ((**grown).communicator->size(), 2U);
    EXPECT_EQ(count_ranks(*(**grown).communicator), 2U);
    const auto again = grow(*(**grown).communicator, endpoint, store());
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_FALSE(*again) << "it is not counted twice";
  });
  end();
}

TEST_F(Growth, ARankThatDiesMeanwhileIsNotThereAndTheNewcomerIs) {
  std::atomic<uint32_t> waiting = 0;
  start([this, &waiting] {
    const auto endpoint = open_endpoint();
    const auto members = join(*endpoint, noting(waiting), {.timeout = seconds(60), .stopped = {}});
    ASSERT_TRUE(members) << members.error().message();
    EXPECT_EQ(members->rank, 2U);
    const auto communicator = make(endpoint, *members);
    EXPECT_EQ(count_ranks(*communicator), 3U);
  });
  while (waiting < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  start_job(3, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    EXPECT_EQ(count_ranks(communicator), 3U);
    if (communicator.rank() == 1) return;  // which ends its communicator
    auto grown = grow(communicator, endpoint, store(), {.find_within = millis(500)});
    std::unique_ptr<SharedCommunicator> left;
    if (grown) {
      ASSERT_TRUE(*grown);
      left = std::move((**grown).communicator);
    } else {
      auto shrunk = communicator.shrink();
      ASSERT_TRUE(shrunk) << shrunk.error().message();
      left = std::move(shrunk->communicator);
    }
    while (left->size() < 3) {
      auto again = grow(*left, endpoint, store(), {.find_within = seconds(5)});
      ASSERT_TRUE(again) << again.error().message();
      if (*again) left = std::move((**again).communicator);
    }
    EXPECT_EQ(count_ranks(*left), 3U);
  });
  end();
}

// The rank that counted it was lost before it wrote the seat: others never count it again.
TEST_F(Growth, ANewcomerThatWasCountedAndGotNoSeatTakesAnotherNumber) {
  std::atomic<uint32_t> waiting = 0;
  ASSERT_TRUE(store().count("heddle/seated", 1));
  start([this, &waiting] {
    const auto endpoint = open_endpoint();
    const auto members = join(*endpoint, noting(waiting),
                              {.timeout = seconds(60), .find_within = millis(300), .stopped = {}});
    ASSERT_TRUE(members) << members.error().message();
    EXPECT_EQ(count_ranks(*make(endpoint, *members)), 3U);
  });
  while (waiting < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  start_job(2, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    const auto grown = grow(communicator, endpoint, store(), kPatient);
    ASSERT_TRUE(grown) << grown.error().message();
    ASSERT_TRUE(*grown);
    EXPECT_EQ(count_ranks(*(**grown).communicator), 3U);
  });
  end();
}

// All ranks have agreed by then: the communicator works, whether the result can be written or not.
TEST_F(Growth, AStoreThatFailsAtTheEndCostsNoRankItsCommunicator) {
  std::atomic<uint32_t> waiting = 0;
  start([this, &waiting] { leave_when_seated(waiting); });
  while (waiting < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  start_job(2, [this](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    KeyStore failing = store();
    failing.set = [set = failing.set](const std::string& key,
                                      const std::string& text) -> Result<void> {
      if (!key.ends_with("/result")) return set(key, text);
      return fail(ErrorCode::kExhausted, "cannot write " + key, "the disk is full", "");
    };
    const auto grown = grow(communicator, endpoint, failing, {.find_within = millis(1'500)});
    ASSERT_TRUE(grown) << grown.error().message();
    ASSERT_TRUE(*grown);
    EXPECT_EQ(count_ranks(*(**grown).communicator), 2U);
  });
  end();
}

// It wrote where it is, and abandoned its number before it read that it was taken in.
TEST_F(Growth, ANewcomerThatGaveUpAfterItWasTakenInIsFoundToBeGone) {
  std::atomic<uint32_t> waiting = 0;
  std::atomic<bool> ended = false;
  start([this, &waiting, &ended] {
    const auto endpoint = open_endpoint();
    KeyStore forgetful = noting(waiting);
    forgetful.find = [find = forgetful.find](const std::string& key) {
      using Found = Result<std::optional<std::string>>;
      if (!key.ends_with("/result")) return find(key);
      return Found(fail(ErrorCode::kSystem, "cannot read " + key, "the disk is gone", ""));
    };
    const auto members = join(*endpoint, forgetful, {.timeout = seconds(60), .stopped = {}});
    EXPECT_FALSE(members);
    while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // its process lives
  });
  while (waiting < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::atomic<uint32_t> done = 0;
  start_job(2, [this, &done, &ended](SharedCommunicator& communicator, DrivenEndpoint& endpoint) {
    auto grown = grow(communicator, endpoint, store(), kPatient);
    ASSERT_TRUE(grown) << grown.error().message();
    ASSERT_TRUE(*grown);
    EXPECT_EQ((**grown).communicator->size(), 3U);
    EXPECT_EQ(count_ranks(*(**grown).communicator), 0U);
    auto shrunk = (**grown).communicator->shrink();
    ASSERT_TRUE(shrunk) << shrunk.error().message();
    EXPECT_EQ(count_ranks(*shrunk->communicator), 2U);
    ended = ++done == 2;
  });
  end();
}

// Of the ranks of a job: a seat, where the former ranks are, and what they came to.
TEST_F(Growth, ANewcomerOfAnotherVersionLearnsWhichSideToUpgrade) {
  const auto endpoint = open_endpoint();
  const auto error_of_join = [&] {
    const auto joined = join(*endpoint, store(), {.timeout = seconds(30), .stopped = {}});
    EXPECT_FALSE(joined);
    return joined ? Error{} : joined.error();
  };
  const auto text = [](int version, const std::string& rest) {
    return "heddle" + std::to_string(version) + rest;
  };
  const auto seat_of = [](uint64_t newcomer) { return "heddle/seat/" + std::to_string(newcomer); };
  const std::string growth = "heddle/growth/7-1/";
  for (const uint64_t rank : {0, 1}) {
    ASSERT_TRUE(store().set(growth + "heddle/place/" + std::to_string(rank),
                            text(kRendezvousVersion, " net 4001 127.0.0.1 9")));
  }
  uint64_t newcomer = 0;
  for (const int version : {kRendezvousVersion - 1, kRendezvousVersion + 1}) {
    const char* const todo = version < kRendezvousVersion
                                 ? "upgrade heddle on the hosts of the job's ranks"
                                 : "upgrade heddle on this host";
    ASSERT_TRUE(store().set(seat_of(++newcomer), text(version, " 7 1 8 2 3 2")));
    const Error seat = error_of_join();
    EXPECT_EQ(seat.code, ErrorCode::kVersion) << seat.message();
    EXPECT_EQ(seat.what, "cannot read heddle/seat/" + std::to_string(newcomer));
    EXPECT_EQ(seat.todo, todo);
    ASSERT_TRUE(store().set(seat_of(++newcomer), text(kRendezvousVersion, " 7 1 8 2 3 2")));
    ASSERT_TRUE(store().set(growth + "result", text(version, " 1 8 0 1")));
    const Error result = error_of_join();
    EXPECT_EQ(result.code, ErrorCode::kVersion) << result.message();
    EXPECT_EQ(result.todo, todo) << result.message();
  }
  ASSERT_TRUE(store().set(seat_of(++newcomer), "another program's"));
  EXPECT_EQ(error_of_join().todo, "run the same version of heddle on all ranks");
}

TEST_F(Growth, ANewcomerThatNobodyTakesInEndsWithItsTimeOrWhenToldTo) {
  const auto endpoint = open_endpoint();
  const auto late = join(*endpoint, store(), {.timeout = millis(300), .stopped = {}});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_NE(late.error().message().find("took no newcomer in within 300"), std::string::npos)
      << late.error().message();
  const auto stopped = join(*endpoint, store(), {.stopped = [] { return true; }});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace heddle::collectives
