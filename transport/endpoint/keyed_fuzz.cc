// Fuzzes an attacker on the path between endpoints with cluster keys: the input is a script that
// changes, truncates, extends, replays, reflects and delays packets and forges others, from the
// handshake on. Checks: messages arrive unchanged or not at all, no forged packet is accepted, the
// attacker neither opens nor ends a connection, and memory stays within its bound.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "transport/testing/pair.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using testing::Pair;
using testing::PairOptions;

constexpr size_t kMostSteps = 100;
constexpr size_t kMemory = 1 << 16;
constexpr size_t kMostHeld = 512 * 1024;

class Stranger {
 public:
  explicit Stranger(std::span<const uint8_t> script) : script_(script), pair_(options()) {
    for (int side = 0; side < 2; ++side) memory_[side] = pair_.add_region(side, kMemory);
    std::vector<std::byte>& bytes = pair_.region(0, memory_[0]);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  }

  void play() {
    CHECK(pair_[0].post_connect(pair_.now(), pair_.address(1), {}));
    for (size_t step = 0; step < kMostSteps && !script_.empty(); ++step) {
      act();
      take();
      for (int side = 0; side < 2; ++side) CHECK(pair_[side].bytes_held() <= kMostHeld);
    }
    holds_ = false;
    pair_.run_for(millis(20));
    take();
    // Only what the two endpoints asked for has come to be.
    CHECK(opened_ <= 1 && accepted_ <= 1);
    CHECK(pair_[0].connections() <= 1 && pair_[1].connections() <= 1);
  }

 private:
  PairOptions options() {
    PairOptions options;
    options.eager_bytes = 1 << 14;
    options.coalesce = 4;
    EndpointOptions& endpoint = options.endpoint;
    endpoint.keys = {ClusterKey{{std::byte{1}}}, ClusterKey{{std::byte{2}}}};
    endpoint.packets_a_key = 20;
    endpoint.max_paths = endpoint.default_paths = 4;
    endpoint.max_connections = 3;
    endpoint.max_posted = 8;
    endpoint.max_sent_runs = 128;
    endpoint.max_datagram_bytes = 4048;
    options.adjust = [](int, EndpointOptions& e) { e.accept = true; };
    options.tamper = [this](int, std::span<std::byte> frame) { pass(frame); };
    return options;
  }

  // Everything that both sides send comes by here.
  void pass(std::span<std::byte> frame) {
    kept_[kept_next_++ % kept_.size()].assign(frame.begin(), frame.end());
    if (holds_) std::fill(frame.begin(), frame.end(), std::byte{0});
  }

  uint8_t byte() {
    if (script_.empty()) return 0;
    const uint8_t value = script_.front();
    script_ = script_.subspan(1);
    return value;
  }
  uint32_t number() {
    const uint32_t low = byte();
    return low | uint32_t{byte()} << 8;
  }

  void act() {
    const uint8_t what = byte();
    const int side = what >> 7;
    switch (what % 128 % 9) {
      case 0:
        pair_.run_for(micros(byte()));
        break;
      case 1:
        pair_.run_for(millis(byte() % 64));
        break;
      case 2:
        message();
        break;
      case 3:
        holds_ = !holds_;
        break;
      case 4:
        inject(side, some_packet());
        break;
      case 5:
        inject(side, changed(some_packet()));
        break;
      case 6: {
        std::vector<std::byte> packet = some_packet();
        packet.resize(packet.size() * byte() / 200 + byte() % 3);
        inject(side, packet);
        break;
      }
      case 7:
        inject(side, made_up());
        break;
      default: {
        NetworkError error{NetworkErrorKind::kRefused, pair_.address(1 - side), 0, 0};
        error.path = byte() % 5;
        error.local = byte() % 2 == 0;
        pair_[side].handle_network_error(pair_.now(), error);
        break;
      }
    }
  }

  // The n-th send goes to the n-th receive; both are of the same stretch of memory.
  void message() {
    if (!in_step_) return;
    const uint64_t offset = number() % (kMemory / 2);
    const uint64_t length = number() % (kMemory / 2);
    for (int side = 0; side < 2; ++side) {
      if (connection_[side] == 0 || pair_[side].statistics(connection_[side]) == nullptr) return;
    }
    const Payload from{memory_[0], offset, length};
    const Payload to{memory_[1], offset, length};
    if (!pair_[1].post_receive(pair_.now(), {connection_[1], 0}, to, offset << 32 | length)) return;
    // A receive without its send would meet the next.
    in_step_ = pair_[0].post_send(pair_.now(), {connection_[0], 0}, from, 0).has_value();
  }

  std::vector<std::byte> some_packet() { return kept_[byte() % kept_.size()]; }

  // In a byte and a bit that the script names: never what it was.
  std::vector<std::byte> changed(std::vector<std::byte> packet) {
    const uint32_t at = number();
    const auto by = static_cast<std::byte>(byte() | 1U);
    if (!packet.empty()) packet[at % packet.size()] ^= by;
    return packet;
  }

  std::vector<std::byte> made_up() {
    std::vector<std::byte> packet(byte() * 3U);
    for (std::byte& each : packet) each = static_cast<std::byte>(byte());
    if (packet.size() >= kConnectionHeaderBytes && byte() % 4 != 0) {
      packet[0] = std::byte{first_byte(static_cast<PacketType>(byte() % 12))};
      const uint32_t id = connection_[byte() % 2];
      std::memcpy(packet.data() + kConnectionAt, &id, sizeof id);
    }
    return packet;
  }

  void inject(int side, const std::vector<std::byte>& packet) {
    if (packet.empty()) return;
    Address from = pair_.address(1 - side);
    from.port = 1000;
    pair_.inject(side, from, packet, 1, static_cast<uint32_t>(packet.size()));
  }

  void take() {
    for (int side = 0; side < 2; ++side) {
      for (const Notice& notice : pair_.notices[side]) {
        if (notice.kind == NoticeKind::kOpened) ++opened_;
        if (notice.kind == NoticeKind::kAccepted) ++accepted_;
        if (notice.kind == NoticeKind::kClosed) {
          // A stranger can keep two apart, but not speak for one of them.
          CHECK(notice.error.code == ErrorCode::kTimeout ||
                notice.error.code == ErrorCode::kPeerDead);
        } else {
          connection_[side] = notice.connection;
        }
      }
      pair_.notices[side].clear();
    }
    for (const Completion& completion : pair_.completions[1]) {
      if (!completion.ok) continue;
      const uint64_t offset = completion.operation >> 32;
      const uint64_t length = completion.operation & UINT32_MAX;
      CHECK(completion.bytes == length);
      CHECK(std::memcmp(pair_.region(0, memory_[0]).data() + offset,
                        pair_.region(1, memory_[1]).data() + offset, length) == 0);
    }
    for (auto& completions : pair_.completions) completions.clear();
  }

  std::span<const uint8_t> script_;
  bool in_step_ = true;
  bool holds_ = false;  // nothing gets through
  size_t kept_next_ = 0;
  std::array<std::vector<std::byte>, 16> kept_;
  Pair pair_;
  RegionId memory_[2] = {0, 0};
  ConnectionId connection_[2] = {0, 0};
  int opened_ = 0;
  int accepted_ = 0;
};

}  // namespace
}  // namespace heddle::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heddle::transport::Stranger({data, size}).play();
  return 0;
}
