// Fuzzes live connections: after a real handshake, the input is a script of calls on both sides,
// forged segments, and packets that are changed, lost and duplicated in the network. Checks: no
// crash, no placement outside a region, memory within its bound, and every posted operation ends
// exactly once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "base/check.h"
#include "transport/testing/pair.h"
#include "transport/wire/control.h"
#include "transport/wire/credit_frames.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using testing::Pair;
using testing::PairOptions;

constexpr size_t kMostSteps = 150;
constexpr size_t kMemory = 1 << 17;
// With the limits below, for each endpoint: pools and queues, whatever arrives.
constexpr size_t kMostHeld = 512 * 1024;

class Script {
 public:
  explicit Script(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  uint8_t byte() {
    if (done()) return 0;
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  uint32_t number() {
    const uint32_t low = byte();
    return low | uint32_t{byte()} << 8;
  }
  std::span<const uint8_t> take(size_t count) {
    const std::span<const uint8_t> taken = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const uint8_t> bytes_;
};

class Run {
 public:
  explicit Run(std::span<const uint8_t> input) : script_(input), pair_(options()) {
    for (int side = 0; side < 2; ++side) memory_[side] = pair_.add_region(side, kMemory);
    connect(0);
    pair_.run_until([this] { return !pair_.notices[1].empty(); }, seconds(1));
    take_notices();
    CHECK(open_[0].size() == 1 && open_[1].size() == 1);
    if (!discovers_) return;
    pair_.run_for(millis(1));  // until both know that it is open
    CHECK(pair_[0].post_discovery(pair_.now(), open_[0].front()).has_value());
  }

  void play() {
    for (size_t step = 0; step < kMostSteps && !script_.done(); ++step) {
      act();
      take_notices();
      for (int side = 0; side < 2; ++side) CHECK(pair_[side].bytes_held() <= kMostHeld);
    }
    end();
  }

 private:
  PairOptions options() {
    PairOptions options;
    options.eager_bytes = 1 << 14;
    EndpointOptions& endpoint = options.endpoint;
    endpoint.max_paths = endpoint.default_paths = 4;
    endpoint.max_connections = 3;
    endpoint.max_channels = 3;
    endpoint.max_posted = 8;
    endpoint.eager_blocks = 3;
    endpoint.eager_block_bytes = 2048;
    endpoint.max_sent_runs = 128;
    endpoint.max_datagram_bytes = 4048;
    const uint8_t shape = script_.byte();
    if ((shape & 1) != 0) {
      endpoint.chunk_paths = 2;
      endpoint.chunk_bytes = 4096;
      endpoint.reliable_chunks = (shape & 2) != 0;
    }
    if ((shape & 4) != 0) endpoint.congestion = "credits";
    discovers_ = (shape & 16) != 0;
    if ((shape & 8) != 0) endpoint.receive_rate = megabits_per_s(100);
    options.adjust = [](int, EndpointOptions& e) { e.accept = true; };
    options.drop = [this](int side, const TxBurst& burst, uint32_t) {
      return (lost_ >> (side * 4 + burst.path % 4) & 1) != 0;
    };
    options.tamper = [this](int, std::span<std::byte> frame) { tamper(frame); };
    return options;
  }

  void tamper(std::span<std::byte> frame) {
    kept_[kept_next_++ % kept_.size()].assign(frame.begin(), frame.end());
    if (changes_ == 0) return;
    --changes_;
    const size_t at = change_at_ % frame.size();
    frame[at] ^= std::byte{change_by_};
  }

  void act() {
    const uint8_t what = script_.byte();
    const int side = what >> 7;
    switch (what % 128 % 19) {
      case 0:
      case 1:
        post(side, Direction::kSend);
        break;
      case 2:
      case 3:
        post(side, Direction::kReceive);
        break;
      case 4:
        cancel(side);
        break;
      case 5:
        pair_.run_for(micros(script_.byte()));
        break;
      case 6:
        pair_.run_for(millis(script_.byte()));
        break;
      case 7:
        inject_raw(side);
        break;
      case 8:
        inject_data(side);
        break;
      case 9:
        inject_control(side);
        break;
      case 10:
        lost_ = script_.byte();
        break;
      case 11:
        changes_ = script_.byte() % 8;
        change_at_ = script_.byte();
        change_by_ = script_.byte();
        break;
      case 12:
        duplicate(side);
        break;
      case 13:
        end_connection(side);
        break;
      case 14:
        network_error(side);
        break;
      case 15:
        connect(side);
        break;
      case 16:
        inject_credit(side);
        break;
      case 18:
        inject_trimmed(side);
        break;
      default:
        placed_event(side);
        break;
    }
  }

  ConnectionId some_connection(int side, uint8_t which) {
    if (open_[side].empty()) return which;
    return open_[side][which % open_[side].size()];
  }

  void post(int side, Direction direction) {
    const uint8_t how = script_.byte();
    const ConnectionId id = some_connection(side, how);
    const auto channel = static_cast<ChannelId>((how >> 2) % 4);
    const Payload payload{memory_[side], script_.byte(), script_.number()};
    const OperationId operation = next_operation_++;
    const bool send = direction == Direction::kSend;
    const Result<void> posted =
        send ? pair_[side].post_send(pair_.now(), {id, channel}, payload, operation)
             : pair_[side].post_receive(pair_.now(), {id, channel}, payload, operation);
    if (posted) posted_[side].push_back({operation, direction, payload.length, false});
  }

  void cancel(int side) {
    const uint8_t which = script_.byte();
    if (posted_[side].empty()) return;
    const Posted& posted = posted_[side][which % posted_[side].size()];
    for (const ConnectionId id : open_[side]) {
      for (ChannelId channel = 0; channel < 3; ++channel) {
        pair_[side].post_cancel(pair_.now(), id, channel, posted.direction, posted.operation);
      }
    }
  }

  void inject(int side, std::span<const std::byte> frame, uint32_t segments, uint32_t bytes) {
    if (frame.empty()) return;
    Address from = pair_.address(1 - side);
    from.port = 1000;
    pair_.inject(side, from, frame, segments, bytes);
  }

  void inject_raw(int side) {
    const std::span<const uint8_t> taken = script_.take(script_.byte());
    inject(side, std::as_bytes(taken), 1, static_cast<uint32_t>(taken.size()));
  }

  ConnectionHeader header(int side, PacketType type) {
    ConnectionHeader header;
    header.type = type;
    header.flags = script_.byte();
    header.path = script_.byte() % 5;
    header.connection = pair_[side].wire_id(some_connection(side, script_.byte()));
    header.number = script_.number();
    header.sent_at = pair_.now() - micros(script_.byte());
    header.reply_port = pair_.address(1 - side).port;
    return header;
  }

  void inject_data(int side) {
    DataHeader first;
    const bool retransmission = script_.byte() == 0;
    first.base = header(side, retransmission ? PacketType::kRetransmission : PacketType::kData);
    first.base.flags &= kFlagAckNow | kFlagRetransmission;
    first.channel = script_.byte() % 4;
    first.sequence = static_cast<uint32_t>(int32_t{script_.byte()} - 8);
    first.offset = script_.number();
    first.message_bytes = script_.number();
    const uint32_t segments = 1 + script_.byte() % 4u;
    const uint32_t step = script_.number() % 3000;
    const uint32_t last = std::min<uint32_t>(script_.number(), step);
    std::vector<std::byte> headers(size_t{segments} * kDataHeaderBytes);
    write_data_headers(first, segments, {step}, headers.data());
    std::vector<std::byte> frame;
    for (uint32_t i = 0; i < segments; ++i) {
      const auto at = headers.begin() + ptrdiff_t{i} * kDataHeaderBytes;
      frame.insert(frame.end(), at, at + kDataHeaderBytes);
      frame.resize(frame.size() + (i + 1 == segments ? last : step), std::byte{0xab});
    }
    inject(side, frame, segments, kDataHeaderBytes + (segments > 1 ? step : last));
  }

  void inject_control(int side) {
    std::vector<std::byte> frame(kConnectionHeaderBytes);
    write_connection_header(header(side, PacketType::kControl), frame.data());
    for (const uint8_t byte : script_.take(script_.byte())) frame.push_back(std::byte{byte});
    inject(side, frame, 1, static_cast<uint32_t>(frame.size()));
  }

  // A credit or demand frame with any values.
  void inject_credit(int side) {
    std::array<std::byte, kConnectionHeaderBytes + kDemandBytes> frame{};
    ConnectionHeader start = header(side, PacketType::kControl);
    start.flags &= kFlagNumbered;
    write_connection_header(start, frame.data());
    Writer writer{std::span<std::byte>(frame).subspan(kConnectionHeaderBytes)};
    const uint8_t how = script_.byte();
    const auto count = [&] { return uint64_t{script_.number()} << (how >> 2 & 0x3f); };
    if ((how & 1) != 0) {
      write_demand({script_.number(), count(), count()}, writer);
    } else {
      write_credit({count(), script_.number()}, writer);
    }
    inject(side, frame, 1, static_cast<uint32_t>(frame.size()));
  }

  // The start of a packet that was sent before, or of one that never was.
  void inject_trimmed(int side) {
    const uint8_t how = script_.byte();
    std::vector<std::byte> frame = kept_[script_.byte() % kept_.size()];
    if ((how & 1) != 0) {
      frame.resize(kConnectionHeaderBytes);
      write_connection_header(header(side, PacketType::kData), frame.data());
    }
    frame.resize(std::min<size_t>(frame.size(), how >> 1));
    RxRun run;
    run.trimmed = true;
    run.from = pair_.address(1 - side);
    run.from.port = 1000;
    run.received_at = pair_.now();
    run.segments = 1;
    run.segment_bytes = run.last_segment_bytes = static_cast<uint32_t>(frame.size());
    run.frame = frame.data();
    pair_[side].handle_run(pair_.now(), run);
  }

  // A packet that was sent before comes again, perhaps at the wrong side.
  void duplicate(int side) {
    const std::vector<std::byte> frame = kept_[script_.byte() % kept_.size()];
    inject(side, frame, 1, static_cast<uint32_t>(frame.size()));
  }

  void end_connection(int side) {
    const uint8_t how = script_.byte();
    const ConnectionId id = some_connection(side, how);
    if ((how & 0x80) != 0) {
      pair_[side].post_abort(pair_.now(), id);
    } else {
      pair_[side].post_close(pair_.now(), id);
    }
  }

  void network_error(int side) {
    NetworkError error;
    error.kind = static_cast<NetworkErrorKind>(script_.byte() % 4);
    error.to = pair_.address(1 - side);
    error.path = script_.byte() % 6;
    error.limit_bytes = script_.number();
    error.local = (error.limit_bytes & 1) != 0;
    if (!error.local) quote_one(error);
    pair_[side].handle_network_error(pair_.now(), error);
  }

  // Some packet that was sent, cut off somewhere, and a router by no more than its number.
  void quote_one(NetworkError& error) {
    const std::vector<std::byte>& frame = kept_[script_.byte() % kept_.size()];
    error.quoted_bytes = static_cast<uint8_t>(std::min(frame.size(), error.quoted.size()));
    std::copy_n(frame.begin(), error.quoted_bytes, error.quoted.begin());
    error.router[0] = static_cast<uint8_t>(error.limit_bytes);
  }

  // Any event of a NIC: its immediate comes from the peer, which may be hostile.
  void placed_event(int side) {
    NicEvent event;
    event.kind = static_cast<NicEventKind>(script_.byte() % 3);
    event.connection = some_connection(side, script_.byte());
    event.path = script_.byte() % 4;
    event.ok = script_.byte() % 2 == 0;
    const uint32_t low = script_.number();
    event.immediate = low | script_.number() << 16;
    event.bytes = script_.number();
    event.epoch = script_.byte() % 4u;
    event.number = script_.byte();
    event.from = pair_.address(1 - side);
    pair_[side].handle_nic_event(pair_.now(), event);
  }

  void connect(int side) {
    const Result<ConnectionId> id =
        pair_[side].post_connect(pair_.now(), pair_.address(1 - side), {});
    if (id) open_[side].push_back(*id);
  }

  void take_notices() {
    for (int side = 0; side < 2; ++side) {
      for (const Notice& notice : pair_.notices[side]) {
        std::vector<ConnectionId>& open = open_[side];
        if (notice.kind == NoticeKind::kAccepted) open.push_back(notice.connection);
        if (notice.kind != NoticeKind::kClosed) continue;
        const auto at = std::find(open.begin(), open.end(), notice.connection);
        CHECK(at != open.end());
        open.erase(at);
      }
      pair_.notices[side].clear();
      for (const Completion& completion : pair_.completions[side]) complete(side, completion);
      pair_.completions[side].clear();
    }
  }

  void complete(int side, const Completion& completion) {
    const auto at = std::find_if(
        posted_[side].begin(), posted_[side].end(),
        [&](const Posted& posted) { return posted.operation == completion.operation; });
    CHECK(at != posted_[side].end() && !at->ended);
    CHECK(at->direction == completion.direction);
    CHECK(completion.bytes <= at->length);
    at->ended = true;
  }

  void end() {
    lost_ = changes_ = 0;
    pair_.run_for(millis(100));
    take_notices();
    for (int side = 0; side < 2; ++side) {
      for (const ConnectionId id : open_[side]) pair_[side].post_abort(pair_.now(), id);
    }
    pair_.run_for(seconds(8));
    take_notices();
    for (int side = 0; side < 2; ++side) {
      CHECK(open_[side].empty() && pair_[side].connections() == 0);
      for (const Posted& posted : posted_[side]) CHECK(posted.ended);
    }
  }

  struct Posted {
    OperationId operation = 0;
    Direction direction = Direction::kSend;
    uint64_t length = 0;
    bool ended = false;
  };

  Script script_;
  uint8_t lost_ = 0;     // a bit for each side and path: what leaves on it is lost
  uint8_t changes_ = 0;  // number of packets to change in flight
  uint8_t change_at_ = 0;
  uint8_t change_by_ = 0;
  bool discovers_ = false;
  size_t kept_next_ = 0;
  std::array<std::vector<std::byte>, 16> kept_;
  Pair pair_;
  RegionId memory_[2] = {0, 0};
  std::vector<ConnectionId> open_[2];
  std::vector<Posted> posted_[2];
  OperationId next_operation_ = 1;
};

}  // namespace
}  // namespace heddle::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heddle::transport::Run({data, size}).play();
  return 0;
}
