// Messages of the rendezvous: see messages.h.
#include "collectives/rendezvous/messages.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "collectives/params.h"

namespace heddle::collectives {
namespace {

constexpr std::array<uint8_t, 4> kRegistrationMagic = {'h', 'd', 'R', 'r'};
constexpr std::array<uint8_t, 4> kAnswerMagic = {'h', 'd', 'R', 'a'};
constexpr std::array<uint8_t, 4> kGroupMagic = {'h', 'd', 'R', 'g'};

class Writer {
 public:
  void magic(const std::array<uint8_t, 4>& letters) {
    for (const uint8_t letter : letters) number(letter);
  }
  template <typename T>
  void number(T value) {
    static_assert(std::is_unsigned_v<T>);
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
    }
  }
  void text(const std::string& value) {
    const size_t length = std::min(value.size(), kMaxText);
    number(static_cast<uint16_t>(length));
    for (size_t i = 0; i < length; ++i) bytes_.push_back(static_cast<std::byte>(value[i]));
  }
  void address(const transport::Address& value) {
    for (const uint8_t byte : value.host) number(byte);
    number(value.scope);
    number(value.port);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// After the first thing that is not there, everything is empty and good() is false.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  void magic(const std::array<uint8_t, 4>& letters) {
    for (const uint8_t letter : letters) good_ = number<uint8_t>() == letter && good_;
  }
  template <typename T>
  T number() {
    if (!has(sizeof(T))) return 0;
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<uint64_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  std::string text() {
    const auto length = number<uint16_t>();
    if (length > kMaxText || !has(length)) {
      good_ = false;
      return {};
    }
    std::string value(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return value;
  }
  transport::Address address() {
    transport::Address value;
    for (uint8_t& byte : value.host) byte = number<uint8_t>();
    value.scope = number<uint32_t>();
    value.port = number<uint16_t>();
    return value;
  }
  bool good() const { return good_; }
  bool good_to_the_end() const { return good_ && bytes_.empty(); }

 private:
  bool has(size_t bytes) {
    good_ = good_ && bytes_.size() >= bytes;
    return good_;
  }

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

}  // namespace

std::vector<std::byte> encode(const Registration& registration) {
  Writer writer;
  writer.magic(kRegistrationMagic);
  writer.number(registration.version);
  writer.number(registration.rank);
  writer.number(registration.size);
  writer.number(registration.process);
  writer.number(registration.ticket);
  writer.number(static_cast<uint64_t>(registration.patience.count));
  writer.text(registration.token);
  writer.text(registration.run);
  writer.text(registration.host);
  writer.address(registration.reached);
  writer.address(registration.bound);
  return writer.take();
}

std::optional<Registration> decode_registration(std::span<const std::byte> message) {
  Reader reader(message);
  Registration registration;
  reader.magic(kRegistrationMagic);
  registration.version = reader.number<uint8_t>();
  if (!reader.good()) return std::nullopt;
  if (registration.version != kRendezvousVersion) return registration;
  registration.rank = reader.number<uint32_t>();
  registration.size = reader.number<uint32_t>();
  registration.process = reader.number<uint64_t>();
  registration.ticket = reader.number<uint64_t>();
  registration.patience = nanos(static_cast<int64_t>(reader.number<uint64_t>()));
  registration.token = reader.text();
  registration.run = reader.text();
  registration.host = reader.text();
  registration.reached = reader.address();
  registration.bound = reader.address();
  const bool sane =
      registration.size >= 1 && registration.size <= kMostRanks && registration.patience.count >= 0;
  if (!reader.good_to_the_end() || !sane) return std::nullopt;
  registration.patience = std::min(registration.patience, params::kLongestPatience);
  return registration;
}

std::vector<std::byte> encode(const Answer& answer) {
  Writer writer;
  writer.magic(kAnswerMagic);
  writer.number(static_cast<uint8_t>(answer.kind));
  writer.number(answer.body_bytes);
  writer.number(static_cast<uint8_t>(answer.error.code));
  writer.text(answer.error.what);
  writer.text(answer.error.why);
  writer.text(answer.error.todo);
  return writer.take();
}

std::optional<Answer> decode_answer(std::span<const std::byte> message) {
  Reader reader(message);
  Answer answer;
  reader.magic(kAnswerMagic);
  const auto kind = reader.number<uint8_t>();
  answer.kind = static_cast<AnswerKind>(kind);
  answer.body_bytes = reader.number<uint32_t>();
  const auto code = reader.number<uint8_t>();
  answer.error.code = static_cast<ErrorCode>(code);
  answer.error.what = reader.text();
  answer.error.why = reader.text();
  answer.error.todo = reader.text();
  constexpr uint32_t kLargestGroup = kMostRanks * (kMaxText + 32) + 32;
  const bool sane = kind <= static_cast<uint8_t>(AnswerKind::kLater) &&
                    code <= static_cast<uint8_t>(ErrorCode::kSystem) &&
                    answer.body_bytes <= kLargestGroup;
  if (!reader.good_to_the_end() || !sane) return std::nullopt;
  return answer;
}

std::vector<std::byte> encode(const Group& group) {
  Writer writer;
  writer.magic(kGroupMagic);
  writer.number(group.job);
  writer.number(group.size);
  for (uint32_t rank = 0; rank < group.size; ++rank) {
    writer.address(group.addresses[rank]);
    writer.text(group.hosts[rank]);
  }
  return writer.take();
}

std::optional<Group> decode_group(std::span<const std::byte> message) {
  Reader reader(message);
  Group group;
  reader.magic(kGroupMagic);
  group.job = reader.number<uint64_t>();
  group.size = reader.number<uint32_t>();
  for (uint32_t rank = 0; rank < group.size && reader.good(); ++rank) {
    group.addresses.push_back(reader.address());
    group.hosts.push_back(reader.text());
  }
  const bool sane = group.size >= 1 && group.size <= kMostRanks && group.job != 0;
  if (!reader.good_to_the_end() || !sane) return std::nullopt;
  return group;
}

}  // namespace heddle::collectives
