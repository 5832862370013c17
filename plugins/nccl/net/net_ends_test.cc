// Tests of Net: what one side sees when the other closes comms, listeners and devices, or uses what
// is not its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/nccl/net/net.h"
#include "plugins/nccl/testing/net_pair.h"

namespace heddle::nccl {
namespace {

// Polls of a request that wait for a second to pass take long: no limit but the test's own.
Status test_until_end(Request* request) {
  Status status = kSuccess;
  bool done = false;
  while (!done && status == kSuccess) status = request->comm->test(*request, done, nullptr);
  return status;
}

void close(CommPair& comms) {
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNetEnds, VirtualDevicesAreGoneWhenNcclLoadsThePluginAgain) {
  Net net(loopback_sources());
  ASSERT_EQ(net.init(), kSuccess);
  int index = 0;
  const std::array<int, 2> members = {0, 1};
  ASSERT_EQ(net.make_virtual_device(members, index), kSuccess);
  EXPECT_EQ(net.devices(), 3);
  net.finalize();
  ASSERT_EQ(net.init(), kSuccess);
  EXPECT_EQ(net.devices(), 2);
}

TEST(NcclNetEnds, ADeviceWithThreadsSharesItsCommsAmongAsManyEndpoints) {
  for (const auto& [sender_threads, receiver_threads] : {std::pair(0, 2), {4, 4}, {3, 0}}) {
    NetPair nets(sender_threads, receiver_threads);
    std::vector<CommPair> comms;
    std::map<engine::Endpoint*, int> connected;
    std::map<engine::Endpoint*, int> accepted;
    for (int i = 0; i < 12; ++i) {
      comms.push_back(nets.join());
      ++connected[&comms.back().send->attachment().endpoint()];
      ++accepted[&comms.back().receive->attachment().endpoint()];
    }
    for (const auto& [counts, threads] :
         {std::pair(&connected, sender_threads), {&accepted, receiver_threads}}) {
      ASSERT_EQ(counts->size(), static_cast<size_t>(std::max(1, threads)));
      for (const auto& each : *counts) {
        EXPECT_EQ(each.second, 12 / std::max(1, threads));
      }
    }
    for (CommPair& each : comms) {
      {
        TestMemory out(nets.sender, *each.send, 300'000);
        TestMemory in(*nets.receiver, *each.receive, 300'000);
        std::ranges::fill(out.bytes(), std::byte{7});
        const TransferBuffer buffer = {in.data(), 300'000, 0, in.registration()};
        Request* sent = nullptr;
        Request* received = nullptr;
        EXPECT_EQ(each.receive->receive({&buffer, 1}, received), kSuccess);
        EXPECT_EQ(each.send->send({out.data(), 300'000, 0, out.registration()}, sent), kSuccess);
        finish_both(sent, nullptr, received, nullptr);
        EXPECT_EQ(out.bytes(), in.bytes());
      }
      close(each);
    }
  }
}

TEST(NcclNetEnds, EachOfManyCommsHasRoomForSeveralTags) {
  NetPair nets;
  std::vector<CommPair> comms;
  for (int i = 0; i < 100; ++i) comms.push_back(nets.join());
  for (int tag = 0; tag < static_cast<int>(kChannelsAComm); ++tag) {
    for (CommPair& each : comms) {
      Request* sent = nullptr;
      Status status = kSuccess;
      for (int i = 0; i < kTestPolls && sent == nullptr && status == kSuccess; ++i) {
        status = each.send->send({.tag = tag}, sent);
        if (sent != nullptr) break;
        each.send->attachment().pump();
        each.receive->attachment().pump();
      }
      ASSERT_EQ(status, kSuccess);
    }
  }
  for (CommPair& each : comms) {
    delete each.receive;
    delete each.send;
  }
}

TEST(NcclNetEnds, ASendToACommThatThePeerClosedFailsAndOtherCommsGoOn) {
  NetPair nets;
  CommPair first = nets.join();
  CommPair second = nets.join();
  delete first.receive;
  {
    TestMemory out(nets.sender, *first.send, 100);
    Request* sent = nullptr;
    ASSERT_EQ(first.send->send({out.data(), 100, 0, out.registration()}, sent), kSuccess);
    EXPECT_EQ(test_until_end(sent), kRemoteError);
  }
  delete first.send;
  Request* sent = nullptr;
  Request* received = nullptr;
  const TransferBuffer nothing = {};
  ASSERT_EQ(second.receive->receive({&nothing, 1}, received), kSuccess);
  ASSERT_EQ(second.send->send(nothing, sent), kSuccess);
  finish_both(sent, nullptr, received, nullptr);
  close(second);
}

TEST(NcclNetEnds, ACommToAListenerThatIsClosedFails) {
  NetPair nets;
  CommPair other = nets.join();  // keeps the link open
  std::array<std::byte, kHandleBytes> handle{};
  ListenComm* listen = nullptr;
  ASSERT_EQ(nets.receiver->listen(0, kUndefinedTrafficClass, HandleBytes(handle), listen),
            kSuccess);
  listen->attachment->close_listener(listen->listener);
  Comm* comm = nullptr;
  for (int i = 0; i < kTestPolls && comm == nullptr; ++i) {
    ASSERT_EQ(nets.sender.connect(0, kUndefinedTrafficClass, HandleBytes(handle), comm), kSuccess);
  }
  ASSERT_NE(comm, nullptr);
  Request* sent = nullptr;
  ASSERT_EQ(static_cast<SendComm*>(comm)->send({}, sent), kSuccess);
  Status status = kSuccess;
  bool done = false;
  while (!done && status == kSuccess) {
    listen->attachment->pump();  // as accept() of another listener does
    status = comm->test(*sent, done, nullptr);
  }
  EXPECT_EQ(status, kRemoteError);
  delete comm;
  delete listen;
  close(other);
}

TEST(NcclNetEnds, MemoryOfAnotherDeviceIsRefused) {
  NetPair nets;
  CommPair comms = nets.join();
  std::array<std::byte, kHandleBytes> handle{};
  ListenComm* listen = nullptr;
  ASSERT_EQ(nets.receiver->listen(0, kUndefinedTrafficClass, HandleBytes(handle), listen),
            kSuccess);
  Comm* send = nullptr;
  Comm* receive = nullptr;
  for (int i = 0; i < kTestPolls && (send == nullptr || receive == nullptr); ++i) {
    if (send == nullptr) {
      ASSERT_EQ(nets.sender.connect(1, kUndefinedTrafficClass, HandleBytes(handle), send),
                kSuccess);
    }
    if (receive == nullptr) {
      ASSERT_EQ(nets.receiver->accept(*listen, receive), kSuccess);
    }
  }
  ASSERT_NE(send, nullptr);
  {
    TestMemory of_device_0(nets.sender, *comms.send, 4096);
    Request* sent = nullptr;
    EXPECT_EQ(static_cast<SendComm*>(send)->send(
                  {of_device_0.data(), 4096, 0, of_device_0.registration()}, sent),
              kInvalidArgument);
  }
  delete send;
  delete receive;
  delete listen;
  close(comms);
}

TEST(NcclNetEnds, MemoryOfADeferredReceiveGoesWithTheReceive) {
  NetPair nets;
  CommPair comms = nets.join();
  std::vector<std::byte> in(4096);
  Registration* memory = nullptr;
  ASSERT_EQ(nets.receiver->register_memory(*comms.receive, in.data(), 4096, kPointerHost, memory),
            kSuccess);
  const TransferBuffer buffer = {in.data(), 4096, 7, memory};
  Request* received = nullptr;
  ASSERT_EQ(comms.receive->receive({&buffer, 1}, received), kSuccess);
  EXPECT_EQ(nets.receiver->unregister_memory(*comms.receive, memory), kSuccess);
  bool done = false;
  EXPECT_EQ(received->comm->test(*received, done, nullptr), kInvalidArgument);
  close(comms);
}

}  // namespace
}  // namespace heddle::nccl
