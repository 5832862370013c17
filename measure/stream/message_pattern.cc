// MessagePattern: see message_pattern.h. Word i of message n is n's mixed seed plus i times an odd
// number: neighbours differ in all their bytes, and a compiler turns the loops into vector code.
#include "measure/stream/message_pattern.h"

#include <cstring>

namespace heddle::measure {
namespace {

constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

uint64_t seed_of(uint64_t number) {
  uint64_t z = (number + 1) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 31)) * 0x94d049bb133111eb;
  return z ^ (z >> 29);
}

}  // namespace

void fill_message(std::span<std::byte> bytes, uint64_t number) {
  uint64_t word = seed_of(number);
  size_t at = 0;
  for (; at + sizeof word <= bytes.size(); at += sizeof word, word += kStep) {
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  if (at < bytes.size()) std::memcpy(bytes.data() + at, &word, bytes.size() - at);
}

std::optional<uint64_t> find_difference(std::span<const std::byte> bytes, uint64_t number) {
  uint64_t word = seed_of(number);
  const auto first_in = [&bytes](size_t at, uint64_t wanted) {
    std::byte expected[sizeof wanted];
    std::memcpy(expected, &wanted, sizeof wanted);
    size_t i = 0;
    while (bytes[at + i] == expected[i]) ++i;
    return at + i;
  };
  size_t at = 0;
  for (; at + sizeof word <= bytes.size(); at += sizeof word, word += kStep) {
    if (std::memcmp(bytes.data() + at, &word, sizeof word) != 0) return first_in(at, word);
  }
  const size_t rest = bytes.size() - at;
  if (rest > 0 && std::memcmp(bytes.data() + at, &word, rest) != 0) return first_in(at, word);
  return std::nullopt;
}

}  // namespace heddle::measure
