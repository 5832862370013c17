// The exported net tables, driven as each version of NCCL drives them: by two threads, one that
// connects and one that transfers, with requests that are preset and comms that are polled.
#include "plugins/nccl/exports/net_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace heddle::nccl {
namespace {

// The forms that calls have in the versions, behind one.
template <typename Net>
struct Api {
  static constexpr bool kContext = requires(Net net) { net.finalize; };
  static constexpr bool kConfig = std::is_same_v<Net, v10::Net>;
  static constexpr bool kIntSizes =
      std::is_same_v<Net, v6::Net> || std::is_same_v<Net, v7::Net> || std::is_same_v<Net, v8::Net>;
  static constexpr bool kOffload = !std::is_same_v<Net, v6::Net>;

  const Net& net;
  void* context = nullptr;

  Status init() {
    if constexpr (kContext) {
      decltype(config_type(net.init)) config = {kUndefinedTrafficClass};
      return net.init(&context, 7, &config, nullptr, nullptr);
    } else if constexpr (kConfig) {
      return net.init(nullptr, nullptr);
    } else {
      return net.init(nullptr);
    }
  }
  template <typename Config>
  static Config config_type(Status (*)(void**, uint64_t, Config*, Logger, ProfilerCallback));

  Status listen(void* handle, void** comm) {
    if constexpr (kContext) {
      return net.listen(context, 0, handle, comm);
    } else {
      return net.listen(0, handle, comm);
    }
  }
  Status connect(void* handle, void** comm) {
    if constexpr (kContext) {
      return net.connect(context, 0, handle, comm, nullptr);
    } else if constexpr (kConfig) {
      v10::CommConfig config = {kUndefinedTrafficClass};
      return net.connect(0, &config, handle, comm, nullptr);
    } else if constexpr (kOffload) {
      return net.connect(0, handle, comm, nullptr);
    } else {
      return net.connect(0, handle, comm);
    }
  }
  Status accept(void* listen, void** comm) {
    if constexpr (kOffload) {
      return net.accept(listen, comm, nullptr);
    } else {
      return net.accept(listen, comm);
    }
  }
  Status isend(void* comm, std::vector<std::byte>& data, void* mhandle, void** request) {
    if constexpr (kContext || kConfig) {
      return net.isend(comm, data.data(), data.size(), 5, mhandle, nullptr, request);
    } else if constexpr (kIntSizes) {
      return net.isend(comm, data.data(), static_cast<int>(data.size()), 5, mhandle, request);
    } else {
      return net.isend(comm, data.data(), data.size(), 5, mhandle, request);
    }
  }
  Status irecv(void* comm, std::vector<std::byte>& data, void* mhandle, void** request) {
    void* start = data.data();
    std::conditional_t<kIntSizes, int, size_t> size = {};
    size = static_cast<decltype(size)>(data.size());
    int tag = 5;
    if constexpr (kContext || kConfig) {
      return net.irecv(comm, 1, &start, &size, &tag, &mhandle, nullptr, request);
    } else {
      return net.irecv(comm, 1, &start, &size, &tag, &mhandle, request);
    }
  }
};

template <typename Net>
const Net& table();
template <>
const v12::Net& table() {
  return ncclNetPlugin_v12;
}
template <>
const v11::Net& table() {
  return ncclNetPlugin_v11;
}
template <>
const v10::Net& table() {
  return ncclNetPlugin_v10;
}
template <>
const v9::Net& table() {
  return ncclNetPlugin_v9;
}
template <>
const v8::Net& table() {
  return ncclNetPlugin_v8;
}
template <>
const v7::Net& table() {
  return ncclNetPlugin_v7;
}
template <>
const v6::Net& table() {
  return ncclNetPlugin_v6;
}

template <typename Net>
class NetTable : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("HEDDLE_IFNAME", "=lo", 1); }

  Api<Net> api_{table<Net>()};
};

using Versions = testing::Types<v6::Net, v7::Net, v8::Net, v9::Net, v10::Net, v11::Net, v12::Net>;
TYPED_TEST_SUITE(NetTable, Versions);

template <typename Properties>
Properties properties_type(Status (*)(int, Properties*));
template <typename Net>
using PropertiesOf = decltype(properties_type(Net{}.get_properties));

constexpr int kPolls = 2'000'000;

// A comm of this process with itself: a rank may connect to its own listener.
struct Joined {
  void* send = nullptr;
  void* receive = nullptr;
};

template <typename Net>
void join(Api<Net>& api, Joined& joined) {
  std::array<char, kHandleBytes> handle{};
  void* listen = nullptr;
  ASSERT_EQ(api.listen(handle.data(), &listen), kSuccess);
  for (int i = 0; i < kPolls && (joined.send == nullptr || joined.receive == nullptr); ++i) {
    if (joined.send == nullptr) {
      ASSERT_EQ(api.connect(handle.data(), &joined.send), kSuccess);
    }
    if (joined.receive == nullptr) {
      ASSERT_EQ(api.accept(listen, &joined.receive), kSuccess);
    }
  }
  ASSERT_NE(joined.send, nullptr);
  ASSERT_NE(joined.receive, nullptr);
  ASSERT_EQ(api.net.close_listen(listen), kSuccess);
}

// What NCCL's progress thread does: 50 messages, each tested until both sides are done.
template <typename Net>
void transfer(Api<Net>& api, const Joined& comms) {
  std::vector<std::byte> out(50'000);
  std::vector<std::byte> in(60'000);
  void* out_memory = nullptr;
  void* in_memory = nullptr;
  EXPECT_EQ(api.net.reg_mr(comms.send, out.data(), 50'000, kPointerHost, &out_memory), kSuccess);
  EXPECT_EQ(api.net.reg_mr(comms.receive, in.data(), 60'000, kPointerHost, &in_memory), kSuccess);
  for (int round = 0; round < 50; ++round) {
    for (std::byte& byte : out) byte = static_cast<std::byte>(round * 3 + 1);
    void* sent = nullptr;
    void* received = reinterpret_cast<void*>(1);  // as NCCL presets it for LL
    EXPECT_EQ(api.irecv(comms.receive, in, in_memory, &received), kSuccess);
    EXPECT_EQ(api.isend(comms.send, out, out_memory, &sent), kSuccess);
    ASSERT_NE(sent, nullptr);
    ASSERT_NE(received, nullptr);
    int sent_done = 0;
    int received_done = 0;
    int size = 0;
    for (int i = 0; i < kPolls && (sent_done == 0 || received_done == 0); ++i) {
      if (sent_done == 0) {
        EXPECT_EQ(api.net.test(sent, &sent_done, nullptr), kSuccess);
      }
      if (received_done == 0) {
        EXPECT_EQ(api.net.test(received, &received_done, &size), kSuccess);
      }
    }
    EXPECT_EQ(size, 50'000);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
  }
  EXPECT_EQ(api.net.dereg_mr(comms.send, out_memory), kSuccess);
  EXPECT_EQ(api.net.dereg_mr(comms.receive, in_memory), kSuccess);
}

TYPED_TEST(NetTable, TransfersWhileTheServiceThreadConnectsAndRegisters) {
  auto& api = this->api_;
  const TypeParam& net = api.net;
  EXPECT_STREQ(net.name, "heddle");
  ASSERT_EQ(api.init(), kSuccess);
  int devices = 0;
  ASSERT_EQ(net.devices(&devices), kSuccess);
  ASSERT_EQ(devices, 1);
  Joined first;
  ASSERT_NO_FATAL_FAILURE(join(api, first));
  std::atomic<bool> over = false;
  std::thread progress([&] {
    transfer(api, first);
    over = true;
  });
  do {
    Joined next;
    join(api, next);
    std::vector<std::byte> memory(1 << 20);
    void* mhandle = nullptr;
    EXPECT_EQ(net.reg_mr(next.send, memory.data(), 1 << 20, kPointerHost, &mhandle), kSuccess);
    EXPECT_EQ(net.dereg_mr(next.send, mhandle), kSuccess);
    EXPECT_EQ(net.close_send(next.send), kSuccess);
    EXPECT_EQ(net.close_recv(next.receive), kSuccess);
  } while (!over);
  progress.join();
  EXPECT_EQ(net.close_send(first.send), kSuccess);
  EXPECT_EQ(net.close_recv(first.receive), kSuccess);
  if constexpr (Api<TypeParam>::kContext) {
    EXPECT_EQ(net.finalize(api.context), kSuccess);
    EXPECT_EQ(net.finalize(nullptr), kSuccess);  // after an init that failed
  }
}

TYPED_TEST(NetTable, PropertiesAreOfTheInterfaceAndWrongDevicesAreRefused) {
  auto& api = this->api_;
  ASSERT_EQ(api.init(), kSuccess);
  PropertiesOf<TypeParam> properties;
  ASSERT_EQ(api.net.get_properties(0, &properties), kSuccess);
  EXPECT_STREQ(properties.name, "lo");
  EXPECT_EQ(properties.pointers, kPointerHost);
  EXPECT_EQ(properties.max_recvs, 8);
  EXPECT_GT(properties.speed_mbps, 0);
  EXPECT_NE(properties.guid, 0U);
  EXPECT_EQ(api.net.get_properties(9, &properties), kInvalidArgument);
  EXPECT_EQ(api.net.get_properties(-1, &properties), kInvalidArgument);
  if constexpr (Api<TypeParam>::kContext) {
    EXPECT_EQ(api.net.finalize(api.context), kSuccess);
  }
}

TEST(NetTables, ARecordingThatCannotBeWrittenStopsNoJob) {
  setenv("HEDDLE_IFNAME", "=lo", 1);
  setenv("HEDDLE_RECORD", "/proc/heddle-cannot-write-here", 1);
  // A device of its own, since an endpoint is opened once.
  int device = 0;
  ASSERT_EQ(ncclNetPlugin_v9.init(nullptr), kSuccess);
  v9::VirtualDevice parts = {.count = 1, .devices = {0}};
  ASSERT_EQ(ncclNetPlugin_v9.make_virtual_device(&device, &parts), kSuccess);
  std::array<char, kHandleBytes> handle{};
  void* listen = nullptr;
  EXPECT_EQ(ncclNetPlugin_v9.listen(device, handle.data(), &listen), kSuccess);
  EXPECT_EQ(ncclNetPlugin_v9.close_listen(listen), kSuccess);
  unsetenv("HEDDLE_RECORD");
}

TEST(NetTables, MemoryOfAGpuAndCallsWithoutObjectsAreRefused) {
  void* mhandle = nullptr;
  int done = 0;
  EXPECT_EQ(ncclNetPlugin_v12.reg_mr(nullptr, nullptr, 1, kPointerCuda, &mhandle),
            kInvalidArgument);
  EXPECT_EQ(ncclNetPlugin_v12.reg_mr_dmabuf, nullptr);
  EXPECT_EQ(ncclNetPlugin_v12.test(nullptr, &done, nullptr), kInvalidArgument);
  void* request = reinterpret_cast<void*>(1);
  EXPECT_EQ(ncclNetPlugin_v12.isend(nullptr, nullptr, 0, 0, nullptr, nullptr, &request),
            kInvalidArgument);
  EXPECT_EQ(request, nullptr);
  request = reinterpret_cast<void*>(1);
  EXPECT_EQ(ncclNetPlugin_v12.iflush(nullptr, 0, nullptr, nullptr, nullptr, &request), kSuccess);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(ncclNetPlugin_v12.close_send(nullptr), kSuccess);
}

}  // namespace
}  // namespace heddle::nccl
