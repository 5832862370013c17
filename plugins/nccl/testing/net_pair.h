// NetPair: two Nets of one process over UDP on loopback, as two ranks of NCCL would have them, and
// the calls of NCCL's threads on them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "plugins/nccl/net/net.h"

namespace heddle::nccl {

// Polls; a test that needs more has failed.
inline constexpr int kTestPolls = 2'000'000;

inline NetSources loopback_sources(int threads = 0) {
  NetSources sources;
  sources.devices = [threads]() -> Result<std::vector<Device>> {
    return std::vector<Device>{Device{.name = "lo",
                                      .guid = 1,
                                      .speed_mbits = 10'000,
                                      .members = {0},
                                      .interfaces = {"127.0.0.1"},
                                      .threads = threads},
                               Device{.name = "lo2",
                                      .guid = 2,
                                      .speed_mbits = 20'000,
                                      .members = {1},
                                      .interfaces = {"127.0.0.1"},
                                      .threads = threads}};
  };
  sources.open = [](const Device& device, int) -> Result<std::shared_ptr<engine::Endpoint>> {
    engine::Options options;
    fit_for_links(options);
    if (device.threads > 0) options.drive = engine::Drive::kThread;
    options.transport.default_paths = 4;
    options.transport.peer_dead_after = seconds(3);  // a helper may wait for a core
    auto opened = engine::Endpoint::open({.bind = device.interfaces.front()}, options);
    if (!opened) return fail(opened.error());
    return std::shared_ptr<engine::Endpoint>(std::move(*opened));
  };
  // Shared by the copies, so that no two endpoints have the same.
  sources.numbers = [next = std::make_shared<uint64_t>(1000)] { return ++*next; };
  return sources;
}

// One comm between two Nets.
struct CommPair {
  SendComm* send = nullptr;
  ReceiveComm* receive = nullptr;
};

class NetPair {
 public:
  // `threads`: of a device on either side.
  explicit NetPair(int sender_threads = 0, int receiver_threads = 0)
      : sender(loopback_sources(sender_threads)),
        receiver(std::make_unique<Net>(loopback_sources(receiver_threads))) {
    EXPECT_EQ(sender.init(), kSuccess);
    EXPECT_EQ(receiver->init(), kSuccess);
  }

  // Listens, connects and accepts as NCCL's service threads do, in turns.
  CommPair join() {
    std::array<std::byte, kHandleBytes> handle{};
    ListenComm* listen = nullptr;
    EXPECT_EQ(receiver->listen(0, kUndefinedTrafficClass, HandleBytes(handle), listen), kSuccess);
    Comm* send = nullptr;
    Comm* receive = nullptr;
    for (int i = 0; i < kTestPolls && (send == nullptr || receive == nullptr); ++i) {
      if (send == nullptr) {
        EXPECT_EQ(sender.connect(0, kUndefinedTrafficClass, HandleBytes(handle), send), kSuccess);
      }
      if (receive == nullptr) {
        EXPECT_EQ(receiver->accept(*listen, receive), kSuccess);
      }
      std::this_thread::yield();  // to the endpoints' own threads, if they have any
    }
    EXPECT_NE(send, nullptr);
    EXPECT_NE(receive, nullptr);
    listen->attachment->close_listener(listen->listener);
    delete listen;
    return {static_cast<SendComm*>(send), static_cast<ReceiveComm*>(receive)};
  }

  Net sender;
  std::unique_ptr<Net> receiver;
};

// Memory registered with a comm.
class TestMemory {
 public:
  TestMemory(Net& net, Comm& comm, size_t bytes) : net_(net), comm_(comm), bytes_(bytes) {
    EXPECT_EQ(net.register_memory(comm, bytes_.data(), bytes, kPointerHost, registration_),
              kSuccess);
  }
  ~TestMemory() { EXPECT_EQ(net_.unregister_memory(comm_, registration_), kSuccess); }
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  std::byte* data() { return bytes_.data(); }
  std::vector<std::byte>& bytes() { return bytes_; }
  Registration* registration() { return registration_; }

 private:
  Net& net_;
  Comm& comm_;
  std::vector<std::byte> bytes_;
  Registration* registration_ = nullptr;
};

// Polls the two sides' requests in turns, as their processes do, until both are done.
inline void finish_both(Request* sent, int* sent_bytes, Request* received, int* received_bytes) {
  bool sent_done = false;
  bool received_done = false;
  for (int i = 0; i < kTestPolls && !(sent_done && received_done); ++i) {
    if (!sent_done) {
      ASSERT_EQ(sent->comm->test(*sent, sent_done, sent_bytes), kSuccess);
    }
    if (!received_done) {
      ASSERT_EQ(received->comm->test(*received, received_done, received_bytes), kSuccess);
    }
    std::this_thread::yield();
  }
  EXPECT_TRUE(sent_done && received_done);
}

// Polls until the request is done or has failed.
inline Status finish(Request* request, int* sizes = nullptr) {
  Status status = kSuccess;
  bool done = false;
  for (int i = 0; i < kTestPolls && !done && status == kSuccess; ++i) {
    status = request->comm->test(*request, done, sizes);
  }
  EXPECT_TRUE(done || status != kSuccess);
  return status;
}

}  // namespace heddle::nccl
