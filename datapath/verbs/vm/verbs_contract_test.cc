// The contract suite over RC, UC and UD queue pairs between the two devices of the virtual machine
// (`heddle lab vm`), and writes that are on the link when their buffer is given back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "datapath/contract/chunk_contract.h"
#include "datapath/ud/testing/ud_ends.h"
#include "datapath/udp/testing/one_processor.h"
#include "datapath/verbs/verbs_datapath.h"

namespace heddle::datapath::contract {
namespace {

class VerbsPair final : public Pair {
 public:
  static Result<std::unique_ptr<Pair>> make(RdmaMode mode, bool six, const PairOptions& wanted) {
    if (wanted.mark_congestion) return fail(ErrorCode::kUnavailable, "no router on this link");
    auto pair = std::make_unique<VerbsPair>();
    if (auto opened = open(six ? "fd09::1" : "10.9.0.1", mode, pair->a_); !opened) {
      return fail(opened.error());
    }
    if (auto opened = open(six ? "fd09::2" : "10.9.0.2", mode, pair->b_); !opened) {
      return fail(opened.error());
    }
    pair->nobody_ = pair->b_->local_address();
    pair->nobody_.port = pair->nobody_.port == 9 ? 10 : 9;
    return std::unique_ptr<Pair>(std::move(pair));
  }

  Datapath& a() override { return *a_; }
  Datapath& b() override { return *b_; }
  // The other side answers requests for queue pairs, so it is driven as well: a turn of each.
  void wait_for(Datapath& datapath, Nanos at_most) override {
    const Nanos end = datapath.now() + at_most;
    while (datapath.now() < end) {
      a_->serve();
      b_->serve();
      if (static_cast<VerbsDatapath&>(datapath).has_events()) return;
      datapath.wait(std::min(end, datapath.now() + millis(2)));
      if (++turns_ % 8 == 0) return;
    }
  }
  transport::Address nobody() override { return nobody_; }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return true; }

 private:
  static Result<void> open(const std::string& bind, RdmaMode mode,
                           std::unique_ptr<VerbsDatapath>& to) {
    VerbsOptions options;
    options.bind = bind;
    options.paths = 8;
    options.chunk_paths = 4;
    options.mode = mode;
    options.place_min_bytes = 1;
    Result<std::unique_ptr<VerbsDatapath>> opened = VerbsDatapath::open(options);
    if (!opened) return fail(opened.error());
    to = std::move(*opened);
    return {};
  }

  OneProcessor in_order_;
  std::unique_ptr<VerbsDatapath> a_;
  std::unique_ptr<VerbsDatapath> b_;
  transport::Address nobody_;
  uint32_t turns_ = 0;
};

Variant variant(const char* name, RdmaMode mode, bool six) {
  return {name,
          [mode, six](const PairOptions& wanted) { return VerbsPair::make(mode, six, wanted); }};
}

const auto kVariants = testing::Values(variant("rc_ipv4", RdmaMode::kReliable, false),
                                       variant("rc_ipv6", RdmaMode::kReliable, true),
                                       variant("uc_ipv4", RdmaMode::kUnreliable, false));

class UdPair final : public Pair {
 public:
  static Result<std::unique_ptr<Pair>> make(bool six, const PairOptions& wanted) {
    if (wanted.mark_congestion) return fail(ErrorCode::kUnavailable, "no router on this link");
    auto pair = std::make_unique<UdPair>();
    if (auto opened = open(six ? "fd09::1" : "10.9.0.1", pair->a_); !opened) {
      return fail(opened.error());
    }
    if (auto opened = open(six ? "fd09::2" : "10.9.0.2", pair->b_); !opened) {
      return fail(opened.error());
    }
    pair->nobody_ = pair->b_->local_address();
    pair->nobody_.port = pair->nobody_.port == 9 ? 10 : 9;
    EXPECT_TRUE(acquaint(*pair->a_, *pair->b_)) << "they do not use their queue pairs";
    return std::unique_ptr<Pair>(std::move(pair));
  }
  // Whatever the test sent in order went by queue pair.
  ~UdPair() override {
    if (!a_ || !b_) return;
    EXPECT_GT(a_->ud_statistics().datagrams_sent + b_->ud_statistics().datagrams_sent, 1u);
  }

  Datapath& a() override { return *a_; }
  Datapath& b() override { return *b_; }
  transport::Address nobody() override { return nobody_; }
  bool reports_refused() const override { return true; }
  bool waits_block() const override { return true; }

 private:
  static Result<void> open(const std::string& bind, std::unique_ptr<UdDatapath>& to) {
    VerbsOptions options;
    options.bind = bind;
    options.paths = 8;
    options.chunk_paths = 4;
    options.mode = RdmaMode::kDatagrams;
    Result<std::unique_ptr<Datapath>> opened = open_verbs(options);
    if (!opened) return fail(opened.error());
    to.reset(static_cast<UdDatapath*>(opened->release()));
    return {};
  }

  OneProcessor in_order_;
  std::unique_ptr<UdDatapath> a_;
  std::unique_ptr<UdDatapath> b_;
  transport::Address nobody_;
};

Variant datagrams(const char* name, bool six) {
  return {name, [six](const PairOptions& wanted) { return UdPair::make(six, wanted); }};
}

// A link so slow that a write is on it while the test acts: netem at the sender's end.
class SlowLink {
 public:
  SlowLink() { run("tc qdisc replace dev h0 root netem delay 300ms limit 100000"); }
  ~SlowLink() { run("tc qdisc delete dev h0 root"); }
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

 private:
  static void run(const char* command) { EXPECT_EQ(std::system(command), 0) << command; }
};

// Writes that are on the link when the buffer is given back to the application.
class LateWrites : public ChunkContract {
 public:
  static constexpr uint64_t kLate = 100'000;  // where they would land

  // A queue pair is connected, and a write of a whole chunk has left on the slow link. One before
  // it shows that such a write lands where nothing prevents it.
  bool open_late() {
    if (!open_chunks(200'000)) return false;
    write({.number = 0, .immediate = 1, .bytes = 1'000});
    events(b(), 1);
    link_.emplace();
    write({.number = 1, .immediate = 2, .bytes = 1'000, .to = 50'000});
    if (!untouched(50'000, 51'000)) ADD_FAILURE() << "the link is not slow";
    events(b(), 1);
    EXPECT_TRUE(holds(50'000, 1'000, 0));
    write({.number = 2, .immediate = 3, .bytes = chunk_bytes(), .to = kLate});
    return !HasFailure();
  }
  // What left before this has arrived.
  void let_link_drain() {
    send(row_of(1, 1, 0, 0));
    EXPECT_EQ(collect(b(), 1).size(), 1u);
    pair().wait_for(b(), millis(100));
  }

 private:
  std::optional<SlowLink> link_;
};

TEST_P(LateWrites, OneThatWasFencedLandsNowhere) {
  if (!open_late()) return;
  b().fence({.connection = kAtB, .path = 0, .epoch = 1});
  const auto fenced = events(b(), 1);
  ASSERT_EQ(fenced.size(), 1u);
  EXPECT_EQ(fenced[0].kind, transport::NicEventKind::kFenced);
  let_link_drain();
  EXPECT_TRUE(untouched(kLate, 200'000));
  EXPECT_TRUE(events_now(b()).empty());
}

TEST_P(LateWrites, OneOfAConnectionThatIsOverLandsNowhere) {
  if (!open_late()) return;
  b().fence({.connection = kAtB, .path = transport::FenceRequest::kEveryPath, .epoch = 0});
  EXPECT_EQ(events(b(), 1).size(), 1u);
  let_link_drain();
  EXPECT_TRUE(untouched(kLate, 200'000));
  EXPECT_TRUE(events_now(b()).empty());
}

TEST_P(LateWrites, OneIntoARegionThatHasEndedLandsNowhere) {
  if (!open_late()) return;
  end_target();
  let_link_drain();
  EXPECT_TRUE(untouched(kLate, 200'000));
}

INSTANTIATE_TEST_SUITE_P(Verbs, LateWrites, kVariants, variant_name);
INSTANTIATE_TEST_SUITE_P(Verbs, Contract, kVariants, variant_name);
INSTANTIATE_TEST_SUITE_P(Datagrams, Contract,
                         testing::Values(datagrams("ud_ipv4", false), datagrams("ud_ipv6", true)),
                         variant_name);
INSTANTIATE_TEST_SUITE_P(Verbs, ChunkContract, kVariants, variant_name);

// UDMABUF_CREATE of the kernel.
struct UdmabufCreate {
  uint32_t memfd = 0;
  uint32_t flags = 1;  // close on exec
  uint64_t offset = 0;
  uint64_t size = 0;
};
constexpr unsigned long kUdmabufCreate = _IOW('u', 0x42, UdmabufCreate);

// A dmabuf of the kernel's own (udmabuf), in place of a GPU's: soft-RoCE cannot register one, and
// says so; its mapping can be registered, and a NIC with dmabuf registration would take it.
TEST(DeviceMemory, IsRegisteredOrRefusedWithTheReason) {
  constexpr size_t kBytes = 64 << 10;
  const Descriptor memory(memfd_create("heddle-dmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(memory.number(), kBytes), 0);
  ASSERT_EQ(fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const Descriptor driver(open("/dev/udmabuf", O_RDWR | O_CLOEXEC));
  if (!driver.valid()) GTEST_SKIP() << "this kernel has no /dev/udmabuf: " << strerror(errno);
  const UdmabufCreate wanted{.memfd = static_cast<uint32_t>(memory.number()), .size = kBytes};
  const Descriptor shared(ioctl(driver.number(), kUdmabufCreate, &wanted));
  ASSERT_TRUE(shared.valid()) << strerror(errno);
  void* const mapping =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared.number(), 0);
  ASSERT_NE(mapping, MAP_FAILED) << strerror(errno);
  VerbsOptions options;
  options.bind = "10.9.0.1";
  options.paths = options.chunk_paths = 1;
  auto opened = VerbsDatapath::open(options);
  ASSERT_TRUE(opened) << opened.error().message();
  VerbsDatapath& datapath = **opened;
  const auto region =
      datapath.register_device_memory({.dmabuf = shared.number(), .mapping = mapping}, kBytes);
  if (region) {
    EXPECT_GT(datapath.token(*region).length, 0);
    datapath.unregister_memory(*region);
  } else {
    EXPECT_EQ(region.error().code, ErrorCode::kUnavailable) << region.error().message();
    EXPECT_NE(region.error().message().find("cannot reach other devices' memory"),
              std::string::npos)
        << region.error().message();
  }
  const auto plain = datapath.register_memory(mapping, kBytes);
  ASSERT_TRUE(plain);
  datapath.unregister_memory(*plain);
  opened->reset();
  munmap(mapping, kBytes);
}

}  // namespace
}  // namespace heddle::datapath::contract
