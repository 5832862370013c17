// Fuzzes an endpoint with a hostile peer: the input is what it says, in the protocol's grammar
// (testing/byzantine_words.h), on a connection that it made with a real handshake, or that it was
// asked for. Beside it lives a connection of two that keep to the rules. Whatever is said: no
// crash, memory within the table of bounds as the allocator counts it, the other connection's
// messages arrive whole and in time, and with the hostile peer's silence everything that waits for
// it ends.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "transport/testing/allocations.h"
#include "transport/testing/byzantine_words.h"
#include "transport/testing/pair.h"

namespace heddle::transport {
namespace {

using testing::Acquaintance;
using testing::allocations;
using testing::ByzantineWords;
using testing::count_allocations;
using testing::Pair;
using testing::PairOptions;

constexpr size_t kMostSteps = 200;
constexpr size_t kMessage = 3000;
// Both endpoints, the hostile connection and the honest one, with the options below: by the table
// of bounds in docs/explanation/protocol.md some 230 KiB; half of it is what their callers post.
constexpr int64_t kMostAllocated = 512 * 1024;
constexpr uint16_t kHostilePort = 4800;

// Choices from the input; where it ends, all are 0.
class Input final : public testing::Dice {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }
  uint64_t below(uint64_t bound) override {
    uint64_t value = 0;
    for (uint64_t reach = 1; reach<bound; reach = reach> bound >> 8 ? bound : reach << 8) {
      value = value << 8 | byte();
    }
    return value % bound;
  }

 private:
  uint8_t byte() {
    if (done()) return 0;
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }

  std::span<const uint8_t> bytes_;
};

class Run {
 public:
  explicit Run(std::span<const uint8_t> bytes)
      : input_(bytes), words_(input_), before_(allocations().live_bytes), pair_(options()) {
    for (int side = 0; side < 2; ++side) memory_[side] = pair_.add_region(side, 4 * kMessage);
    std::memset(pair_.region(0, memory_[0]).data(), 0x3c, kMessage);
    counted([&] { honest_ = *pair_[0].post_connect(pair_.now(), pair_.address(1), {}); });
    CHECK(pair_.run_until([&] { return pair_.notices[1].size() == 1; }, seconds(1)));
    victim_ = pair_.notices[1][0].connection;
    hostile_.host[15] = 77;
    hostile_.port = kHostilePort;
  }

  void play() {
    meet();
    for (size_t step = 0; step < kMostSteps && !input_.done(); ++step) {
      act();
      CHECK(allocations().live_bytes - before_ <= kMostAllocated);
      if (step % 32 == 0) exchange();
    }
    exchange();
    end();
  }

 private:
  PairOptions options() {
    PairOptions options;
    options.eager_bytes = 1 << 14;
    options.watch = count_allocations;
    // What is for the hostile peer never reaches the other endpoint.
    options.watch_burst = [this](int, const TxBurst& burst) { overhear(burst); };
    EndpointOptions& endpoint = options.endpoint;
    endpoint.max_paths = endpoint.default_paths = 4;
    endpoint.max_connections = 5;
    endpoint.max_channels = 4;
    endpoint.max_posted = 16;
    endpoint.eager_blocks = 3;
    endpoint.eager_block_bytes = 2048;
    endpoint.max_sent_runs = 128;
    if (input_.below(4) == 0) endpoint.congestion = "credits";
    if (input_.below(4) == 0) {
      endpoint.chunk_paths = 2;
      endpoint.chunk_bytes = 4096;
    }
    return options;
  }

  // Allocations of this call count as an endpoint's.
  template <typename Call>
  void counted(Call call) {
    count_allocations(true);
    call();
    count_allocations(false);
  }

  // A datagram that the victim sends to the hostile peer: it learns what it needs.
  void overhear(const TxBurst& burst) {
    if (burst.to.port != kHostilePort || burst.headers == nullptr) return;
    const std::span<const std::byte> bytes{burst.headers, burst.header_bytes};
    RetryPacket retry;
    AcceptPacket accept;
    const PacketType type = type_of(bytes[0]);
    if (type == PacketType::kRetry && read_retry(bytes, retry)) {
      init_.has_cookie = true;
      init_.cookie = retry.cookie;
    } else if (type == PacketType::kAccept && read_accept(bytes, accept)) {
      open_ = true;
      talk_.id = accept.wire_id;
      talk_.victim = accept.parameters;
      talk_.victim.nics = {};
    } else if (type >= PacketType::kData && bytes.size() >= kConnectionHeaderBytes) {
      talk_.note(read_connection_header(bytes.data()));
    }
  }

  void say(std::span<const std::byte> bytes) {
    Address from = hostile_;
    pair_.inject(1, from, bytes, 1, static_cast<uint32_t>(bytes.size()));
  }

  void say_init() {
    std::array<std::byte, kInitBytes> packet{};
    const size_t bytes = write_init(init_, packet);
    say(std::span(packet).first(bytes));
    pair_.run_for(micros(10));
  }

  void meet() {
    init_.reply_port = kHostilePort;
    init_.connection = 7;
    init_.wire_id = 8;
    init_.nonce = 99;
    init_.parameters = words_.draw_parameters(input_.below(2) == 0 ? 16 : 256);
    talk_.reply_port = kHostilePort;
    talk_.victim.max_paths = 4;
    talk_.victim.max_channels = 4;
    talk_.victim.max_posted = 16;
    talk_.habits = words_.draw_habits();
    say_init();
    CHECK(init_.has_cookie);
    say_init();
    CHECK(open_);
    for (const Notice& notice : pair_.notices[1]) {
      if (notice.connection != victim_) hostile_id_ = notice.connection;
    }
  }

  void act() {
    std::array<std::byte, ByzantineWords::kMostBytes> packet;
    switch (input_.below(16)) {
      case 0:
        pair_.run_for(micros(static_cast<int64_t>(input_.below(256))));
        break;
      case 1:
        pair_.run_for(millis(static_cast<int64_t>(input_.below(64))));
        break;
      case 2:
        post(Direction::kSend);
        break;
      case 3:
        post(Direction::kReceive);
        break;
      case 4:
        talk_.habits = words_.draw_habits();
        break;
      case 5: {  // half a handshake
        const InitPacket whole = init_;
        init_.connection += static_cast<uint32_t>(1 + input_.below(1000));
        init_.nonce += input_.below(3);
        init_.has_cookie = input_.below(2) == 0;
        say_init();
        init_ = whole;
        break;
      }
      default:
        if (open_) say(std::span(packet).first(words_.write_packet(pair_.now(), talk_, packet)));
        break;
    }
  }

  // The victim's caller speaks with the hostile peer as with any.
  void post(Direction direction) {
    const auto channel = static_cast<ChannelId>(input_.below(2));
    const Payload payload{memory_[1], kMessage, input_.below(2 * kMessage)};
    const OperationId id = next_operation_++;
    counted([&] {
      const Result<void> posted =
          direction == Direction::kSend
              ? pair_[1].post_send(pair_.now(), {hostile_id_, channel}, payload, id)
              : pair_[1].post_receive(pair_.now(), {hostile_id_, channel}, payload, id);
      if (posted) ++posted_;
    });
  }

  // A message between the two that keep to the rules: whole, right, and soon.
  void exchange() {
    std::vector<std::byte>& target = pair_.region(1, memory_[1]);
    std::memset(target.data(), 0, kMessage);
    const OperationId id = next_operation_++;
    counted([&] {
      CHECK(pair_[1].post_receive(pair_.now(), {victim_, 0}, {memory_[1], 0, kMessage}, id));
      CHECK(pair_[0].post_send(pair_.now(), {honest_, 0}, {memory_[0], 0, kMessage}, id));
    });
    const auto came = [&](int side) {
      return std::any_of(pair_.completions[side].begin(), pair_.completions[side].end(),
                         [&](const Completion& c) { return c.operation == id && c.ok; });
    };
    CHECK(pair_.run_until([&] { return came(0) && came(1); }, seconds(2)));
    CHECK(std::all_of(target.begin(), target.begin() + kMessage,
                      [](std::byte byte) { return byte == std::byte{0x3c}; }));
  }

  // Silence: every operation that waits for the hostile peer ends.
  void end() {
    pair_.run_for(seconds(20));
    uint64_t ended = 0;
    for (const Completion& c : pair_.completions[1]) ended += c.connection == victim_ ? 0 : 1;
    CHECK(ended == posted_);
    CHECK(pair_[1].connections() == 1);
    counted([&] { pair_[0].post_close(pair_.now(), honest_); });
    pair_.run_for(seconds(5));
    for (int side = 0; side < 2; ++side) CHECK(pair_[side].connections() == 0);
    CHECK(pair_[1].records_lent() == 0);
  }

  Input input_;
  ByzantineWords words_;
  int64_t before_;
  InitPacket init_;
  Acquaintance talk_;
  Address hostile_;
  bool open_ = false;
  Pair pair_;
  RegionId memory_[2] = {0, 0};
  ConnectionId honest_ = 0;
  ConnectionId victim_ = 0;  // the honest connection, as the victim calls it
  ConnectionId hostile_id_ = 0;
  OperationId next_operation_ = 1;
  uint64_t posted_ = 0;
};

}  // namespace
}  // namespace heddle::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Beyond this `new` ends the process, before the machine runs out of memory.
  using heddle::transport::testing::allocations;
  heddle::transport::testing::limit_allocations(allocations().live_bytes + (int64_t{64} << 20));
  heddle::transport::Run({data, size}).play();
  return 0;
}
