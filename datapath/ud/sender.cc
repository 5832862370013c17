// See sender.h.
#include "datapath/ud/sender.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "datapath/ud/packet.h"
#include "datapath/ud/params.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

using transport::RegionId;
using transport::TxBurst;

namespace {

constexpr size_t kCacheLine = 64;

// Of transport/wire/packet.h, as docs/explanation/protocol.md states it for all of version 2.
constexpr std::byte kData{0x28};
constexpr std::byte kChunkRetransmission{0x2a};
constexpr std::byte kFlagRetransmission{2};

bool is_retransmission(const std::byte* header, size_t bytes) {
  if (bytes < 2) return false;
  return header[0] == kChunkRetransmission ||
         (header[0] == kData && (header[1] & kFlagRetransmission) != std::byte{0});
}

size_t slot_bytes(uint32_t datagram) {
  return (datagram + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Completions of its queue pairs have even numbers: the pair's serial number, and how many requests
// are done with this one.
uint64_t id_of(uint32_t serial, uint32_t requests) {
  return uint64_t{serial} << 32 | requests << 1;
}

}  // namespace

// The requests of one burst, to be posted by one call.
struct UdSender::Row {
  std::array<ibv_send_wr, transport::kMaxBurstSegments> requests;
  std::array<ibv_sge, size_t{2} * transport::kMaxBurstSegments> places;
  std::array<Request, transport::kMaxBurstSegments> made;
};

UdSender::UdSender(VerbsDevice& device, QueuePairEnder& ender, const RegionTable& regions,
                   Options options, DatapathStatistics& statistics)
    : device_(device),
      ender_(ender),
      regions_(regions),
      options_(std::move(options)),
      statistics_(statistics),
      registrar_(device),
      handles_(device, options_.traffic_class),
      pairs_(options_.pairs) {
  CHECK(options_.pairs > 0 && !options_.source_ports.empty());
}

// Memory that a queue pair may still read stays until the process ends.
UdSender::~UdSender() {
  for (Pair& pair : pairs_) {
    if (pair.pair) ender_.end(std::move(pair.pair));
  }
  const uint64_t last = ender_.latest();
  if (last > ender_.ended()) ender_.wait_for(last);
}

Result<void> UdSender::open() {
  auto slots =
      UdSlots::make(device_, ud_params::kSendSlots, slot_bytes(options_.max_datagram_bytes), false);
  if (!slots) return fail(slots.error());
  slots_ = std::move(*slots);
  memory_ = std::make_unique<RegisteredMemory>(registrar_);
  for (uint32_t slot = slots_->count(); slot-- > 0;) free_.push_back(slot);
  for (Pair& pair : pairs_) {
    pair.requests.reserve(ud_params::kSendDepth);
    if (Result<void> made = make(pair); !made) return made;
  }
  return {};
}

Result<void> UdSender::make(Pair& pair) {
  const uint32_t serial = ++made_;
  Result<std::unique_ptr<QueuePair>> made =
      QueuePair::create(device_, {.mode = RdmaMode::kDatagrams,
                                  .id = id_of(serial, 0),
                                  .depth = ud_params::kSendDepth,
                                  .key = options_.key});
  if (!made) return fail(made.error());
  if (Result<void> started = (*made)->start(); !started) return started;
  pair.serial = serial;
  pair.pair = std::move(*made);
  return {};
}

bool UdSender::ready(Nanos now, Pair& pair) {
  if (pair.pair) return true;
  if (now < pair.again_at) return false;
  pair.again_at = now + ud_params::kNewPairEvery;
  if (ender_.waiting() >= verbs_params::kMostEnding) return false;
  const Result<void> made = make(pair);
  if (!made) log_warn("RDMA: {}", made.error().message());
  return made.has_value();
}

UdSender::Sent UdSender::send(Nanos now, const TxBurst& burst, const UdDestination& to) {
  Pair& pair = pairs_[burst.path % pairs_.size()];
  if (!ready(now, pair)) return Sent::kNever;
  if (free_.size() < burst.segments ||
      pair.requests.size() + burst.segments > ud_params::kSendDepth) {
    return Sent::kFull;
  }
  ibv_ah* const handle = handles_.find(to.to, burst.path, burst.ecn_capable);
  if (handle == nullptr) return Sent::kNoWay;
  const std::byte* payload = nullptr;
  uint32_t local_key = 0;
  bool registered = false;
  if (burst.total_payload() > 0) {
    payload = regions_.resolve({burst.region, burst.offset, burst.total_payload()});
    const Region& region = regions_.at(burst.region);
    if (region.bytes >= verbs_params::kLeastRegionBytes && burst.key == nullptr) {
      const RegisteredRange& range = memory_->find(burst.region, region.start, region.bytes);
      registered = range.memory != nullptr;
      local_key = range.local_key;
    }
  }
  Row row;
  const uint32_t ports = htonl(ports_of(options_.source_ports[burst.path], to.to.port));
  for (uint32_t i = 0; i < burst.segments; ++i) {
    ibv_send_wr& request = row.requests[i];
    request = {};
    const bool last = i + 1u == burst.segments;
    request.next = last ? nullptr : &row.requests[i + 1];
    request.opcode = IBV_WR_SEND_WITH_IMM;
    request.imm_data = ports;
    request.wr.ud.ah = handle;
    request.wr.ud.remote_qpn = to.queue_pair;
    request.wr.ud.remote_qkey = to.key;
    request.wr_id = id_of(pair.serial, last ? burst.segments : 0u);
    request.send_flags = last ? IBV_SEND_SIGNALED : 0;
    row.made[i] = {free_[free_.size() - 1 - i], transport::kNoRegion};
    const uint32_t bytes = last ? burst.last_payload_bytes : burst.payload_bytes;
    const bool gather = registered && gathers(burst, i, bytes);
    if (gather) row.made[i].region = burst.region;
    fill(row, i, burst, payload, local_key);
  }
  ++statistics_.transmit_calls;
  ibv_send_wr* rest = nullptr;
  const int failed = ibv_post_send(pair.pair->handle(), row.requests.data(), &rest);
  for (uint32_t i = 0; i < burst.segments; ++i) pair.requests.push_back(row.made[i]);
  free_.resize(free_.size() - burst.segments);
  if (failed != 0) {
    fail_pair(now, pair, std::strerror(failed));
    return Sent::kNever;
  }
  statistics_.datagrams_sent += burst.segments;
  return Sent::kTaken;
}

bool UdSender::gathers(const TxBurst& burst, uint32_t segment, uint32_t payload) const {
  const std::byte* const header = burst.headers + size_t{segment} * burst.header_bytes;
  return payload >= ud_params::kGatherBytes && !is_retransmission(header, burst.header_bytes);
}

void UdSender::fill(Row& row, uint32_t i, const TxBurst& burst, const std::byte* payload,
                    uint32_t local_key) {
  const bool last = i + 1u == burst.segments;
  std::byte* const slot = slots_->at(row.made[i].slot);
  const std::span header(burst.headers + size_t{i} * burst.header_bytes, burst.header_bytes);
  std::span<const std::byte> part;
  if (payload != nullptr) {
    part = {payload + size_t{i} * burst.payload_bytes,
            last ? burst.last_payload_bytes : burst.payload_bytes};
  }
  ibv_sge* const places = &row.places[size_t{2} * i];
  row.requests[i].sg_list = places;
  row.requests[i].num_sge = 1;
  auto bytes = static_cast<uint32_t>(header.size() + part.size());
  if (burst.key != nullptr) {
    transport::encrypt_segment(*burst.key, header, part, slot);
    bytes += transport::kTagBytes;
  } else {
    std::memcpy(slot, header.data(), header.size());
    if (row.made[i].region != transport::kNoRegion) {
      row.requests[i].num_sge = 2;
      places[1] = {reinterpret_cast<uintptr_t>(part.data()), static_cast<uint32_t>(part.size()),
                   local_key};
      bytes = static_cast<uint32_t>(header.size());
      ++gathered_;
    } else if (!part.empty()) {
      std::memcpy(slot + header.size(), part.data(), part.size());
    }
  }
  places[0] = {reinterpret_cast<uintptr_t>(slot), bytes, slots_->local_key()};
}

void UdSender::on_completion(Nanos now, const ibv_wc& done) {
  const auto serial = static_cast<uint32_t>(done.wr_id >> 32);
  const auto pair = std::ranges::find(pairs_, serial, &Pair::serial);
  if (pair == pairs_.end() || !pair->pair) return;  // of one that ends
  if (done.status != IBV_WC_SUCCESS) {
    fail_pair(now, *pair, "the NIC reports an error");
    return;
  }
  const uint32_t count = static_cast<uint32_t>(done.wr_id) >> 1;
  CHECK(count <= pair->requests.size());
  for (uint32_t i = 0; i < count; ++i) free_.push_back(pair->requests.pop_front().slot);
}

void UdSender::fail_pair(Nanos now, Pair& pair, const char* why) {
  log_info("RDMA: a sending queue pair of datagrams has failed: {}", why);
  ++failed_;
  Ending ending;
  while (!pair.requests.empty()) ending.requests.push_back(pair.requests.pop_front());
  ending.number = ender_.end(std::move(pair.pair));
  ending_.push_back(std::move(ending));
  pair.again_at = now + ud_params::kNewPairEvery;
  settle(now);
}

void UdSender::settle(Nanos /*now*/) {
  if (ending_.empty()) return;
  const uint64_t ended = ender_.ended();
  std::erase_if(ending_, [this, ended](const Ending& each) {
    if (each.number > ended) return false;
    for (const Request& request : each.requests) free_.push_back(request.slot);
    return true;
  });
}

bool UdSender::reads(RegionId region) const {
  const auto of_region = [region](const Request& each) { return each.region == region; };
  for (const Pair& pair : pairs_) {
    for (size_t i = 0; i < pair.requests.size(); ++i) {
      if (of_region(pair.requests[i])) return true;
    }
  }
  return std::ranges::any_of(
      ending_, [&](const Ending& each) { return std::ranges::any_of(each.requests, of_region); });
}

// The NIC does not get on: its queue pairs end, which the caller waits for.
void UdSender::stop_reading(RegionId region) {
  for (Pair& pair : pairs_) {
    bool reads = false;
    for (size_t i = 0; i < pair.requests.size(); ++i) {
      reads = reads || pair.requests[i].region == region;
    }
    if (reads) fail_pair({}, pair, "it does not send");
  }
  ender_.wait_for(ender_.latest());
  settle({});
}

}  // namespace heddle::datapath
