// Registrations are shared by range, end with the last region, and failures are not repeated.
#include "datapath/verbs/memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace heddle::datapath {
namespace {

class FakeRegistrar final : public MemoryRegistrar {
 public:
  RegisteredRange add(void* start, uint64_t bytes) override {
    if (refuses) return {};
    added.push_back({start, bytes});
    RegisteredRange range;
    range.memory = reinterpret_cast<ibv_mr*>(start);
    range.local_key = range.remote_key = static_cast<uint32_t>(added.size());
    range.writable = true;
    return range;
  }
  RegisteredRange add_device(const DeviceMemory& memory, uint64_t bytes) override {
    return add(memory.mapping, bytes);
  }
  void remove(const RegisteredRange& range) override { removed.push_back(range.remote_key); }

  bool refuses = false;
  std::vector<std::pair<void*, uint64_t>> added;
  std::vector<uint32_t> removed;
};

class RegisteredMemoryTest : public testing::Test {
 protected:
  std::byte bytes_[256] = {};
  FakeRegistrar nic_;
  RegisteredMemory memory_{nic_};
};

TEST_F(RegisteredMemoryTest, EqualRangesShareARegistrationUntilTheLastEnds) {
  EXPECT_EQ(memory_.find(3, bytes_, 256).remote_key, 1u);
  EXPECT_EQ(memory_.find(3, bytes_, 256).remote_key, 1u);
  EXPECT_EQ(memory_.find(5, bytes_, 256).remote_key, 1u);
  EXPECT_EQ(nic_.added.size(), 1u);
  memory_.forget(3);
  EXPECT_TRUE(nic_.removed.empty());
  memory_.forget(5);
  EXPECT_EQ(nic_.removed, std::vector<uint32_t>{1});
  EXPECT_EQ(memory_.ranges(), 0u);
}

TEST_F(RegisteredMemoryTest, ARangeThatIsUsedAgainIsRegisteredAnew) {
  memory_.find(0, bytes_, 256);
  memory_.forget(0);
  EXPECT_EQ(memory_.find(0, bytes_, 256).remote_key, 2u);
}

TEST_F(RegisteredMemoryTest, OverlappingRangesAreApart) {
  EXPECT_EQ(memory_.find(0, bytes_, 256).remote_key, 1u);
  EXPECT_EQ(memory_.find(1, bytes_, 128).remote_key, 2u);
  memory_.forget(0);
  EXPECT_EQ(memory_.find(1, bytes_, 128).remote_key, 2u);
}

TEST_F(RegisteredMemoryTest, MemoryOfADeviceIsApartFromItsMapping) {
  EXPECT_EQ(memory_.add_device(0, {.mapping = bytes_}, 256).remote_key, 1u);
  EXPECT_EQ(memory_.find(0, bytes_, 256).remote_key, 1u);
  EXPECT_EQ(memory_.find(1, bytes_, 256).remote_key, 2u) << "registered as the host's";
  memory_.forget(0);
  EXPECT_EQ(nic_.removed, std::vector<uint32_t>{1});
  nic_.refuses = true;
  EXPECT_EQ(memory_.add_device(2, {.mapping = bytes_}, 256).memory, nullptr);
  EXPECT_EQ(memory_.ranges(), 1u) << "a failure is not kept";
}

TEST_F(RegisteredMemoryTest, UnknownRegionsAreForgottenWithoutEffect) {
  memory_.forget(7);
  memory_.find(2, bytes_, 8);
  memory_.forget(1);
  EXPECT_EQ(memory_.ranges(), 1u);
}

TEST_F(RegisteredMemoryTest, AFailureIsNotTriedAgainForTheRegion) {
  nic_.refuses = true;
  EXPECT_EQ(memory_.find(0, bytes_, 256).memory, nullptr);
  nic_.refuses = false;
  EXPECT_EQ(memory_.find(0, bytes_, 256).memory, nullptr);
  EXPECT_EQ(memory_.failures(), 1u);
  memory_.forget(0);
  EXPECT_NE(memory_.find(0, bytes_, 256).memory, nullptr);
  EXPECT_TRUE(nic_.removed.empty());
}

TEST(RegisteredMemory, TheRestIsUnregisteredAtTheEnd) {
  FakeRegistrar nic;
  std::byte bytes[16] = {};
  {
    RegisteredMemory memory(nic);
    memory.find(0, bytes, 16);
    memory.find(1, bytes, 8);
    nic.refuses = true;
    memory.find(2, bytes, 4);
  }
  EXPECT_EQ(nic.removed.size(), 2u);
}

}  // namespace
}  // namespace heddle::datapath
