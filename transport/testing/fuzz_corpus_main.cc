// Writes the seed corpora of the transport's fuzz targets: fuzz_corpus FOLDER, which is
// tests/fuzz/corpus in the tree. One valid sample of each packet and frame for wire_fuzz; scripts
// that reach every step for endpoint_fuzz.
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "transport/wire/control.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {
namespace {

namespace fs = std::filesystem;
using Sample = std::vector<std::byte>;

void save(const fs::path& folder, const std::string& name, const Sample& sample) {
  std::ofstream file(folder / name, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(sample.data()),
             static_cast<std::streamsize>(sample.size()));
}

// A frame without its type byte, which the parsers do not see.
template <typename Write>
Sample frame(Write write) {
  Sample space(1024);
  Writer writer(space);
  write(writer);
  space.resize(space.size() - writer.left());
  space.erase(space.begin());
  return space;
}

Sample control_frame(size_t which) {
  AckFrame ack{3, Nanos{1000}, Nanos{2000}, 5, 2, {}};
  ack.ranges[0] = {90, 99};
  ack.ranges[1] = {1, 80};
  PlacedGrantFrame placed{1, 7, 65536, 9, 4096, {}};
  placed.token.length = 12;
  switch (which) {
    case 0:
      return frame([&](Writer& w) { write_ack(ack, w); });
    case 1:
      return frame([](Writer& w) { write_ack_times({Nanos{5}, 100000}, w); });
    case 2:
      return frame([](Writer& w) { write_grant({1, 4, 8, 65536}, w); });
    case 3:
      return frame([](Writer& w) { write_cancel(FrameType::kCancelSend, {1, 4, {}}, w); });
    case 4:
      return frame([](Writer& w) { write_close(CloseReason::kGraceful, w); });
    case 5:
      return frame([&](Writer& w) { write_placed_grant(placed, w); });
    default:
      return frame([](Writer& w) { write_fence(FrameType::kFenced, {2, 1}, w); });
  }
}

Sample packet(size_t which) {
  HandshakeParameters parameters;
  parameters.max_paths = 8;
  parameters.max_datagram_bytes = 8952;
  parameters.max_channels = 64;
  parameters.max_posted = 256;
  std::strcpy(parameters.congestion.data(), "cubic");
  InitPacket init;
  init.reply_port = 4000;
  init.connection = 65537;
  init.nonce = 99;
  init.parameters = parameters;
  AcceptPacket accept;
  accept.reply_port = 4000;
  accept.connection = 65537;
  accept.accepted_as = 131073;
  accept.parameters = parameters;
  Sample space(kInitBytes);
  size_t bytes = kInitBytes;
  switch (which) {
    case 0:
      bytes = write_init(init, space);
      break;
    case 1:
      bytes = write_retry({65537, 99, {}}, space);
      break;
    case 2:
      bytes = write_accept(accept, space);
      break;
    case 3:
      bytes = write_refuse({65537, 99, RefuseReason::kFull}, space);
      break;
    case 4:
      bytes = write_version({65537, 99, 1, 2}, space);
      break;
    case 5:
      bytes = write_reset({65537, 3, 17}, space);
      break;
    default:
      write_data_headers({{PacketType::kData, 1, 3, 65537, 17, Nanos{5}, 4000}, 1, 2, 3, 4}, 1, {1},
                         space.data());
  }
  space.resize(bytes);
  return space;
}

void write_wire(const fs::path& folder) {
  for (size_t which = 0; which < 14; ++which) {
    Sample sample = which < 7 ? control_frame(which) : packet(which - 7);
    sample.insert(sample.begin(), std::byte(which));
    save(folder, "sample_" + std::to_string(which), sample);
  }
}

// Steps of endpoint_fuzz's scripts.
class Script {
 public:
  // `shape` as endpoint_fuzz reads it: 0 datagrams, 1 placed chunks, 3 placed by a reliable NIC.
  Script(uint64_t seed, unsigned shape) : random_(seed) { put({shape}); }

  void put(std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) sample_.push_back(std::byte(byte));
  }
  void message(unsigned from, unsigned channel, unsigned kilobytes) {
    put({2 | (1 - from) << 7, channel << 2, 0, 0, kilobytes * 4});
    put({0 | from << 7, channel << 2, 0, 0, kilobytes * 4});
  }
  void micros(unsigned span) { put({5, span}); }
  void millis(unsigned span) { put({6, span}); }
  void control(unsigned side, unsigned flags, const Sample& frames) {
    put({9 | side << 7, flags, 0, 0, any(200), 0, 1});
    put({static_cast<unsigned>(frames.size())});
    sample_.insert(sample_.end(), frames.begin(), frames.end());
  }
  void data(unsigned side) {
    put({8 | side << 7, any(3), any(4), any(5), 0, any(250), 0, 1, any(4), 8 + any(6)});
    put({any(256), any(8), any(256), any(32), any(4), any(256), any(8), any(256), any(4)});
  }
  void placed(unsigned side) {
    put({16 | side << 7, any(3), any(4), any(2), any(2), any(256), any(4), any(4), any(2) * 128});
    put({any(256), any(17), any(4), any(20)});
  }
  void step() {
    switch (any(13)) {
      case 0:
        put({10, any(256)});
        break;
      case 1:
        put({10, 0});
        break;
      case 2:
        put({11, 1 + any(7), any(60), 1 + any(255)});
        break;
      case 3:
        put({12 | any(2) << 7, any(16)});
        break;
      case 4:
        put({4 | any(2) << 7, any(8)});
        break;
      case 5:
        put({14 | any(2) << 7, any(3), any(4), any(256), any(16)});
        break;
      case 6:
        data(any(2));
        break;
      case 7:
        millis(any(200));
        break;
      case 8:
        micros(any(256));
        break;
      case 9:
        placed(any(2));
        break;
      default:
        message(any(2), any(3), any(60));
        break;
    }
  }
  unsigned any(unsigned bound) { return static_cast<unsigned>(random_.below(bound)); }
  const Sample& sample() const { return sample_; }

 private:
  Random random_;
  Sample sample_;
};

// Times of an acknowledgement whose difference does not fit: it overflowed.
Sample times_at_both_ends() {
  Script script(0, 0);
  script.message(0, 1, 40);
  for (uint64_t number = 1; number <= 8; ++number) {
    Sample frames(200);
    Writer writer(frames);
    write_ack_times({Nanos::never(), 1 << 20}, writer);
    AckFrame ack;
    ack.received_at = Nanos{INT64_MIN};
    ack.range_count = 1;
    ack.ranges[0] = {number, number};
    write_ack(ack, writer);
    frames.resize(frames.size() - writer.left());
    script.micros(20);
    script.control(0, 0, frames);
    script.control(1, 0, frames);
  }
  return script.sample();
}

void write_endpoint(const fs::path& folder) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    constexpr std::array<unsigned, 4> kShapes = {0, 0, 1, 3};
    Script script(seed, kShapes[seed % 4]);
    for (int i = 0; i < 40; ++i) script.step();
    if (seed % 3 == 0) script.put({13, script.any(256)});
    if (seed % 3 == 1) script.put({15, 15 | 128, 6, 50});
    script.message(1, 0, 4);
    script.millis(20);
    save(folder, "steps_" + std::to_string(seed), script.sample());
  }
  for (size_t which = 0; which < 7; ++which) {
    Script script(which, which < 5 ? 0 : 1);
    script.message(0, 1, 40);
    script.micros(60);
    Sample frames = control_frame(which);
    constexpr std::array<FrameType, 7> kTypes = {
        FrameType::kAck,   FrameType::kAckTimes,    FrameType::kGrant, FrameType::kCancelSend,
        FrameType::kClose, FrameType::kPlacedGrant, FrameType::kFenced};
    frames.insert(frames.begin(), std::byte(static_cast<uint8_t>(kTypes[which])));
    script.control(0, 4, frames);
    script.control(1, 4, frames);
    script.millis(20);
    save(folder, "frame_" + std::to_string(which), script.sample());
  }
  save(folder, "times_at_both_ends", times_at_both_ends());
}

// Choices of byzantine_peer_fuzz: whatever they are, they are words of the protocol.
void write_byzantine(const fs::path& folder) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Random random(seed);
    Sample sample(200 + random.below(1800));
    for (std::byte& byte : sample) byte = static_cast<std::byte>(random.below(256));
    save(folder, "choices_" + std::to_string(seed), sample);
  }
}

}  // namespace
}  // namespace heddle::transport

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s tests/fuzz/corpus\n", argv[0]);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder / "wire_fuzz");
  std::filesystem::create_directories(folder / "endpoint_fuzz");
  std::filesystem::create_directories(folder / "byzantine_peer_fuzz");
  heddle::transport::write_byzantine(folder / "byzantine_peer_fuzz");
  heddle::transport::write_wire(folder / "wire_fuzz");
  heddle::transport::write_endpoint(folder / "endpoint_fuzz");
  return 0;
}
