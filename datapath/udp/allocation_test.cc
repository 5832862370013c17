// The steady state allocates nothing: counted by an operator new of this test program.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "datapath/udp/testing/ends.h"

namespace {

std::atomic<uint64_t>& allocations() {
  static std::atomic<uint64_t> count{0};
  return count;
}

void* counted(std::size_t bytes) {
  allocations().fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace heddle::datapath {
namespace {

TEST(UdpAllocationTest, SendingReceivingWaitingAndErrorsAllocateNothing) {
  for (const Offload offload : {Offload::kAuto, Offload::kOff}) {
    UdpOptions options;
    options.bind = "127.0.0.1";
    options.paths = 4;
    options.segmentation = options.coalescing = offload;
    Result<std::unique_ptr<Ends>> opened = Ends::open(options);
    ASSERT_TRUE(opened.has_value());
    Ends& ends = **opened;
    transport::Address nobody;
    {
      auto gone = open_udp(options);
      ASSERT_TRUE(gone.has_value());
      nobody = (*gone)->local_address();
    }
    uint64_t before = 0;
    for (int round = 0; round < 40; ++round) {
      if (round == 10) before = allocations().load();
      transport::TxBurst row = ends.row(1, 6, 8'000);
      row.path = static_cast<uint16_t>(round % 4);
      row.ecn_capable = round % 2 == 0;
      ASSERT_TRUE(ends.send(row));
      ASSERT_EQ(ends.receive_all(6), 6u);
      row = ends.row(1, 1, 10);
      row.to = nobody;
      ASSERT_TRUE(ends.send(row));
      transport::NetworkError error;
      ASSERT_TRUE(ends.error(error));
      ends.a().wake();
      ends.a().wait(ends.a().now() + millis(1));
    }
    EXPECT_EQ(allocations().load() - before, 0u);
  }
}

}  // namespace
}  // namespace heddle::datapath
