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

using transport::TxBurst;

namespace {

constexpr size_t kCacheLine = 64;

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
  std::array<ibv_sge, transport::kMaxBurstSegments> places;
};

UdSender::UdSender(VerbsDevice& device, QueuePairEnder& ender, const RegionTable& regions,
                   Options options, DatapathStatistics& statistics)
    : device_(device),
      ender_(ender),
      regions_(regions),
      options_(std::move(options)),
      statistics_(statistics),
      handles_(std::make_shared<UdHandles>(device, options_.traffic_class)),
      pairs_(options_.pairs) {
  CHECK(options_.pairs > 0 && !options_.source_ports.empty());
}

// A queue pair may read its slots, and use its handles, until it has ended.
UdSender::~UdSender() {
  for (Pair& pair : pairs_) {
    if (pair.pair) ender_.end(std::move(pair.pair));
  }
  ender_.keep(std::move(slots_));
  ender_.keep(std::move(handles_));
}

Result<void> UdSender::open() {
  auto slots =
      UdSlots::make(device_, ud_params::kSendSlots, slot_bytes(options_.max_datagram_bytes), false);
  if (!slots) return fail(slots.error());
  slots_ = std::move(*slots);
  for (uint32_t slot = slots_->count(); slot-- > 0;) free_.push_back(slot);
  for (Pair& pair : pairs_) {
    pair.slots.reserve(ud_params::kSendDepth);
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
  if (free_.size() < burst.segments || pair.slots.size() + burst.segments > ud_params::kSendDepth) {
    return Sent::kFull;
  }
  ibv_ah* const handle = handles_->find(to.peer.to, burst.path, burst.ecn_capable);
  if (handle == nullptr) return Sent::kNoWay;
  const std::byte* payload = nullptr;
  if (burst.total_payload() > 0) {
    payload = regions_.resolve({burst.region, burst.offset, burst.total_payload()});
  }
  Row row;
  const uint32_t ports = htonl(ports_of(options_.source_ports[burst.path], to.peer.to.port));
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
    std::byte* const slot = slots_->at(free_[free_.size() - 1 - i]);
    row.places[i] = {reinterpret_cast<uintptr_t>(slot), fill(slot, burst, i, payload),
                     slots_->local_key()};
    request.sg_list = &row.places[i];
    request.num_sge = 1;
  }
  ++statistics_.transmit_calls;
  ibv_send_wr* rest = nullptr;
  const int failed = ibv_post_send(pair.pair->handle(), row.requests.data(), &rest);
  for (uint32_t i = 0; i < burst.segments; ++i) {
    pair.slots.push_back(free_.back());
    free_.pop_back();
  }
  if (failed != 0) {
    fail_pair(now, pair, std::strerror(failed));
    return Sent::kNever;
  }
  statistics_.datagrams_sent += burst.segments;
  return Sent::kTaken;
}

uint32_t UdSender::fill(std::byte* slot, const TxBurst& burst, uint32_t segment,
                        const std::byte* payload) {
  const bool last = segment + 1u == burst.segments;
  const std::span header(burst.headers + size_t{segment} * burst.header_bytes, burst.header_bytes);
  std::span<const std::byte> part;
  if (payload != nullptr) {
    part = {payload + size_t{segment} * burst.payload_bytes,
            last ? burst.last_payload_bytes : burst.payload_bytes};
  }
  const auto bytes = static_cast<uint32_t>(header.size() + part.size());
  if (burst.key != nullptr) {
    transport::encrypt_segment(*burst.key, header, part, slot);
    return bytes + transport::kTagBytes;
  }
  std::memcpy(slot, header.data(), header.size());
  if (!part.empty()) std::memcpy(slot + header.size(), part.data(), part.size());
  return bytes;
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
  CHECK(count <= pair->slots.size());
  for (uint32_t i = 0; i < count; ++i) free_.push_back(pair->slots.pop_front());
}

void UdSender::fail_pair(Nanos now, Pair& pair, const char* why) {
  log_info("RDMA: a sending queue pair of datagrams has failed: {}", why);
  ++failed_;
  Ending ending;
  while (!pair.slots.empty()) ending.slots.push_back(pair.slots.pop_front());
  ending.number = ender_.end(std::move(pair.pair));
  ending_.push_back(std::move(ending));
  pair.again_at = now + ud_params::kNewPairEvery;
  settle();
}

void UdSender::settle() {
  if (ending_.empty()) return;
  const uint64_t ended = ender_.ended();
  std::erase_if(ending_, [this, ended](const Ending& each) {
    if (each.number > ended) return false;
    free_.insert(free_.end(), each.slots.begin(), each.slots.end());
    return true;
  });
}

}  // namespace heddle::datapath
