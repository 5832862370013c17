// A verbs datapath whose device fails: it goes on as one of datagrams. And memory of devices.
#include "datapath/verbs/verbs_datapath.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "datapath/rdma_devices.h"
#include "datapath/udp.h"
#include "datapath/verbs/exchange_message.h"
#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

RdmaChoice fake_choice() {
  RdmaChoice choice;
  choice.device = "fake0";
  choice.gid.address = *parse_rdma_address("127.0.0.1");
  return choice;
}

TEST(VerbsDatapathTest, AFailedDeviceEndsNoWait) {
  FakeVerbs fake;
  const auto opened =
      VerbsDatapath::open({.paths = 1, .chunk_paths = 1}, {fake_choice(), &fake.library()});
  ASSERT_TRUE(opened) << opened.error().message();
  VerbsDatapath& datapath = **opened;
  fake.report(IBV_EVENT_DEVICE_FATAL);
  datapath.wait(datapath.now() + seconds(10));
  datapath.serve();
  const Nanos end = datapath.now() + millis(20);
  int waits = 0;
  for (; datapath.now() < end && waits < 100; ++waits) datapath.wait(end);
  EXPECT_LT(waits, 100) << "each ends at once";
}

class DeviceMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened =
        VerbsDatapath::open({.paths = 1, .chunk_paths = 1}, {fake_choice(), &fake_.library()});
    ASSERT_TRUE(opened) << opened.error().message();
    datapath_ = std::move(*opened);
  }
  DeviceMemory memory() { return {.dmabuf = 9, .offset = 4096, .mapping = mapping_.data()}; }

  FakeVerbs fake_;
  std::array<std::byte, 8192> mapping_{};
  std::unique_ptr<VerbsDatapath> datapath_;
};

TEST_F(DeviceMemoryTest, IsRegisteredAtOnceByItsDmabufAndUnregisteredWithTheRegion) {
  fake_.take_dmabufs(0);
  const auto first = datapath_->register_device_memory(memory(), mapping_.size());
  ASSERT_TRUE(first) << first.error().message();
  const auto second = datapath_->register_device_memory(memory(), mapping_.size());
  ASSERT_TRUE(second);
  const FakeVerbs::Dmabuf expected{4096, 8192, reinterpret_cast<uintptr_t>(mapping_.data()), 9};
  EXPECT_EQ(fake_.dmabufs(), std::vector{expected}) << "both share one registration";
  const auto token = read_token(datapath_->token(*first));
  ASSERT_TRUE(token);
  EXPECT_EQ(token->remote_key, FakeVerbs::kDmabufKey);
  EXPECT_EQ(token->address, reinterpret_cast<uintptr_t>(mapping_.data()));
  datapath_->unregister_memory(*first);
  EXPECT_EQ(fake_.dmabufs().size(), 1U);
  datapath_->unregister_memory(*second);
  EXPECT_TRUE(fake_.dmabufs().empty());
}

TEST_F(DeviceMemoryTest, AFailedRegistrationNamesTheReason) {
  const auto refused = [&](const char* reason) {
    const auto region = datapath_->register_device_memory(memory(), mapping_.size());
    ASSERT_FALSE(region);
    EXPECT_THAT(region.error().message(), testing::HasSubstr(reason));
    EXPECT_THAT(region.error().message(), testing::HasSubstr("fake0"));
  };
  refused("no dmabuf");  // a library without the function
  fake_.take_dmabufs(EOPNOTSUPP);
  refused("cannot reach other devices' memory");
  fake_.take_dmabufs(EBADF);
  refused("Bad file descriptor");
  fake_.take_dmabufs(ENOMEM);
  refused("ulimit -l");
  // Nothing is left of them.
  fake_.take_dmabufs(0);
  EXPECT_TRUE(datapath_->register_device_memory(memory(), mapping_.size()));
  EXPECT_EQ(fake_.dmabufs().size(), 1U);
}

TEST(DeviceMemoryElsewhere, ADatapathThatCopiesSaysWhatToDo) {
  const auto udp = open_udp({.bind = "127.0.0.1", .paths = 1});
  ASSERT_TRUE(udp);
  std::byte mapping{};
  const auto region = (*udp)->register_device_memory({.dmabuf = 0, .mapping = &mapping}, 1);
  ASSERT_FALSE(region);
  EXPECT_EQ(region.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(region.error().message(), testing::HasSubstr("register its mapping"));
}

}  // namespace
}  // namespace heddle::datapath
