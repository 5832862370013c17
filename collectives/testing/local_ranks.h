// LocalRanks: ranks as threads of this process, each with an endpoint of its own on loopback, for
// tests of communicators over real sockets.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

// Longer than anything takes that works; a test that reaches it has failed.
inline constexpr Nanos kPatience = seconds(60);

struct LocalOptions {
  uint32_t ranks = 2;
  std::string bind = "127.0.0.1";
  engine::Options engine;
  CommunicatorOptions communicator;
  uint64_t communicator_id = 7;
  SharedMemory shared_memory = SharedMemory::kNever;
  std::vector<events::Sink*> sinks;  // empty, or one a rank
};

// Tests of what holds whatever carries the messages.
class OverAll : public testing::TestWithParam<SharedMemory> {};

inline std::string way_name(SharedMemory way) {
  if (way == SharedMemory::kNever) return "Network";
  return way == SharedMemory::kSlots ? "Slots" : "Pulls";
}

inline const auto kAllRoutes =
    testing::Values(SharedMemory::kNever, SharedMemory::kSlots, SharedMemory::kAuto);

class LocalRanks {
 public:
  explicit LocalRanks(LocalOptions options) : options_(std::move(options)) {
    options_.engine.transport.accept = true;
    options_.communicator.shared_memory = options_.shared_memory;
    options_.engine.eager_bytes = mebibytes(1);
    for (uint32_t rank = 0; rank < options_.ranks; ++rank) {
      options_.engine.seed = rank + 1;
      if (!options_.sinks.empty()) options_.engine.sink = options_.sinks[rank];
      auto endpoint = engine::Endpoint::open({.bind = options_.bind}, options_.engine);
      EXPECT_TRUE(endpoint.has_value()) << endpoint.error().message();
      addresses_.push_back((*endpoint)->local_address());
      endpoints_.push_back(std::move(*endpoint));
    }
  }

  Members members(uint32_t rank) const { return {options_.communicator_id, rank, addresses_}; }
  engine::Endpoint& endpoint(uint32_t rank) { return *endpoints_[rank]; }
  // The process of this rank is gone.
  void drop(uint32_t rank) { endpoints_[rank].reset(); }

  // Makes a communicator in each rank's thread and runs `body` with it.
  void run(const std::function<void(Communicator&)>& body) {
    run_with_links([this, &body](uint32_t rank, const std::shared_ptr<Links>& links) {
      auto made = Communicator::create(links, members(rank), options_.communicator);
      ASSERT_TRUE(made.has_value()) << made.error().message();
      body(**made);
    });
  }

  void run_with_links(
      const std::function<void(uint32_t rank, const std::shared_ptr<Links>&)>& body) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < options_.ranks; ++rank) {
      if (endpoints_[rank] == nullptr) continue;  // dropped
      threads.emplace_back(
          [this, rank, &body] { body(rank, std::make_shared<Links>(*endpoints_[rank])); });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  LocalOptions options_;
  std::vector<std::unique_ptr<engine::Endpoint>> endpoints_;
  std::vector<transport::Address> addresses_;
};

}  // namespace heddle::collectives
