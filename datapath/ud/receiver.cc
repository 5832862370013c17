// See receiver.h.
#include "datapath/ud/receiver.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "datapath/ud/params.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

using transport::kMaxBurstSegments;
using transport::RxRun;

namespace {

constexpr size_t kCacheLine = 64;
// The routing header ends where a cache line begins, so that each datagram is aligned.
constexpr size_t kHeaderAt = kCacheLine - kGrhBytes;

// Completions of its queue pairs have odd numbers: serial number and slot.
uint64_t id_of(uint32_t serial, uint32_t slot) { return uint64_t{serial} << 32 | slot << 1 | 1; }

}  // namespace

// A queue pair may write to its slots until it has ended.
UdReceiver::~UdReceiver() {
  if (pair_) ender_.end(std::move(pair_));
  ender_.keep(std::move(slots_));
}

Result<void> UdReceiver::open() {
  const size_t slot_bytes =
      kCacheLine + (options_.max_datagram_bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
  uint32_t count =
      std::clamp(options_.slots, ud_params::kLeastReceiveSlots, ud_params::kMostReceiveSlots);
  Result<std::unique_ptr<UdSlots>> slots = UdSlots::make(device_, count, slot_bytes, true);
  while (!slots && slots.error().code == ErrorCode::kExhausted &&
         count / 2 >= ud_params::kLeastReceiveSlots) {
    count /= 2;
    slots = UdSlots::make(device_, count, slot_bytes, true);
  }
  if (!slots) return fail(slots.error());
  slots_ = std::move(*slots);
  with_nic_.assign(count, true);
  free_.reserve(count);
  lent_.reserve(count);
  arrived_.reserve(count);
  return make();
}

// It gets all slots that are not in use here.
Result<void> UdReceiver::make() {
  const uint32_t serial = serial_ + 1;
  Result<std::unique_ptr<QueuePair>> made =
      QueuePair::create(device_, {.mode = RdmaMode::kDatagrams,
                                  .receives = true,
                                  .id = id_of(serial, 0),
                                  .depth = slots_->count(),
                                  .key = options_.key});
  if (!made) return fail(made.error());
  if (Result<void> started = (*made)->start(); !started) return started;
  pair_ = std::move(*made);
  serial_ = serial;
  free_.clear();
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < slots_->count(); ++slot) {
    if (with_nic_[slot]) slots.push_back(slot);
  }
  if (post(slots)) return {};
  pair_.reset();
  return fail(ErrorCode::kSystem, "cannot make a queue pair", "its queue takes no receive");
}

bool UdReceiver::post(const std::vector<uint32_t>& slots) {
  std::array<ibv_recv_wr, kMaxBurstSegments> row;
  std::array<ibv_sge, kMaxBurstSegments> places;
  for (size_t begun = 0; begun < slots.size(); begun += row.size()) {
    const size_t count = std::min(row.size(), slots.size() - begun);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t slot = slots[begun + i];
      with_nic_[slot] = true;
      places[i] = {reinterpret_cast<uintptr_t>(slots_->at(slot) + kHeaderAt),
                   static_cast<uint32_t>(slots_->slot_bytes() - kHeaderAt), slots_->local_key()};
      row[i] = {};
      row[i].wr_id = id_of(serial_, slot);
      row[i].sg_list = &places[i];
      row[i].num_sge = 1;
      row[i].next = i + 1 < count ? &row[i + 1] : nullptr;
    }
    ibv_recv_wr* rest = nullptr;
    if (ibv_post_recv(pair_->handle(), row.data(), &rest) != 0) return false;
  }
  return true;
}

const std::byte* UdReceiver::datagram_at(uint32_t slot) const {
  return slots_->at(slot) + kCacheLine;
}

void UdReceiver::give_back(uint32_t slot) {
  with_nic_[slot] = true;  // where there is no queue pair, the next one gets it
  if (pair_) free_.push_back(slot);
}

void UdReceiver::on_completion(Nanos now, const ibv_wc& done) {
  const auto serial = static_cast<uint32_t>(done.wr_id >> 32);
  if (serial != serial_ || !pair_) return;  // of one that ends
  if (done.status != IBV_WC_SUCCESS) {
    fail_pair(now, "the NIC reports an error");
    return;
  }
  const uint32_t slot = static_cast<uint32_t>(done.wr_id) >> 1;
  CHECK(slot < slots_->count() && with_nic_[slot]);
  const UdReceived received{.bytes = done.byte_len,
                            .has_header = (done.wc_flags & IBV_WC_GRH) != 0,
                            .has_immediate = (done.wc_flags & IBV_WC_WITH_IMM) != 0,
                            .immediate = ntohl(done.imm_data)};
  const std::span<const std::byte> buffer(slots_->at(slot) + kHeaderAt,
                                          slots_->slot_bytes() - kHeaderAt);
  const auto arrival = read_arrival(buffer, received, options_.local);
  if (!arrival) {
    ++refused_;
    give_back(slot);
    return;
  }
  add(slot, *arrival);
}

void UdReceiver::add(uint32_t slot, const UdArrival& arrival) {
  const std::span datagram(datagram_at(slot), arrival.bytes);
  if (datagram[0] != kGreetingFirstByte) {
    with_nic_[slot] = false;
    arrived_.push_back({slot, arrival});
    return;
  }
  const auto greeting = read_greeting(datagram);
  if (greeting && greetings_.size() < ud_params::kMostGreetings) {
    greetings_.push_back({arrival.from, *greeting});
  } else {
    ++refused_;
  }
  give_back(slot);
}

void UdReceiver::fail_pair(Nanos now, const char* why) {
  log_info("RDMA: the receiving queue pair of datagrams has failed: {}", why);
  ++failed_;
  ending_ = ender_.end(std::move(pair_));
  again_at_ = now + ud_params::kNewPairEvery;
}

bool UdReceiver::settle(Nanos now) {
  if (pair_ || now < again_at_ || ending_ > ender_.ended()) return false;
  again_at_ = now + ud_params::kNewPairEvery;
  const Result<void> made = make();
  if (!made) log_warn("RDMA: {}", made.error().message());
  return made.has_value();
}

void UdReceiver::post_free(Nanos now) {
  if (!pair_ || free_.size() < ud_params::kReceiveRow) return;
  if (!post(free_)) fail_pair(now, "its queue takes no receive");
  free_.clear();
}

// A datagram joins the last run if it is its next segment, at a constant distance.
bool UdReceiver::join(RxRun& run, const Arrived& next, const std::byte* at, size_t step) {
  const bool joins = run.segments < kMaxBurstSegments &&
                     run.last_segment_bytes == run.segment_bytes &&
                     next.arrival.bytes <= run.segment_bytes && run.from == next.arrival.from &&
                     run.ecn == next.arrival.ecn && at == run.frame + run.segments * step;
  if (!joins) return false;
  run.frame_step = static_cast<uint32_t>(step);
  ++run.segments;
  run.last_segment_bytes = next.arrival.bytes;
  return true;
}

size_t UdReceiver::receive(Nanos now, RxBatch& batch) {
  if (arrived_.empty()) return 0;
  ++statistics_.receive_calls;
  size_t bytes = 0;
  while (!arrived_.empty() && bytes < ud_params::kBatchBytes) {
    const Arrived& next = arrived_.front();
    const std::byte* const at = datagram_at(next.slot);
    if (batch.count == 0 || !join(batch.runs[batch.count - 1], next, at, slots_->slot_bytes())) {
      if (batch.count == RxBatch::kMaxRuns) break;
      RxRun& run = batch.runs[batch.count++];
      run = {};
      run.from = next.arrival.from;
      run.received_at = now;
      run.ecn = next.arrival.ecn;
      run.segments = 1;
      run.segment_bytes = run.last_segment_bytes = next.arrival.bytes;
      run.frame = at;
    }
    bytes += next.arrival.bytes;
    ++statistics_.datagrams_received;
    lent_.push_back(arrived_.pop_front().slot);
  }
  return batch.count;
}

void UdReceiver::release() {
  for (const uint32_t slot : lent_) give_back(slot);
  lent_.clear();
}

}  // namespace heddle::datapath
