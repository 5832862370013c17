// Control messages: one byte of kind, one of the version, then the fields in little-endian order.
#include "collectives/execution/control.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heddle::collectives {
namespace {

constexpr uint8_t kVersion = 4;
constexpr size_t kHelloBytes = 2 + 8 + 4 + 4;  // and an offer
constexpr size_t kFailureHead = 2 + 1 + 4;
constexpr size_t kAnswerHead = 2 + 1 + 1;
constexpr size_t kStalledBytes = 2 + Signature::kBytes;
constexpr size_t kLateBytes = 2 + 8 + 4 + 1;
constexpr size_t kWantedBytes = 2 + 8;
constexpr size_t kKeptBytes = 2 + 2 * 4 * StreamCounts::kChannels;
constexpr size_t kMembershipHead = 2 + 8 + 1 + 2 * 8 + 8;

class Writer {
 public:
  explicit Writer(std::byte* bytes, ControlKind kind) : start_(bytes), at_(bytes) {
    put(static_cast<uint64_t>(kind), 1);
    put(kVersion, 1);
  }
  void put(uint64_t value, size_t count) {
    for (size_t i = 0; i < count; ++i) *at_++ = static_cast<std::byte>(value >> (8 * i));
  }
  void put(const std::string& text, size_t most) {
    const size_t length = std::min(text.size(), most);
    std::memcpy(at_, text.data(), length);
    at_ += length;
  }
  std::byte* at() const { return at_; }
  size_t written() const { return static_cast<size_t>(at_ - start_); }

 private:
  std::byte* start_;
  std::byte* at_;
};

uint64_t take(std::span<const std::byte> bytes, size_t offset, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    value |= static_cast<uint64_t>(bytes[offset + i]) << (8 * i);
  }
  return value;
}

bool is(std::span<const std::byte> bytes, ControlKind kind, size_t least) {
  return bytes.size() >= least && bytes[0] == static_cast<std::byte>(kind) &&
         bytes[1] == std::byte{kVersion};
}

}  // namespace

size_t write_hello(const Hello& hello, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kHello);
  writer.put(hello.communicator, 8);
  writer.put(hello.rank, 4);
  writer.put(hello.size, 4);
  if (!hello.memory) return writer.written();
  hello.memory->write(writer.at());
  return writer.written() + MemoryOffer::kBytes;
}

size_t write_failure(const Failure& failure, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kFailure);
  writer.put(static_cast<uint64_t>(failure.code), 1);
  writer.put(failure.rank, 4);
  writer.put(failure.text, kControlBytes - kFailureHead);
  return writer.written();
}

size_t write_stalled(const Signature& signature, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kStalled);
  signature.write(writer.at());
  return writer.written() + Signature::kBytes;
}

size_t write_late(const Late& late, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kLate);
  writer.put(late.number, 8);
  writer.put(late.rank, 4);
  writer.put(late.came ? 1 : 0, 1);
  return writer.written();
}

size_t write_wanted(uint64_t communicator, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kWanted);
  writer.put(communicator, 8);
  return writer.written();
}

size_t write_kept(const StreamCounts& posted, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kKept);
  for (const uint32_t count : posted.sends) writer.put(count, 4);
  for (const uint32_t count : posted.receives) writer.put(count, 4);
  return writer.written();
}

size_t write_membership(uint64_t communicator, const MembershipMessage& message, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kMembership);
  writer.put(communicator, 8);
  writer.put(static_cast<uint64_t>(message.kind), 1);
  for (const Ballot& ballot : {message.ballot, message.accepted}) {
    writer.put(ballot.round, 4);
    writer.put(ballot.leader, 4);
  }
  writer.put(message.newcomers, 8);
  const size_t ranks = message.ranks.write({writer.at(), kControlBytes - kMembershipHead});
  return ranks == 0 ? 0 : writer.written() + ranks;
}

size_t write_answer(const MemoryAnswer& answer, std::byte* bytes) {
  Writer writer(bytes, ControlKind::kAnswer);
  writer.put(static_cast<uint64_t>(answer.step), 1);
  writer.put(answer.same_host ? 1 : 0, 1);
  writer.put(answer.why, kControlBytes - kAnswerHead);
  return writer.written();
}

std::optional<ControlKind> control_kind(std::span<const std::byte> bytes) {
  for (const ControlKind kind :
       {ControlKind::kHello, ControlKind::kFailure, ControlKind::kStalled, ControlKind::kLate,
        ControlKind::kAnswer, ControlKind::kKept, ControlKind::kMembership, ControlKind::kWanted}) {
    if (is(bytes, kind, 2)) return kind;
  }
  return std::nullopt;
}

std::optional<Hello> read_hello(std::span<const std::byte> bytes) {
  if (!is(bytes, ControlKind::kHello, kHelloBytes)) return std::nullopt;
  Hello hello = {.communicator = take(bytes, 2, 8),
                 .rank = static_cast<uint32_t>(take(bytes, 10, 4)),
                 .size = static_cast<uint32_t>(take(bytes, 14, 4))};
  if (bytes.size() == kHelloBytes + MemoryOffer::kBytes) {
    hello.memory = MemoryOffer::read(bytes.data() + kHelloBytes);
  }
  return hello;
}

std::optional<Failure> read_failure(std::span<const std::byte> bytes) {
  if (!is(bytes, ControlKind::kFailure, kFailureHead)) return std::nullopt;
  Failure failure;
  const uint64_t code = take(bytes, 2, 1);
  if (code > static_cast<uint64_t>(ErrorCode::kSystem)) return std::nullopt;
  failure.code = static_cast<ErrorCode>(code);
  failure.rank = static_cast<uint32_t>(take(bytes, 3, 4));
  failure.text.assign(reinterpret_cast<const char*>(bytes.data()) + kFailureHead,
                      bytes.size() - kFailureHead);
  return failure;
}

std::optional<Signature> read_stalled(std::span<const std::byte> bytes) {
  if (!is(bytes, ControlKind::kStalled, kStalledBytes)) return std::nullopt;
  return Signature::read(bytes.data() + 2);
}

std::optional<Late> read_late(std::span<const std::byte> bytes) {
  if (!is(bytes, ControlKind::kLate, kLateBytes)) return std::nullopt;
  return Late{.number = take(bytes, 2, 8),
              .rank = static_cast<uint32_t>(take(bytes, 10, 4)),
              .came = take(bytes, 14, 1) != 0};
}

std::optional<uint64_t> read_wanted(std::span<const std::byte> bytes) {
  if (!is(bytes, ControlKind::kWanted, kWantedBytes)) return std::nullopt;
  return take(bytes, 2, 8);
}

std::optional<StreamCounts> read_kept(std::span<const std::byte> bytes) {
  if (!is(bytes, ControlKind::kKept, kKeptBytes)) return std::nullopt;
  StreamCounts posted;
  size_t at = 2;
  for (auto* const counts : {&posted.sends, &posted.receives}) {
    for (uint32_t& count : *counts) {
      count = static_cast<uint32_t>(take(bytes, at, 4));
      at += 4;
    }
  }
  return posted;
}

std::optional<MembershipMessage> read_membership(std::span<const std::byte> bytes,
                                                 uint64_t communicator, uint32_t size) {
  if (!is(bytes, ControlKind::kMembership, kMembershipHead)) return std::nullopt;
  const uint64_t kind = take(bytes, 10, 1);
  if (take(bytes, 2, 8) != communicator || kind == 0 ||
      kind > static_cast<uint64_t>(MembershipMessage::Kind::kJoined)) {
    return std::nullopt;
  }
  const auto ballot = [&bytes](size_t at) {
    return Ballot{static_cast<uint32_t>(take(bytes, at, 4)),
                  static_cast<uint32_t>(take(bytes, at + 4, 4))};
  };
  std::optional<RankSet> ranks = RankSet::read(bytes.subspan(kMembershipHead), size);
  if (!ranks) return std::nullopt;
  return MembershipMessage{static_cast<MembershipMessage::Kind>(kind), ballot(11), ballot(19),
                           std::move(*ranks), take(bytes, 27, 8)};
}

std::optional<MemoryAnswer> read_answer(std::span<const std::byte> bytes) {
  if (!is(bytes, ControlKind::kAnswer, kAnswerHead)) return std::nullopt;
  const uint64_t step = take(bytes, 2, 1);
  if (step > static_cast<uint64_t>(MemoryAnswer::Step::kDeclined)) return std::nullopt;
  MemoryAnswer answer = {.step = static_cast<MemoryAnswer::Step>(step),
                         .same_host = take(bytes, 3, 1) != 0};
  answer.why.assign(reinterpret_cast<const char*>(bytes.data()) + kAnswerHead,
                    bytes.size() - kAnswerHead);
  return answer;
}

}  // namespace heddle::collectives
