// The oracle of received bytes detects every violation, in host and in virtual memory.
#include "simulator/checks/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using transport::Payload;
using transport::PayloadAt;
using transport::Placement;

constexpr uint64_t kPattern = 77;

TEST(Coverage, AgreesWithASetOfBytes) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    Coverage coverage;
    std::vector<bool> model(100);
    for (int i = 0; i < 20; ++i) {
      const uint64_t start = random.below(90);
      const uint64_t end = start + random.below(10);
      bool fresh = true;
      for (uint64_t at = start; at < end; ++at) {
        fresh = fresh && !model[at];
        model[at] = true;
      }
      ASSERT_EQ(coverage.add(start, end), fresh);
      ASSERT_EQ(coverage.covered(),
                static_cast<uint64_t>(std::count(model.begin(), model.end(), true)));
    }
  }
}

// Memory of both kinds, and a source that holds kPattern.
class MemoryCheckTest : public testing::TestWithParam<bool> {
 protected:
  MemoryCheckTest()
      : network_(topology::point_to_point({}), {}, 1),
        datapath_(network_, {}),
        check_(datapath_),
        host_(10'000) {
    region_ = GetParam() ? datapath_.register_virtual(1, host_.size())
                         : *datapath_.register_memory(host_.data(), host_.size());
    source_ = datapath_.register_virtual(kPattern, 1'000'000);
    check_.watch(region_);
  }

  void write(uint64_t to, uint64_t from, uint32_t bytes) {
    Placement placement;
    placement.payload_at = PayloadAt::kVirtual;
    placement.from = {source_, from, bytes};
    placement.segments = 1;
    placement.bytes = placement.last_bytes = bytes;
    placement.to_region = region_;
    placement.to_offset = to;
    datapath_.place({&placement, 1});
  }
  Payload buffer(uint64_t offset, uint64_t length) const { return {region_, offset, length}; }

  Network network_;
  SimDatapath datapath_;
  MemoryCheck check_;
  std::vector<std::byte> host_;
  transport::RegionId region_ = 0;
  transport::RegionId source_ = 0;
};

TEST_P(MemoryCheckTest, AcceptsEveryByteOnceInAnyOrder) {
  check_.post(buffer(100, 1'000));
  write(600, 5'500, 500);
  write(100, 5'000, 200);
  write(300, 5'200, 300);
  check_.complete(buffer(100, 1'000), 1'000, kPattern, 5'000);
  check_.release(buffer(100, 1'000));
  EXPECT_THAT(check_.violations(), ElementsAre());
  EXPECT_EQ(check_.writes_seen(), 3u);
  EXPECT_EQ(check_.bytes_verified(), 1'000u);
}

TEST_P(MemoryCheckTest, AcceptsAMessageShorterThanItsBuffer) {
  check_.post(buffer(0, 1'000));
  write(0, 0, 10);
  check_.complete(buffer(0, 1'000), 10, kPattern, 0);
  check_.post(buffer(1'000, 0));
  check_.complete(buffer(1'000, 0), 0, kPattern, 0);
  EXPECT_THAT(check_.violations(), ElementsAre());
}

TEST_P(MemoryCheckTest, FindsAMissingByte) {
  check_.post(buffer(0, 1'000));
  write(0, 0, 499);
  write(500, 500, 500);
  check_.complete(buffer(0, 1'000), 1'000, kPattern, 0);
  EXPECT_THAT(check_.violations(), ElementsAre(HasSubstr("wrong bytes at completion")));
}

TEST_P(MemoryCheckTest, FindsStaleBytesOfAnEarlierMessage) {
  for (const bool second : {false, true}) {
    check_.post(buffer(0, 100));
    if (!second) write(0, 0, 100);
    check_.complete(buffer(0, 100), 100, kPattern, 0);
    check_.release(buffer(0, 100));
    EXPECT_EQ(check_.violations().empty(), !second);
  }
}

TEST_P(MemoryCheckTest, FindsAMisplacedPiece) {
  check_.post(buffer(0, 100));
  write(0, 0, 50);
  write(50, 51, 50);
  check_.complete(buffer(0, 100), 100, kPattern, 0);
  EXPECT_THAT(check_.violations(), ElementsAre(HasSubstr("wrong bytes")));
}

TEST_P(MemoryCheckTest, FindsBytesOfAnotherMessage) {
  check_.post(buffer(0, 100));
  source_ = datapath_.register_virtual(kPattern + 1, 1'000);
  write(0, 0, 100);
  check_.complete(buffer(0, 100), 100, kPattern, 0);
  EXPECT_THAT(check_.violations(), ElementsAre(HasSubstr("wrong bytes")));
}

TEST_P(MemoryCheckTest, FindsAByteCopiedTwice) {
  check_.post(buffer(0, 100));
  write(0, 0, 60);
  write(59, 59, 41);
  EXPECT_THAT(check_.violations(), ElementsAre(HasSubstr("copied twice")));
}

TEST_P(MemoryCheckTest, FindsALateWrite) {
  check_.post(buffer(0, 100));
  write(0, 0, 100);
  check_.complete(buffer(0, 100), 100, kPattern, 0);
  write(10, 10, 1);  // even with the right byte
  EXPECT_THAT(check_.violations(), ElementsAre(HasSubstr("written after it ended")));
  check_.post(buffer(200, 100));
  check_.fail(buffer(200, 100));
  write(250, 0, 1);
  EXPECT_EQ(check_.violations().size(), 2u);
  check_.release(buffer(200, 100));
  EXPECT_EQ(check_.violations().size(), 2u);
}

TEST_P(MemoryCheckTest, FindsAWriteOutsideOfBuffers) {
  check_.post(buffer(100, 100));
  write(100, 0, 101);
  write(99, 0, 1);
  write(5'000, 0, 10);
  EXPECT_EQ(check_.violations().size(), 3u);
  for (const std::string& each : check_.violations()) EXPECT_THAT(each, HasSubstr("outside"));
}

std::string memory_name(const testing::TestParamInfo<bool>& info) {
  return info.param ? "virtual_memory" : "host_memory";
}
INSTANTIATE_TEST_SUITE_P(Memory, MemoryCheckTest, testing::Bool(), memory_name);

}  // namespace
}  // namespace heddle::simulator
