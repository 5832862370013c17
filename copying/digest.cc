// Digest: see digest.h. XXH_INLINE_ALL compiles the functions in, so that no other version of the
// library is met at run time.
#include "copying/digest.h"

#include <xxhash.h>

#include <cstring>

namespace heddle::copying {

struct Digest::State {
  XXH3_state_t xxh3;
};

Digest::Digest() : state_(std::make_unique<State>()) { reset(); }
Digest::~Digest() = default;
Digest::Digest(Digest&& other) noexcept = default;
Digest& Digest::operator=(Digest&& other) noexcept = default;

void Digest::reset() { XXH3_128bits_reset(&state_->xxh3); }

void Digest::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

DigestValue Digest::value() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->xxh3));
  DigestValue value;
  std::memcpy(value.data(), canonical.digest, value.size());
  return value;
}

}  // namespace heddle::copying
