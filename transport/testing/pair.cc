// The small network between two endpoints.
#include "transport/testing/pair.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace heddle::transport::testing {

Pair::Pair(PairOptions options) : options_(std::move(options)), random_(options_.seed) {
  for (int side = 0; side < 2; ++side) {
    EndpointOptions endpoint = options_.endpoint;
    endpoint.accept = side == 1;
    endpoint.reply_port = address(side).port;
    endpoint.eager_bytes = mebibytes(1);
    endpoint.eager_region = add_region(side, endpoint.eager_bytes.count);
    endpoints_.push_back(std::make_unique<Endpoint>(endpoint, random_.next(), nullptr));
  }
}

Address Pair::address(int side) const {
  Address address;
  address.host[15] = static_cast<uint8_t>(1 + side);
  address.port = static_cast<uint16_t>(100 + side);
  return address;
}

RegionId Pair::add_region(int side, size_t bytes) {
  regions_[side].emplace_back(bytes);
  return static_cast<RegionId>(regions_[side].size() - 1);
}

void Pair::settle(int side) {
  for (const Placement& placement : (*this)[side].placements()) {
    std::byte* to = regions_[side][placement.to_region].data() + placement.to_offset;
    for (uint32_t i = 0; i < placement.segments; ++i) {
      const uint32_t bytes = i + 1 == placement.segments ? placement.last_bytes : placement.bytes;
      const std::byte* from = placement.source + size_t{i} * placement.source_step;
      if (placement.payload_at == PayloadAt::kPlaced) {
        from = regions_[side][placement.from.region].data() + placement.from.offset +
               size_t{i} * placement.bytes;
      }
      std::memmove(to, from, bytes);
      to += bytes;
    }
  }
  (*this)[side].clear_placements();
  Completion completion;
  while ((*this)[side].poll_completion(completion)) completions[side].push_back(completion);
  Notice notice;
  while ((*this)[side].poll_notice(notice)) notices[side].push_back(notice);
}

void Pair::send(int side, const TxBurst& burst) {
  if (burst.to != address(1 - side)) return;
  Arrival arrival;
  arrival.side = 1 - side;
  arrival.from = address(side);
  arrival.from.port = static_cast<uint16_t>(1000 + burst.path);
  const auto flush = [&] {
    if (arrival.segments > 0) arrivals_.emplace(now_ + options_.delay, arrival);
    arrival.frame.clear();
    arrival.segments = 0;
  };
  for (uint32_t i = 0; i < burst.segments; ++i) {
    ++datagrams;
    const uint32_t payload = i + 1 == burst.segments ? burst.last_payload_bytes : burst.payload_bytes;
    const bool chosen = options_.drop && options_.drop(side, burst, i);
    if (chosen || random_.chance_per_million(options_.loss_per_million)) continue;
    const uint32_t bytes = burst.header_bytes + payload;
    // As GRO does: sizes in a run are equal, but the last may be shorter.
    const bool joins = arrival.segments > 0 && arrival.segments < options_.coalesce &&
                       bytes <= arrival.segment_bytes && arrival.last_bytes == arrival.segment_bytes;
    if (!joins) flush();
    if (arrival.segments == 0) arrival.segment_bytes = bytes;
    arrival.last_bytes = bytes;
    ++arrival.segments;
    const std::byte* header = burst.headers + size_t{i} * burst.header_bytes;
    arrival.frame.insert(arrival.frame.end(), header, header + burst.header_bytes);
    if (payload == 0) continue;
    const std::byte* from =
        regions_[side][burst.region].data() + burst.offset + size_t{i} * burst.payload_bytes;
    arrival.frame.insert(arrival.frame.end(), from, from + payload);
  }
  flush();
}

bool Pair::turn(int side) {
  bool worked = false;
  while (!arrivals_.empty()) {
    auto at = std::find_if(arrivals_.begin(), arrivals_.end(),
                           [side](const auto& entry) { return entry.second.side == side; });
    if (at == arrivals_.end() || at->first > now_) break;
    const Arrival arrival = std::move(at->second);
    arrivals_.erase(at);
    RxRun run;
    run.from = arrival.from;
    run.received_at = now_;
    run.segments = arrival.segments;
    run.segment_bytes = arrival.segment_bytes;
    run.last_segment_bytes = arrival.last_bytes;
    run.frame = arrival.frame.data();
    (*this)[side].handle_run(now_, run);
    settle(side);
    worked = true;
  }
  if ((*this)[side].poll_timeout() <= now_) {
    (*this)[side].handle_timeout(now_);
    worked = true;
  }
  settle(side);
  TxBatch batch;
  while ((*this)[side].poll_transmit(now_, batch)) {
    for (const TxBurst& burst : batch.bursts()) send(side, burst);
    batch.clear();
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
  for (int side = 0; side < 2; ++side) {
    if (!paused_[side]) next = std::min(next, endpoints_[static_cast<size_t>(side)]->poll_timeout());
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
