// Frames: see frame.h.
#include "relaying/frame.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/printable.h"
#include "base/version.h"
#include "relaying/params.h"

namespace heddle::relaying {
namespace {

constexpr FrameKind kUnversionedHello{1};  // no frame that is written: of versions before the first

class Writer {
 public:
  explicit Writer(std::span<std::byte> space) : space_(space) {}

  template <typename Number>
  void number(const Number& value) {
    put(&value, sizeof value);
  }
  void text(const std::string& value, size_t most) {
    const auto length = static_cast<uint16_t>(std::min(value.size(), most));
    number(length);
    put(value.data(), length);
  }
  void bytes(std::span<const std::byte> value) { put(value.data(), value.size()); }
  size_t used() const { return used_; }

 private:
  void put(const void* start, size_t bytes) {
    CHECK(bytes <= space_.size() - used_);
    if (bytes > 0) std::memcpy(space_.data() + used_, start, bytes);
    used_ += bytes;
  }

  std::span<std::byte> space_;
  size_t used_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> rest) : rest_(rest) {}

  template <typename Number>
  void number(Number& value) {
    take(&value, sizeof value);
  }
  void text(std::string& value, size_t most) {
    uint16_t length = 0;
    number(length);
    good_ = good_ && length <= most && length <= rest_.size();
    if (!good_) return;
    value.assign(reinterpret_cast<const char*>(rest_.data()), length);
    rest_ = rest_.subspan(length);
  }
  void bytes(std::span<std::byte> value) { take(value.data(), value.size()); }
  std::span<const std::byte> rest() { return std::exchange(rest_, {}); }
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  void take(void* start, size_t bytes) {
    good_ = good_ && bytes <= rest_.size();
    if (!good_) return;
    if (bytes > 0) std::memcpy(start, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }

  std::span<const std::byte> rest_;
  bool good_ = true;
};

Unexpected no_frame(const char* why) {
  return fail(ErrorCode::kInvalid, "cannot read a frame of a relayed session", why,
              "use the same version of heddle at both ends and on the relays between them");
}

void write_hello(Writer& writer, const Hello& hello) {
  writer.number(params::kVersion);
  writer.bytes(hello.session);
  writer.number(hello.attempt);
  writer.number(hello.received);
  const size_t hops = std::min(hello.hops.size(), params::kMostHops);
  writer.number(static_cast<uint8_t>(hops));
  for (size_t i = 0; i < hops; ++i) writer.text(hello.hops[i], params::kLongestHop);
}

// Relays and the acceptor send it to the initiator: "this machine" would be either.
Unexpected other_version(uint16_t version) {
  return fail(ErrorCode::kVersion, "cannot take the relayed session",
              fmt::format("its frames are of version {}, heddle {} there reads version {}", version,
                          kVersion, params::kVersion),
              version < params::kVersion ? "upgrade heddle on the machine that begins the session"
                                         : "upgrade heddle on the machine that refuses it");
}

Result<void> read_hello(Reader& reader, Hello& hello) {
  uint16_t version = 0;
  reader.number(version);
  if (reader.good() && version != params::kVersion) return other_version(version);
  reader.bytes(hello.session);
  reader.number(hello.attempt);
  reader.number(hello.received);
  uint8_t hops = 0;
  reader.number(hops);
  for (size_t i = 0; i < std::min<size_t>(hops, params::kMostHops + 1) && reader.good(); ++i) {
    reader.text(hello.hops.emplace_back(), params::kLongestHop);
  }
  if (hello.hops.size() > params::kMostHops) return no_frame("it names too many hops");
  for (const std::string& hop : hello.hops) {
    if (printable(hop) != hop) return no_frame("a hop has a character that no name has");
  }
  return {};
}

Result<Frame> read_data(Reader& reader, Frame frame) {
  reader.number(frame.piece.channel);
  reader.number(frame.piece.offset);
  reader.number(frame.piece.message_bytes);
  reader.number(frame.piece.sequence);
  if (!reader.good()) return no_frame("it is too short");
  frame.payload = reader.rest();
  const Piece& piece = frame.piece;
  if (piece.message_bytes > params::kLongestMessage || piece.offset > piece.message_bytes ||
      frame.payload.size() > piece.message_bytes - piece.offset) {
    return no_frame("a piece reaches beyond its message");
  }
  if (frame.payload.empty() && piece.message_bytes > 0) return no_frame("a piece is empty");
  return frame;
}

bool is_code(uint8_t code) { return code <= static_cast<uint8_t>(ErrorCode::kSystem); }

}  // namespace

Result<Frame> read_frame(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Frame frame;
  uint8_t code = 0;
  reader.number(frame.kind);
  if (frame.kind == kUnversionedHello) return other_version(0);
  switch (frame.kind) {
    case FrameKind::kHello:
      if (Result<void> read = read_hello(reader, frame.hello); !read) return fail(read.error());
      break;
    case FrameKind::kWelcome:
    case FrameKind::kConfirm:
      reader.number(frame.received);
      break;
    case FrameKind::kData:
      return read_data(reader, frame);
    case FrameKind::kBye:
      break;
    case FrameKind::kRefuse:
      reader.number(code);
      if (!is_code(code)) return no_frame("it names an unknown error");
      frame.error.code = static_cast<ErrorCode>(code);
      reader.text(frame.error.what, params::kLongestText);
      reader.text(frame.error.why, params::kLongestText);
      reader.text(frame.error.todo, params::kLongestText);
      for (std::string* text : {&frame.error.what, &frame.error.why, &frame.error.todo}) {
        *text = printable(*text);  // a terminal would obey what a peer wrote
      }
      break;
    default:
      return no_frame("it is of an unknown kind");
  }
  if (!reader.at_end()) return no_frame("its length is wrong");
  return frame;
}

size_t write_frame(std::span<std::byte> space, const Frame& frame) {
  Writer writer(space);
  writer.number(frame.kind);
  switch (frame.kind) {
    case FrameKind::kHello:
      write_hello(writer, frame.hello);
      break;
    case FrameKind::kWelcome:
    case FrameKind::kConfirm:
      writer.number(frame.received);
      break;
    case FrameKind::kData:
      writer.number(frame.piece.channel);
      writer.number(frame.piece.offset);
      writer.number(frame.piece.message_bytes);
      writer.number(frame.piece.sequence);
      writer.bytes(frame.payload);
      break;
    case FrameKind::kBye:
      break;
    case FrameKind::kRefuse:
      writer.number(static_cast<uint8_t>(frame.error.code));
      writer.text(frame.error.what, params::kLongestText);
      writer.text(frame.error.why, params::kLongestText);
      writer.text(frame.error.todo, params::kLongestText);
      break;
  }
  return writer.used();
}

}  // namespace heddle::relaying
