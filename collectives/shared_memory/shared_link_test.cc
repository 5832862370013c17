// Links over shared memory: what is theirs alone. Both ends run as threads on one address, so that
// the thread sanitizer sees what two processes would do; and one of them writes nonsense.
#include "collectives/shared_memory/shared_link.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "base/random.h"
#include "collectives/shared_memory/negotiation.h"
#include "collectives/testing/link_pair.h"
#include "collectives/testing/local_ranks.h"
#include "events/memory_sink.h"

namespace heddle::collectives {
namespace {

using engine::pattern;
using State = Link::Sight::State;

class SharedLinkThreads : public OverAll {};
INSTANTIATE_TEST_SUITE_P(Ways, SharedLinkThreads,
                         testing::Values(SharedMemory::kSlots, SharedMemory::kAuto),
                         [](const auto& each) { return way_name(each.param); });

// Each side sends and receives by turns, and sleeps whenever nothing moves.
TEST_P(SharedLinkThreads, NobodySleepsPastAMessage) {
  constexpr uint32_t kMessages = 400;
  LinkPair pair(GetParam());
  const auto size_of_message = [](uint32_t i) {
    return i % 20 == 19 ? kLong : uint64_t{i * 7919 % 9 * 9001};
  };
  std::atomic<int> oversleeps{0};
  const auto finish = [&pair, &oversleeps](int side, TestMessage& test) {
    const Nanos give_up = pair.endpoint(side).now() + engine::kTestPatience;
    while (!test.done) {
      ASSERT_LT(pair.endpoint(side).now(), give_up);
      ASSERT_FALSE(test.failed);
      const uint64_t came = test.message.came + test.message.taken;
      pair.look(side, test);
      if (!test.done && test.message.came + test.message.taken == came) {
        oversleeps += pair.endpoint(side).progress(seconds(20)) ? 0 : 1;
      }
    }
  };
  const auto run = [&](int side) {
    for (uint32_t i = 0; i < kMessages; ++i) {
      if (i % 2 == static_cast<uint32_t>(side)) {
        finish(side, *pair.sending(side, i % 3, pattern(size_of_message(i), i)));
        continue;
      }
      auto receive = pair.receiving(side, i % 3, size_of_message(i), i % 5 == 0);
      finish(side, *receive);
      ASSERT_TRUE((i % 5 == 0 ? receive->combined : receive->bytes) ==
                  pattern(size_of_message(i), i))
          << i;
    }
  };
  std::thread other([&run] { run(1); });
  run(0);
  other.join();
  EXPECT_EQ(oversleeps, 0);
}

// Both ends say which ring they mean by the length alone.
TEST(SharedLink, ALengthThatIsShorterThanExpectedEndsTheReceive) {
  struct Lengths {
    uint64_t received;
    uint64_t sent;
  };
  for (const SharedMemory way : {SharedMemory::kSlots, SharedMemory::kAuto}) {
    for (const Lengths& each : {Lengths{100'000, 100}, {90'000, 80'000}, {kLong, 100'000}}) {
      LinkPair pair(way);
      auto receive = pair.receiving(1, 2, each.received, false, true);
      auto send = pair.sending(0, 2, pattern(each.sent, 1), Signature{.number = 1});
      pair.look(0, *send);
      pair.look(1, *receive);
      EXPECT_TRUE(receive->failed) << each.received;
      EXPECT_TRUE(receive->message.signature_came);
    }
  }
}

TEST(SharedLink, AChannelThatFoundRoomLeavesTheOthersWaitForTheirs) {
  LinkPair pair(SharedMemory::kSlots);
  const auto first = pair.sending(0, 0, pattern(kLong, 1));
  const auto second = pair.sending(0, 1, pattern(kLong, 2));
  for (int i = 0; i < 12; ++i) {
    pair.look(0, *first);
    pair.look(0, *second);
  }
  auto received = pair.receiving(1, 0, kLong, false);
  pair.finish(0, *first, *received);
  EXPECT_NE(pair.shared().sides[0].blocked, 0u);
  received = pair.receiving(1, 1, kLong, false);
  pair.finish(0, *second, *received);
  EXPECT_EQ(pair.shared().sides[0].blocked, 0u);
}

TEST(SharedLink, NonsenseInTheSegmentTouchesNothingElse) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    LinkPair pair(round % 2 == 0 ? SharedMemory::kSlots : SharedMemory::kAuto);
    const bool stored = round % 3 == 0;
    const bool signs = round % 5 == 0;
    // In both rings, read where it is, or in one ring.
    const uint64_t bytes = round % 7 == 0 ? 80'000 : round % 7 == 1 ? kLong : 20'000;
    auto receive = pair.receiving(1, 2, bytes, stored, signs);
    receive->bytes.shrink_to_fit();  // the address sanitizer guards its end
    auto send = pair.sending(0, 2, pattern(bytes, 1),
                             signs ? std::optional(Signature{.number = 1}) : std::nullopt);
    for (int look = 0; look < 20; ++look) {
      pair.look(0, *send);
      Stream& stream = pair.shared().streams[0][2];
      Cell& cell = bytes == 80'000 && random.below(2) == 0
                       ? stream.long_cells[random.below(12)]
                       : stream.cells[random.below(kShortCells)];
      const uint64_t value = random.below(4) == 0 ? random.next() : random.below(30'000);
      switch (random.below(6)) {
        case 0:
          cell.here_bytes = static_cast<uint32_t>(value);
          break;
        case 1:
          cell.message_bytes = value;
          break;
        case 2:
          cell.address = value;
          break;
        case 3:
          cell.begins = static_cast<uint8_t>(value);
          break;
        case 4:
          cell.signs = static_cast<uint8_t>(value);
          break;
        default:
          cell.turn = static_cast<uint32_t>(random.below(4));
          break;
      }
      pair.look(1, *receive, 3000, random.below(8) == 0);
    }
    pair.give_back(1, *receive);
    EXPECT_LE(receive->combined.size(), bytes);
  }
}

// A receiver that pulled while the sender's call ended must not take what it got.
TEST(SharedLink, AnOfferIsVoidOnceItsCallHasEnded) {
  LinkPair pair(SharedMemory::kAuto);
  auto receive = pair.receiving(1, 2, kLong, false);
  auto send = pair.sending(0, 2, pattern(kLong, 1));
  pair.look(0, *send);
  EXPECT_TRUE(send->message.cells.pulled);
  pair.shared_link(0).shut();
  EXPECT_TRUE(pair.link(0).settled(send->message));
  for (int i = 0; i < 3; ++i) pair.look(1, *receive);
  EXPECT_FALSE(receive->done || receive->failed) << "the connection says why";
  EXPECT_EQ(receive->message.came, 0U);
}

TEST(SharedLink, AWrittenMessageCanBeReadAfterThePeerLeft) {
  LinkPair pair(SharedMemory::kSlots);
  auto send = pair.sending(0, 2, pattern(5000, 1));
  pair.look(0, *send);
  EXPECT_TRUE(send->done) << "it needs nobody";
  pair.shared_link(1).note_left();
  auto receive = pair.receiving(1, 2, 5000, false);
  pair.look(1, *receive);
  EXPECT_TRUE(receive->done);
  auto another = pair.receiving(1, 2, 5000, false);
  pair.look(1, *another);
  EXPECT_TRUE(another->failed) << "nothing comes any more";
}

TEST(SharedLink, AChildOfForkLeavesItToItsParent) {
  LinkPair pair(SharedMemory::kSlots);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    pair.shared_link(0).shut();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(pair.shared().sides[0].closed, 0U);
  pair.shared_link(0).shut();
  EXPECT_EQ(pair.shared().sides[0].closed, 1U);
}

// --- agreement ---

TEST(HostIdentity, AreWrittenAndReadAndCompared) {
  const HostIdentity here = host_identity().value();
  std::array<std::byte, HostIdentity::kBytes> bytes;
  here.write(bytes.data());
  EXPECT_EQ(HostIdentity::read(bytes.data()), here);
  EXPECT_EQ(difference(here, here), "");
  for (const auto& [change, text] :
       std::initializer_list<std::pair<void (*)(HostIdentity&), const char*>>{
           {[](HostIdentity& w) { ++w.boot; }, "different hosts"},
           {[](HostIdentity& w) { ++w.network; }, "network namespaces"},
           {[](HostIdentity& w) { ++w.host; }, "different names"},
           {[](HostIdentity& w) { ++w.user; }, "different users"}}) {
    HostIdentity there = here;
    change(there);
    EXPECT_NE(difference(here, there).find(text), std::string::npos) << difference(here, there);
  }
}

TEST(DescriptorChannel, AWrongNameFindsNoChannel) {
  const engine::DescriptorChannel channel = std::move(engine::DescriptorChannel::open()).value();
  engine::DescriptorChannelName wrong = channel.name();
  wrong[3] ^= std::byte{1};
  EXPECT_EQ(engine::connect_descriptor_channel(wrong).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(engine::connect_descriptor_channel(channel.name()).has_value());
}

// A peer that connects and passes its descriptor late is accepted.
TEST(SharedMemoryNegotiation, APeerThatPassesItsDescriptorLateIsAccepted) {
  engine::EndpointPair pair = engine::make_endpoints({});
  SharedMemoryNegotiation here(*pair.client);
  const MemoryOffer offer = here.offer().value();
  const Descriptor arrived = std::move(engine::connect_descriptor_channel(offer.channel)).value();
  const engine::DescriptorMessage message = {.group = 7, .member = 1};
  SharedPair made;
  EXPECT_EQ(here.take(1, message, false, made).step, MemoryAnswer::Step::kDeclined);
  Descriptor memory;
  const Segment segment = std::move(Segment::create(memory)).value();
  ASSERT_TRUE(engine::send_descriptors(arrived, message,
                                       {memory.number(), pair.server->wake_descriptor()}));
  EXPECT_EQ(here.take(1, message, false, made).step, MemoryAnswer::Step::kTaken);
}

TEST(Segment, MemoryThatMayShrinkIsRefused) {
  Descriptor whole;
  const Segment made = std::move(Segment::create(whole)).value();
  const Segment mapped = std::move(Segment::map(whole)).value();
  made.shared().sides[0].events = 42;
  EXPECT_EQ(mapped.shared().sides[0].events, 42U);
  const Descriptor other(memfd_create("heddle", MFD_CLOEXEC));
  EXPECT_EQ(Segment::map(other).error().code, ErrorCode::kInvalid);
}

// --- communicators ---

// Messages use shared memory only if both ranks allow it, otherwise the network.
TEST(SharedCommunicator, OneThatWantsTheNetworkGetsIt) {
  constexpr uint32_t kRanks = 3;
  std::array<events::MemorySink, kRanks> sinks;
  LocalOptions local = {.ranks = kRanks};
  for (events::MemorySink& sink : sinks) local.sinks.push_back(&sink);
  LocalRanks ranks(local);
  ranks.run_with_links([&](uint32_t rank, const std::shared_ptr<Links>& links) {
    CommunicatorOptions options;
    if (rank != 1) options.shared_memory = SharedMemory::kAuto;
    auto made = std::move(Communicator::create(links, ranks.members(rank), options)).value();
    std::vector<uint32_t> all(kRanks * 10'000);
    const std::vector<uint32_t> mine(10'000, rank);
    const Request call =
        made->all_gather({mine.data(), all.data(), mine.size(), DataType::kUint32}).value();
    ASSERT_TRUE(made->wait(call, kPatience));
    for (uint32_t from = 0; from < kRanks; ++from) EXPECT_EQ(all[from * 10'000 + 17], from);
  });
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    uint64_t received = 0;
    for (const auto& event : sinks[rank].all<events::SharedMessageCompleted>()) {
      if (event.direction == events::Direction::kReceived) received += event.bytes;
    }
    EXPECT_EQ(received > 0, rank != 1) << "rank " << rank;
  }
}

}  // namespace
}  // namespace heddle::collectives
