// Payload: see payload.h. Word k of a message is start + k * step: no two messages of a comm begin
// alike, and neighboring words differ in all of their bytes.
#include "nccl/drive/payload.h"

#include <algorithm>
#include <cstring>

namespace heddle::nccl {
namespace {

constexpr uint64_t kStep = 0x9e37'79b9'7f4a'7c15;  // odd, of the golden ratio

// SplitMix64's finalizer.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

uint64_t first_word(uint64_t seed, uint64_t index) { return mixed(seed + (index + 1) * kStep); }

}  // namespace

uint64_t payload_seed(std::string_view comm_key) {
  uint64_t seed = 0;
  for (const char each : comm_key) seed = mixed(seed + static_cast<unsigned char>(each) + kStep);
  return seed;
}

void fill_payload(std::span<std::byte> message, uint64_t seed, uint64_t index) {
  uint64_t word = first_word(seed, index);
  for (size_t at = 0; at < message.size(); at += sizeof(word), word += kStep) {
    std::memcpy(message.data() + at, &word, std::min(sizeof(word), message.size() - at));
  }
}

bool is_payload(std::span<const std::byte> message, uint64_t seed, uint64_t index) {
  uint64_t word = first_word(seed, index);
  for (size_t at = 0; at < message.size(); at += sizeof(word), word += kStep) {
    const size_t bytes = std::min(sizeof(word), message.size() - at);
    if (std::memcmp(message.data() + at, &word, bytes) != 0) return false;
  }
  return true;
}

}  // namespace heddle::nccl
