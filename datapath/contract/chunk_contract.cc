// The contract of remote writes: complete, in order, reported after they have landed, and rejected
// after a fence.
#include "datapath/contract/chunk_contract.h"

#include <algorithm>
#include <span>

#include "datapath/regions.h"

namespace heddle::datapath::contract {

using transport::NicEvent;
using transport::NicEventKind;

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ChunkContract);

namespace {

constexpr std::byte kUntouched{0xEE};

}  // namespace

bool ChunkContract::open_chunks(size_t target_bytes) {
  if (!open()) return false;
  target_.assign(target_bytes, kUntouched);
  Result<transport::RegionId> region = b().register_memory(target_.data(), target_.size());
  if (!region || a().capabilities().chunk_paths == 0) {
    ADD_FAILURE() << "no memory, or no paths for chunks";
    return false;
  }
  target_region_ = *region;
  b().admit({kAtB, a().capabilities().chunk_paths, a().local_address()});
  return true;
}

void ChunkContract::end_target() {
  if (target_region_ != transport::kNoRegion) b().unregister_memory(target_region_);
  target_region_ = transport::kNoRegion;
}

void ChunkContract::write(const Write& write) {
  transport::ChunkWrite chunk;
  chunk.from_connection = kAtA;
  chunk.to_connection = kAtB;
  chunk.number = write.number;
  chunk.epoch = write.epoch;
  chunk.immediate = write.immediate;
  chunk.token = b().token(target_region_);
  chunk.remote_offset = write.to;
  transport::TxBurst burst;
  burst.to = b().local_address();
  burst.path = write.path;
  burst.segments = 1;
  burst.payload_bytes = burst.last_payload_bytes = write.bytes;
  burst.region = write.bytes > 0 ? source_at(a()) : transport::kNoRegion;
  burst.offset = write.from;
  burst.write = &chunk;
  const Nanos give_up = a().now() + kPatience;
  while (a().transmit({&burst, 1}) == 0) {
    ASSERT_LT(a().now(), give_up) << "the network takes nothing";
    for (const NicEvent& event : events_now(a())) early_.push_back(event);
    pair().wait_for(a(), millis(10));
  }
}

std::vector<NicEvent> ChunkContract::events_now(Datapath& at) {
  std::vector<NicEvent> out;
  RxBatch batch;
  size_t count = 0;
  do {
    at.receive(batch, nullptr);
    count = batch.event_count;
    out.insert(out.end(), batch.events.begin(),
               batch.events.begin() + static_cast<ptrdiff_t>(count));
    at.release(batch);
  } while (count > 0);
  return out;
}

std::vector<NicEvent> ChunkContract::events(Datapath& at, size_t count) {
  std::vector<NicEvent> out;
  if (&at == &a()) out.swap(early_);
  const Nanos give_up = at.now() + kPatience;
  while (out.size() < count && at.now() < give_up) {
    const std::vector<NicEvent> more = events_now(at);
    out.insert(out.end(), more.begin(), more.end());
    if (more.empty()) pair().wait_for(at, millis(100));
  }
  EXPECT_EQ(out.size(), count);
  return out;
}

bool ChunkContract::holds(uint64_t to, uint64_t length, uint64_t from) const {
  return pattern_mismatch(kSourcePattern, from, std::span(target_).subspan(to, length)) == length;
}

bool ChunkContract::untouched(uint64_t from, uint64_t to) const {
  return std::all_of(target_.begin() + static_cast<ptrdiff_t>(from),
                     target_.begin() + static_cast<ptrdiff_t>(to),
                     [](std::byte byte) { return byte == kUntouched; });
}

TEST_P(ChunkContract, CapabilitiesMakeSense) {
  if (!open_chunks(1'000)) return;
  EXPECT_GE(chunk_bytes(), 1'024u);
  EXPECT_LE(chunk_bytes(), transport::kMaxChunkBytes);
  EXPECT_LE(a().capabilities().chunk_paths, 256);
}

TEST_P(ChunkContract, AWriteIsReportedAfterAllItsBytesHaveLanded) {
  if (!open_chunks(300'000)) return;
  const uint16_t path = a().capabilities().chunk_paths - 1u;
  for (const uint32_t bytes : {1u, 255u, 4'096u, 4'097u, chunk_bytes()}) {
    write({.path = path, .immediate = ~bytes, .bytes = bytes, .from = 777, .to = 123'456});
    const auto reported = events(b(), 1);
    ASSERT_EQ(reported.size(), 1u);
    EXPECT_EQ(reported[0].kind, NicEventKind::kArrived);
    EXPECT_EQ(reported[0].connection, kAtB);
    EXPECT_EQ(reported[0].path, path);
    EXPECT_EQ(reported[0].immediate, ~bytes);
    EXPECT_EQ(reported[0].bytes, bytes);
    EXPECT_EQ(reported[0].from.host, a().local_address().host);
    EXPECT_LE(reported[0].at, b().now());
    EXPECT_TRUE(holds(123'456, bytes, 777));
    EXPECT_TRUE(untouched(0, 123'456));
    EXPECT_TRUE(untouched(123'456 + bytes, 300'000) || bytes < 4'097);
  }
  EXPECT_TRUE(untouched(123'456 + chunk_bytes(), 300'000));
}

TEST_P(ChunkContract, AnEmptyWriteIsReportedAndTouchesNothing) {
  if (!open_chunks(10'000)) return;
  write({.immediate = 5});
  const auto reported = events(b(), 1);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].immediate, 5u);
  EXPECT_EQ(reported[0].bytes, 0u);
  EXPECT_TRUE(untouched(0, 10'000));
}

TEST_P(ChunkContract, WritesOfAPathAreReportedInOrder) {
  if (!open_chunks(64 * 8'000)) return;
  const uint16_t paths = std::min<uint16_t>(a().capabilities().chunk_paths, 4);
  std::vector<uint64_t> sent(paths);
  for (uint32_t i = 0; i < 64; ++i) {
    const auto path = static_cast<uint16_t>(i % paths);
    write({.path = path,
           .number = sent[path]++,
           .immediate = i,
           .bytes = 8'000,
           .from = i * 8'000u,
           .to = (63 - i) * 8'000u});
  }
  std::vector<uint32_t> next(paths);
  for (const NicEvent& event : events(b(), 64)) {
    ASSERT_LT(event.path, paths);
    EXPECT_EQ(event.immediate, next[event.path] * paths + event.path);
    ++next[event.path];
  }
  for (uint32_t i = 0; i < 64; ++i) EXPECT_TRUE(holds((63 - i) * 8'000u, 8'000, i * 8'000u));
}

TEST_P(ChunkContract, AReliableNicReportsTheEndOfEachWrite) {
  if (!open_chunks(100'000)) return;
  if (!a().capabilities().reliable_chunks) {
    write({.bytes = 1'000});
    events(b(), 1);
    EXPECT_TRUE(events_now(a()).empty()) << "an unreliable one does not report it";
    return;
  }
  for (uint64_t number = 0; number < 20; ++number) {
    write({.number = number, .bytes = 1'000, .from = number * 1'000, .to = number * 1'000});
  }
  const auto reported = events(a(), 20);
  for (uint64_t number = 0; number < reported.size(); ++number) {
    EXPECT_EQ(reported[number].kind, NicEventKind::kSent);
    EXPECT_EQ(reported[number].connection, kAtA);
    EXPECT_EQ(reported[number].number, number);
    EXPECT_EQ(reported[number].epoch, 0u);
    EXPECT_TRUE(reported[number].ok);
  }
  EXPECT_TRUE(holds(0, 20'000, 0));
}

TEST_P(ChunkContract, AFenceAdmitsOnlyTheNewEpoch) {
  if (!open_chunks(100'000)) return;
  write({.number = 0, .immediate = 1, .bytes = 1'000});
  events(b(), 1);
  b().fence({.connection = kAtB, .path = 0, .epoch = 1});
  const auto fenced = events(b(), 1);
  ASSERT_EQ(fenced.size(), 1u);
  EXPECT_EQ(fenced[0].kind, NicEventKind::kFenced);
  EXPECT_EQ(fenced[0].connection, kAtB);
  EXPECT_EQ(fenced[0].path, 0);
  EXPECT_EQ(fenced[0].epoch, 1u);
  write({.number = 1, .epoch = 0, .immediate = 2, .bytes = 1'000, .to = 10'000});
  write({.number = 2, .epoch = 1, .immediate = 3, .bytes = 1'000, .to = 20'000});
  const auto reported = events(b(), 1);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].immediate, 3u);
  EXPECT_TRUE(untouched(10'000, 20'000));
  EXPECT_TRUE(holds(20'000, 1'000, 0));
}

TEST_P(ChunkContract, ARecalledWriteIsReadNoMore) {
  if (!open_chunks(100'000)) return;
  write({.number = 0, .immediate = 1, .bytes = 1'000});
  a().recall({.connection = kAtA, .path = 0});
  b().fence({.connection = kAtB, .path = 0, .epoch = 1});
  EXPECT_EQ(events(b(), 1).size(), 1u);
  write({.number = 1, .epoch = 1, .immediate = 2, .bytes = 1'000, .to = 20'000});
  const auto reported = events(b(), 1);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].immediate, 2u);
  EXPECT_TRUE(untouched(0, 1'000));
  EXPECT_TRUE(holds(20'000, 1'000, 0));
}

TEST_P(ChunkContract, OnlyAdmittedPeersWrite) {
  if (!open_chunks(100'000)) return;
  b().fence({.connection = kAtB, .path = transport::FenceRequest::kEveryPath, .epoch = 0});
  EXPECT_EQ(events(b(), 1).size(), 1u);
  b().admit({kAtB + 1, a().capabilities().chunk_paths, a().local_address()});
  write({.immediate = 1, .bytes = 1'000});
  // A datagram's arrival shows that earlier writes would have landed by now.
  send(row_of(1, 1, 0, 0));
  EXPECT_EQ(collect(b(), 1).size(), 1u);
  EXPECT_TRUE(untouched(0, 100'000));
}

TEST_P(ChunkContract, AFenceOfEveryPathEndsTheConnection) {
  if (!open_chunks(100'000)) return;
  b().fence({.connection = kAtB, .path = transport::FenceRequest::kEveryPath, .epoch = 0});
  const auto fenced = events(b(), 1);
  ASSERT_EQ(fenced.size(), 1u);
  EXPECT_EQ(fenced[0].path, transport::FenceRequest::kEveryPath);
  write({.bytes = 1'000});
  // A datagram's arrival shows that earlier writes would have landed by now.
  send(row_of(1, 1, 0, 0));
  EXPECT_EQ(collect(b(), 1).size(), 1u);
  EXPECT_TRUE(untouched(0, 100'000));
  EXPECT_TRUE(events_now(b()).empty());
}

TEST_P(ChunkContract, ATokenOfUnregisteredMemoryAdmitsNoWrite) {
  if (!open_chunks(10'000)) return;
  Bytestring other(10'000, kUntouched);
  const auto first = b().register_memory(other.data(), other.size());
  ASSERT_TRUE(first);
  const transport::MemoryToken old = b().token(*first);
  EXPECT_GT(old.length, 0);
  b().unregister_memory(*first);
  const auto second = b().register_memory(other.data(), other.size());
  ASSERT_TRUE(second);
  const transport::MemoryToken fresh = b().token(*second);
  EXPECT_FALSE(old.length == fresh.length && old.bytes == fresh.bytes);
  b().unregister_memory(*second);
}

}  // namespace heddle::datapath::contract
