// Tests of Net over UDP on loopback: comms, multi-receives, memory, and ends in the middle.
#include "plugins/nccl/net/net.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nccl/net/handle.h"
#include "plugins/nccl/net/transfer_profile.h"
#include "plugins/nccl/profiler/net_events.h"
#include "plugins/nccl/testing/net_pair.h"

namespace heddle::nccl {
namespace {

void fill(std::vector<std::byte>& bytes, int seed) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 31 + static_cast<size_t>(seed) * 7) >> 2);
  }
}

Request* send(CommPair& comms, TestMemory& memory, size_t offset, size_t bytes, int tag = 0) {
  Request* request = nullptr;
  EXPECT_EQ(comms.send->send({memory.data() + offset, bytes, tag, memory.registration()}, request),
            kSuccess);
  return request;
}

Request* receive(CommPair& comms, TestMemory& memory, size_t offset, size_t bytes, int tag = 0) {
  Request* request = nullptr;
  const TransferBuffer buffer = {memory.data() + offset, bytes, tag, memory.registration()};
  EXPECT_EQ(comms.receive->receive({&buffer, 1}, request), kSuccess);
  return request;
}

TEST(NcclNet, AMessageArrivesInALargerReceiveAndBothSidesReportItsSize) {
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory out(nets.sender, *comms.send, 100'000);
    TestMemory in(*nets.receiver, *comms.receive, 200'000);
    fill(out.bytes(), 1);
    Request* const received = receive(comms, in, 0, 200'000);
    Request* const sent = send(comms, out, 0, 100'000);
    int sent_bytes = 0;
    int received_bytes = 0;
    finish_both(sent, &sent_bytes, received, &received_bytes);
    EXPECT_EQ(sent_bytes, 100'000);
    EXPECT_EQ(received_bytes, 100'000);
    EXPECT_TRUE(std::equal(out.bytes().begin(), out.bytes().end(), in.bytes().begin()));
  }
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNet, ThirtyTwoRequestsInFlightCompleteInAnyOrderOfTests) {
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory out(nets.sender, *comms.send, 32 * 5000);
    TestMemory in(*nets.receiver, *comms.receive, 32 * 5000);
    fill(out.bytes(), 2);
    std::vector<Request*> sends;
    std::vector<Request*> receives;
    for (size_t i = 0; i < 32; ++i) {
      sends.push_back(send(comms, out, i * 5000, 5000));
      receives.push_back(receive(comms, in, i * 5000, 5000));
    }
    for (size_t i = 32; i-- > 0;) {
      EXPECT_EQ(finish(receives[i]), kSuccess);
      EXPECT_EQ(finish(sends[i]), kSuccess);
    }
    EXPECT_EQ(out.bytes(), in.bytes());
  }
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNet, AMultiReceiveFillsEachBufferByTheSendOfItsTag) {
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory out(nets.sender, *comms.send, 8 * 1000);
    TestMemory in(*nets.receiver, *comms.receive, 8 * 1000);
    fill(out.bytes(), 3);
    for (int round = 0; round < 3; ++round) {
      std::vector<TransferBuffer> buffers;
      for (int i = 0; i < 8; ++i) {
        buffers.push_back({in.data() + i * 1000, 1000, 70'000 + i, in.registration()});
      }
      Request* received = nullptr;
      EXPECT_EQ(comms.receive->receive(buffers, received), kSuccess);
      std::vector<Request*> sends;
      for (int i = 7; i >= 0; --i) {  // in another order than that of the buffers
        sends.push_back(send(comms, out, static_cast<size_t>(i) * 1000,
                             1000 - static_cast<size_t>(i), 70'000 + i));
      }
      std::array<int, 8> sizes{};
      EXPECT_EQ(finish(received, sizes.data()), kSuccess);
      for (int i = 0; i < 8; ++i) EXPECT_EQ(sizes[static_cast<size_t>(i)], 1000 - i);
      for (Request* const each : sends) EXPECT_EQ(finish(each), kSuccess);
      for (size_t i = 0; i < 8; ++i) {
        const auto at = static_cast<std::ptrdiff_t>(i * 1000);
        EXPECT_TRUE(std::equal(out.bytes().begin() + at,
                               out.bytes().begin() + at + 1000 - static_cast<std::ptrdiff_t>(i),
                               in.bytes().begin() + at));
      }
    }
  }
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNet, ASendOfZeroBytesNeedsNoMemory) {
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory in(*nets.receiver, *comms.receive, 64);
    Request* const received = receive(comms, in, 0, 64);
    Request* sent = nullptr;
    EXPECT_EQ(comms.send->send({}, sent), kSuccess);
    int bytes = -1;
    finish_both(sent, nullptr, received, &bytes);
    EXPECT_EQ(bytes, 0);
  }
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNet, CommsOfOneLinkDoNotMixTheirMessages) {
  NetPair nets;
  std::vector<CommPair> comms;
  for (int i = 0; i < 12; ++i) comms.push_back(nets.join());
  for (size_t i = 0; i < comms.size(); ++i) {
    TestMemory out(nets.sender, *comms[i].send, 3000);
    TestMemory in(*nets.receiver, *comms[i].receive, 3000);
    fill(out.bytes(), static_cast<int>(i));
    Request* const sent = send(comms[i], out, 0, 3000, 5);
    EXPECT_EQ(finish(receive(comms[i], in, 0, 3000, 5)), kSuccess);
    EXPECT_EQ(finish(sent), kSuccess);
    EXPECT_EQ(out.bytes(), in.bytes());
  }
  for (CommPair& each : comms) {
    delete each.receive;
    delete each.send;
  }
}

TEST(NcclNet, MoreCommsThanALinkHasChannelsOpenAFurtherLink) {
  NetPair nets;
  std::vector<CommPair> comms;
  for (uint32_t i = 0; i < kLinkChannels + 4; ++i) comms.push_back(nets.join());
  CommPair& last = comms.back();
  {
    TestMemory out(nets.sender, *last.send, 100);
    TestMemory in(*nets.receiver, *last.receive, 100);
    fill(out.bytes(), 9);
    Request* const sent = send(last, out, 0, 100);
    EXPECT_EQ(finish(receive(last, in, 0, 100)), kSuccess);
    EXPECT_EQ(finish(sent), kSuccess);
    EXPECT_EQ(out.bytes(), in.bytes());
  }
  for (CommPair& each : comms) {
    delete each.send;
    delete each.receive;
  }
}

// NCCL's order at an abort: memory goes first, then the comms, and nothing is tested any more.
TEST(NcclNet, MemoryAndCommsGoInTheMiddleOfTransfers) {
  NetPair nets;
  for (int round = 0; round < 3; ++round) {
    CommPair comms = nets.join();
    {
      TestMemory out(nets.sender, *comms.send, 8 << 20);
      TestMemory in(*nets.receiver, *comms.receive, 8 << 20);
      static_cast<void>(send(comms, out, 0, 4 << 20));
      static_cast<void>(send(comms, out, 4 << 20, 4 << 20));
      static_cast<void>(receive(comms, in, 0, 4 << 20));
      if (round == 1) static_cast<void>(receive(comms, in, 4 << 20, 4 << 20, 99));  // no such tag
    }
    delete comms.receive;
    delete comms.send;
  }
}

TEST(NcclNet, DataOutsideOfRegisteredMemoryIsRefused) {
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory out(nets.sender, *comms.send, 1000);
    Request* request = nullptr;
    EXPECT_EQ(comms.send->send({out.data() + 1, 1000, 0, out.registration()}, request),
              kInvalidArgument);
    EXPECT_EQ(request, nullptr);
  }
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNet, AMessageLargerThanItsReceiveFailsBothSides) {
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory out(nets.sender, *comms.send, 50'000);
    TestMemory in(*nets.receiver, *comms.receive, 50'000);
    Request* const received = receive(comms, in, 0, 100);
    static_cast<void>(send(comms, out, 0, 50'000));
    EXPECT_EQ(finish(received), kInvalidUsage);
  }
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNet, APeerThatIsGoneIsARemoteErrorForEveryRequestOfTheComm) {
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory out(nets.sender, *comms.send, 1 << 20);
    Request* const sent = send(comms, out, 0, 1 << 20);
    // The receiving process ends, and its endpoint with it.
    nets.receiver.reset();
    delete comms.receive;
    EXPECT_EQ(finish(sent), kRemoteError);
    Request* again = nullptr;
    EXPECT_EQ(comms.send->send({out.data(), 10, 0, out.registration()}, again), kRemoteError);
  }
  delete comms.send;
}

struct ProfiledEvent {
  NetTransfer start;
  NetTransfer end;
  int starts = 0;
  int ends = 0;
};
Status profile(void** handle, int type, void* parent, int64_t plugin, void* descriptor) {
  EXPECT_EQ(plugin, kNetEventsId);
  auto& event = *static_cast<ProfiledEvent*>(parent);
  const NetTransfer& transfer = *static_cast<NetTransfer*>(descriptor);
  if (type == kNetEventStart) {
    event.start = transfer;
    ++event.starts;
    *handle = parent;
  } else {
    EXPECT_EQ(*handle, parent);
    event.end = transfer;
    ++event.ends;
  }
  return kSuccess;
}

TEST(NcclNet, ATransferIsReportedToTheProfilerFromPostToEnd) {
  set_profiler_callback(&profile);
  NetPair nets;
  CommPair comms = nets.join();
  {
    TestMemory out(nets.sender, *comms.send, 100'000);
    TestMemory in(*nets.receiver, *comms.receive, 100'000);
    ProfiledEvent sent;
    ProfiledEvent received;
    const TransferBuffer buffer = {in.data(), 100'000, 0, in.registration(), &received};
    Request* receive = nullptr;
    Request* send = nullptr;
    EXPECT_EQ(comms.receive->receive({&buffer, 1}, receive), kSuccess);
    EXPECT_EQ(comms.send->send({out.data(), 60'000, 0, out.registration(), &sent}, send), kSuccess);
    finish_both(send, nullptr, receive, nullptr);
    for (const ProfiledEvent& event : {sent, received}) {
      EXPECT_EQ(event.starts, 1);
      EXPECT_EQ(event.ends, 1);
      EXPECT_EQ(event.end.bytes, 60'000U);
      EXPECT_NE(event.end.connection, 0U);
    }
    EXPECT_EQ(sent.start.bytes, 60'000U);
    EXPECT_EQ(received.start.bytes, 100'000U);
    EXPECT_GT(sent.end.delay_ns, 0);
  }
  delete comms.send;
  delete comms.receive;
}

TEST(NcclNet, AForeignHandleAndAnotherVersionAreRefused) {
  NetPair nets;
  std::array<std::byte, kHandleBytes> handle{};
  Comm* comm = nullptr;
  EXPECT_EQ(nets.sender.connect(0, kUndefinedTrafficClass, HandleBytes(handle), comm),
            kInvalidArgument);
  const auto foreign = read_handle(handle);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().message(),
            "cannot connect to a peer: its handle is not heddle's, so it uses another network "
            "plugin (set NCCL_NET_PLUGIN=heddle and NCCL_NET=heddle on all ranks)");
  // The two bytes behind the magic number.
  for (const int version : {Handle::kVersion - 1, Handle::kVersion + 1, 0xff00, 0x0100}) {
    write_handle(HandleBytes(handle), {});
    handle[8] = static_cast<std::byte>(version & 0xff);
    handle[9] = static_cast<std::byte>(version >> 8);
    EXPECT_EQ(nets.sender.connect(0, kUndefinedTrafficClass, HandleBytes(handle), comm),
              kInvalidUsage);
    const auto other = read_handle(handle);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().why, "its heddle has version " + std::to_string(version) +
                                     " of the plugin's protocol, this one has version " +
                                     std::to_string(Handle::kVersion));
    EXPECT_EQ(other.error().todo, version < Handle::kVersion
                                      ? "upgrade heddle on the peer's machine"
                                      : "upgrade heddle on this machine");
  }
  EXPECT_EQ(comm, nullptr);
}

TEST(NcclNet, AListenerThatNobodyAnswersForIsARemoteError) {
  NetPair nets;
  std::array<std::byte, kHandleBytes> handle{};
  Handle nowhere = {.process = 1, .listener = 2};
  nowhere.address.host = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  nowhere.address.port = 1;
  write_handle(HandleBytes(handle), nowhere);
  Comm* comm = nullptr;
  Status status = kSuccess;
  for (int i = 0; i < kTestPolls && status == kSuccess; ++i) {
    status = nets.sender.connect(0, kUndefinedTrafficClass, HandleBytes(handle), comm);
  }
  EXPECT_NE(status, kSuccess);
  EXPECT_EQ(comm, nullptr);
}

TEST(NcclNet, TheLastFinalizeClosesDevicesAndTheNextInitOpensThemAgain) {
  NetPair nets;
  for (int round = 0; round < 2; ++round) {
    CommPair comms = nets.join();
    const std::weak_ptr<engine::Endpoint> used =
        std::weak_ptr<engine::Endpoint>(comms.send->attachment().shared_endpoint());
    EXPECT_EQ(nets.sender.init(), kSuccess);  // a second communicator
    nets.sender.finalize();
    EXPECT_FALSE(used.expired());
    delete comms.send;
    delete comms.receive;
    EXPECT_FALSE(used.expired());
    nets.sender.finalize();
    EXPECT_TRUE(used.expired());
    EXPECT_EQ(nets.sender.init(), kSuccess);
  }
}

TEST(NcclNet, AVirtualDeviceAddsTheSpeedsOfItsMembers) {
  Net net(loopback_sources());
  EXPECT_EQ(net.init(), kSuccess);
  int index = 0;
  const std::array<int, 2> members = {0, 1};
  EXPECT_EQ(net.make_virtual_device(members, index), kSuccess);
  EXPECT_EQ(index, 2);
  EXPECT_EQ(net.device(index)->speed_mbits, 30'000);
  EXPECT_EQ(net.device(index)->name, "lo+lo2");
  const std::array<int, 1> unknown = {7};
  EXPECT_EQ(net.make_virtual_device(unknown, index), kInvalidArgument);
}

}  // namespace
}  // namespace heddle::nccl
