// The link and the two callers.
#include "transport/testing/header_wire.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace heddle::transport::testing {
namespace {

constexpr size_t kFrameBytes = 64 * 1024;
// Ethernet, IPv4 and UDP around each segment.
constexpr uint64_t kLinkOverhead = 14 + 20 + 8;

}  // namespace

HeaderWire::HeaderWire(const HeaderWireOptions& options)
    : options_(options), random_(options.seed), batch_(std::make_unique<TxBatch>()) {
  for (size_t side = 0; side < 2; ++side) {
    EndpointOptions endpoint = options_.endpoint;
    endpoint.accept = side == 1;
    endpoint.reply_port = address(side).port;
    endpoint.eager_region = 0;
    endpoint.eager_bytes = mebibytes(1);
    sides_[side].endpoint =
        std::make_unique<Endpoint>(endpoint, random_.next(), options_.sinks[side]);
  }
  connect();
}

HeaderWire::~HeaderWire() = default;

Address HeaderWire::address(size_t side) {
  Address address;
  address.host[15] = static_cast<uint8_t>(1 + side);
  address.port = static_cast<uint16_t>(100 + side);
  return address;
}

void HeaderWire::connect() {
  const auto connected = (*this)[0].post_connect(now_, address(1), {});
  CHECK(connected.has_value());
  sides_[0].connection = *connected;
  while (sides_[1].connection == 0) advance();
  for (uint32_t i = 0; i < options_.outstanding; ++i) {
    for (size_t side = 0; side < 2; ++side) post(side);
  }
}

void HeaderWire::post(size_t side) {
  Side& s = sides_[side];
  const Payload payload{1, 0, options_.message_bytes};
  const Result<void> posted = side == 0
                                  ? s.endpoint->post_send(now_, {s.connection, 0}, payload, 0)
                                  : s.endpoint->post_receive(now_, {s.connection, 0}, payload, 0);
  CHECK(posted.has_value());
}

void HeaderWire::run_segments(uint64_t count) {
  const uint64_t end = segments_sent_ + count;
  while (segments_sent_ < end) advance();
}

const ConnectionStatistics& HeaderWire::statistics(size_t side) const {
  const ConnectionStatistics* statistics =
      sides_[side].endpoint->statistics(sides_[side].connection);
  CHECK(statistics != nullptr);
  return *statistics;
}

void HeaderWire::advance() {
  for (size_t side = 0; side < 2; ++side) turn(side);
  Nanos next = Nanos::never();
  for (const Side& side : sides_) {
    next = std::min(next, side.endpoint->poll_timeout());
    if (!side.arrivals.empty()) next = std::min(next, side.arrivals.front().at);
  }
  CHECK(next != Nanos::never());
  now_ = std::max(now_, next);
}

// As the engine's driver does it: input, time, output.
void HeaderWire::turn(size_t side) {
  Side& s = sides_[side];
  while (!s.arrivals.empty() && s.arrivals.front().at <= now_) {
    const Arrival arrival = s.arrivals.pop_front();
    watch(true);
    s.endpoint->handle_run(now_, arrival.run);
    watch(false);
    free_frames_.push_back(arrival.frame);
  }
  watch(true);
  if (s.endpoint->poll_timeout() <= now_) s.endpoint->handle_timeout(now_);
  take_results(side);
  while (s.endpoint->poll_transmit(now_, *batch_)) {
    watch(false);
    for (const TxBurst& burst : batch_->bursts()) transmit(side, burst);
    batch_->clear();
    watch(true);
  }
  watch(false);
}

void HeaderWire::take_results(size_t side) {
  Side& s = sides_[side];
  s.endpoint->clear_placements();
  Notice notice;
  while (s.endpoint->poll_notice(notice)) {
    CHECK(notice.kind != NoticeKind::kClosed);
    s.connection = notice.connection;
  }
  Completion completion;
  while (s.endpoint->poll_completion(completion)) {
    CHECK(completion.ok);
    messages_completed_ += side;
    post(side);
  }
}

void HeaderWire::transmit(size_t from, const TxBurst& burst) {
  const bool data = burst.total_payload() > 0;
  segments_sent_ += data ? burst.segments : 0;
  bursts_sent_ += data;
  control_sent_ += !data;
  RxRun run;
  run.from = address(from);
  run.ecn = Ecn::kEct0;
  uint32_t index = 0;
  uint64_t bytes = 0;
  const auto flush = [&] {
    if (run.segments > 0) deliver(1 - from, run, index, bytes);
    run.segments = 0;
    bytes = 0;
  };
  for (uint32_t i = 0; i < burst.segments; ++i) {
    if (data && random_.chance_per_million(options_.loss_per_million)) continue;
    const bool last = i + 1 == burst.segments;
    const uint32_t size =
        burst.header_bytes + (last ? burst.last_payload_bytes : burst.payload_bytes);
    // As GRO does: what comes in one run has one size, but the last may be shorter.
    const bool joins = run.segments > 0 && run.segments < options_.coalesce;
    if (!joins) {
      flush();
      index = lend_frame();
      run.segment_bytes = size;
    }
    std::memcpy(frame(index) + size_t{run.segments} * run.segment_bytes,
                burst.headers + size_t{i} * burst.header_bytes, burst.header_bytes);
    run.last_segment_bytes = size;
    ++run.segments;
    bytes += size + kLinkOverhead;
  }
  flush();
}

void HeaderWire::deliver(size_t to, const RxRun& run, uint32_t frame_index, uint64_t bytes) {
  Side& side = sides_[to];
  side.link_free_at = std::max(side.link_free_at, now_) + transmit_time({bytes}, options_.rate);
  const Nanos at = side.link_free_at + options_.delay;
  Arrival& arrival = side.arrivals.push_back({at, run, frame_index});
  arrival.run.received_at = at;
  arrival.run.frame = frame(frame_index);
}

uint32_t HeaderWire::lend_frame() {
  if (free_frames_.empty()) {
    frames_.push_back(std::make_unique_for_overwrite<std::byte[]>(kFrameBytes));
    free_frames_.reserve(frames_.capacity());
    return static_cast<uint32_t>(frames_.size() - 1);
  }
  const uint32_t index = free_frames_.back();
  free_frames_.pop_back();
  return index;
}

}  // namespace heddle::transport::testing
