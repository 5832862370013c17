// The small network between two endpoints.
#include "transport/testing/pair.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "transport/packet_decryptor.h"

namespace heddle::transport::testing {

Pair::Pair(PairOptions options) : options_(std::move(options)), random_(options_.seed) {
  for (int side = 0; side < 2; ++side) {
    add_region(side, options_.eager_bytes);
    endpoints_.emplace_back();
    make_endpoint(side);
  }
}

void Pair::make_endpoint(int side) {
  EndpointOptions endpoint = options_.endpoint;
  endpoint.accept = side == 1;
  endpoint.reply_port = address(side).port;
  endpoint.eager_region = 0;
  endpoint.eager_bytes = {options_.eager_bytes};
  if (options_.adjust) options_.adjust(side, endpoint);
  endpoints_[static_cast<size_t>(side)] =
      std::make_unique<Endpoint>(endpoint, random_.next(), options_.sink);
  for (size_t region = 0; region < regions_[side].size(); ++region) {
    set_token(side, static_cast<RegionId>(region));
  }
}

void Pair::restart(int side) { make_endpoint(side); }

Address Pair::address(int side) const {
  Address address;
  address.host[15] = static_cast<uint8_t>(1 + side);
  address.port = static_cast<uint16_t>(100 + side);
  return address;
}

RegionId Pair::add_region(int side, size_t bytes) {
  regions_[side].emplace_back(bytes);
  const auto region = static_cast<RegionId>(regions_[side].size() - 1);
  if (endpoints_.size() > static_cast<size_t>(side)) set_token(side, region);
  return region;
}

// What the transport names must lie in a region: tests and fuzzers find it when it does not.
std::byte* Pair::bytes_of(int side, RegionId region, uint64_t offset, uint64_t length) {
  CHECK(region < regions_[side].size());
  std::vector<std::byte>& bytes = regions_[side][region];
  CHECK(length <= bytes.size() && offset <= bytes.size() - length);
  return bytes.data() + offset;
}

void Pair::copy(int side, const Placement& placement) {
  const uint64_t total = uint64_t{placement.segments - 1} * placement.bytes + placement.last_bytes;
  std::byte* to = bytes_of(side, placement.to_region, placement.to_offset, total);
  const bool placed = placement.payload_at == PayloadAt::kPlaced;
  const std::byte* from = placed
                              ? bytes_of(side, placement.from.region, placement.from.offset, total)
                              : placement.source;
  const size_t step = placed ? placement.bytes : placement.source_step;
  for (uint32_t i = 0; i < placement.segments; ++i) {
    const uint32_t bytes = i + 1 == placement.segments ? placement.last_bytes : placement.bytes;
    std::memmove(to, from + i * step, bytes);
    to += bytes;
  }
}

void Pair::settle(int side) {
  for (const Placement& placement : (*this)[side].placements()) copy(side, placement);
  serve_nic(side);
  Completion completion;
  Notice notice;
  watch(true);
  (*this)[side].clear_placements();
  while ((*this)[side].poll_completion(completion)) {
    watch(false);
    completions[side].push_back(completion);
    watch(true);
  }
  while ((*this)[side].poll_notice(notice)) {
    watch(false);
    notices[side].push_back(notice);
    watch(true);
  }
  watch(false);
}

void Pair::deliver(Arrival& arrival) {
  if (arrival.segments == 0) return;
  if (options_.tamper) options_.tamper(1 - arrival.side, arrival.frame);
  uint64_t& on_way = on_way_[arrival.side];
  on_way += arrival.frame.size();
  most_on_way[arrival.side] = std::max(most_on_way[arrival.side], on_way);
  Nanos at = now_ + options_.delay;
  if (random_.chance_per_million(options_.late_per_million)) {
    at += Nanos{static_cast<int64_t>(random_.below(static_cast<uint64_t>(options_.late_by.count)))};
  }
  if (random_.chance_per_million(options_.twice_per_million)) {
    on_way += arrival.frame.size();
    arrivals_.emplace(at, arrival);
  }
  arrivals_.emplace(at, std::move(arrival));
  arrival.frame.clear();
  arrival.segments = 0;
}

void Pair::send(int side, const TxBurst& burst) {
  if (options_.watch_burst) options_.watch_burst(side, burst);
  if (burst.to != address(1 - side)) return;
  if (burst.write != nullptr) {
    send_chunk(side, burst);
    return;
  }
  Arrival arrival;
  arrival.side = 1 - side;
  arrival.from = address(side);
  arrival.from.port = static_cast<uint16_t>(1000 + burst.path);
  for (uint32_t i = 0; i < burst.segments; ++i) {
    ++datagrams;
    const uint32_t payload =
        i + 1 == burst.segments ? burst.last_payload_bytes : burst.payload_bytes;
    const bool chosen = options_.drop && options_.drop(side, burst, i);
    if (chosen || random_.chance_per_million(options_.loss_per_million)) continue;
    const uint32_t bytes = burst.header_bytes + payload + burst.tag_bytes();
    // As GRO does: sizes in a run are equal, but the last may be shorter.
    const bool joins = arrival.segments > 0 && arrival.segments < options_.coalesce &&
                       bytes <= arrival.segment_bytes &&
                       arrival.last_bytes == arrival.segment_bytes;
    if (!joins) deliver(arrival);
    if (arrival.segments == 0) arrival.segment_bytes = bytes;
    arrival.last_bytes = bytes;
    ++arrival.segments;
    const std::byte* header = burst.headers + size_t{i} * burst.header_bytes;
    const std::byte* from =
        payload == 0 ? nullptr
                     : bytes_of(side, burst.region,
                                burst.offset + uint64_t{i} * burst.payload_bytes, payload);
    const size_t at = arrival.frame.size();
    arrival.frame.resize(at + bytes);
    std::byte* to = arrival.frame.data() + at;
    if (burst.key != nullptr) {
      encrypt_segment(*burst.key, {header, burst.header_bytes}, {from, payload}, to);
      continue;
    }
    std::memcpy(to, header, burst.header_bytes);
    if (payload > 0) std::memcpy(to + burst.header_bytes, from, payload);
  }
  deliver(arrival);
}

void Pair::receive(int side, Arrival& arrival) {
  RxRun run;
  run.from = arrival.from;
  run.received_at = now_;
  run.ecn = arrival.ecn;
  run.segments = arrival.segments;
  run.segment_bytes = arrival.segment_bytes;
  run.last_segment_bytes = arrival.last_bytes;
  run.frame = arrival.frame.data();
  watch(true);
  if ((*this)[side].keyed()) {
    PacketDecryptor((*this)[side]).pass(now_, run);
  } else {
    (*this)[side].handle_run(now_, run);
  }
  watch(false);
  settle(side);
}

void Pair::inject(int side, const Address& from, std::span<const std::byte> frame,
                  uint32_t segments, uint32_t segment_bytes, Ecn ecn) {
  CHECK(segments > 0 && frame.size() >= size_t{segments - 1} * segment_bytes);
  Arrival arrival;
  arrival.side = side;
  arrival.from = from;
  arrival.frame.assign(frame.begin(), frame.end());
  arrival.segments = segments;
  arrival.segment_bytes = segment_bytes;
  arrival.last_bytes = static_cast<uint32_t>(frame.size() - size_t{segments - 1} * segment_bytes);
  arrival.ecn = ecn;
  receive(side, arrival);
}

bool Pair::turn(int side) {
  bool worked = leave_chunks();
  worked |= land_chunks(side);
  while (!arrivals_.empty()) {
    auto at = std::find_if(arrivals_.begin(), arrivals_.end(),
                           [side](const auto& entry) { return entry.second.side == side; });
    if (at == arrivals_.end() || at->first > now_) break;
    Arrival arrival = std::move(at->second);
    arrivals_.erase(at);
    on_way_[side] -= arrival.frame.size();
    receive(side, arrival);
    worked = true;
  }
  watch(true);
  if ((*this)[side].poll_timeout() <= now_) {
    (*this)[side].handle_timeout(now_);
    worked = true;
  }
  watch(false);
  settle(side);
  const auto poll = [&] {
    watch(true);
    const bool some = (*this)[side].poll_transmit(now_, *batch_);
    watch(false);
    return some;
  };
  for (int batches = 0; poll(); ++batches) {
    CHECK(batches < 10'000);  // nor may one that always has something to send
    for (const TxBurst& burst : batch_->bursts()) send(side, burst);
    batch_->clear();
    worked = true;
  }
  settle(side);
  return worked;
}

Nanos Pair::next_time() const {
  Nanos next = Nanos::never();
  for (const auto& [at, arrival] : arrivals_) {
    if (paused_[arrival.side]) continue;
    next = at;
    break;
  }
  if (!stalled_.empty()) next = std::min(next, stalled_.begin()->first);
  for (const auto& [at, chunk] : chunks_) {
    if (paused_[chunk.side]) continue;
    next = std::min(next, at);
    break;
  }
  for (int side = 0; side < 2; ++side) {
    if (!paused_[side])
      next = std::min(next, endpoints_[static_cast<size_t>(side)]->poll_timeout());
  }
  return next;
}

bool Pair::run_until(const std::function<bool()>& done, Nanos limit) {
  const Nanos end = now_ + limit;
  uint64_t turns_here = 0;
  while (true) {
    for (int side = 0; side < 2; ++side) {
      if (!paused_[side]) turn(side);
      settle(side);
    }
    if (done()) return true;
    const Nanos next = next_time();
    if (next > end) {
      now_ = end;
      return false;
    }
    turns_here = next > now_ ? 0 : turns_here + 1;
    CHECK(turns_here < 1000);  // an endpoint that always wants another turn would stop time
    now_ = std::max(now_, next);
  }
}

void Pair::run_for(Nanos span) {
  run_until([] { return false; }, span);
}

}  // namespace heddle::transport::testing
