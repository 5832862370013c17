// HeaderTags: proofs of data headers whose payload is not protected. The tag is an AES-256-CMAC
// (NIST SP 800-38B) over the header and the number of payload bytes behind it. A burst's headers
// differ in few fields; these stand last in what is authenticated, so that all else is worked on
// once a burst, and each further segment costs one block of AES, many of them in one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/packet_key.h"

namespace heddle::transport {

class HeaderTags {
 public:
  static constexpr size_t kKeyBytes = 32;
  static constexpr uint32_t kMostSegments = 64;  // of a burst, at a time

  explicit HeaderTags(std::span<const std::byte, kKeyBytes> key);
  ~HeaderTags();
  HeaderTags(const HeaderTags&) = delete;
  HeaderTags& operator=(const HeaderTags&) = delete;

  // Data headers `stride` apart, each with room for its tag behind it.
  struct Burst {
    uint32_t segments = 1;
    uint32_t stride = 0;
    uint32_t payload_bytes = 0;  // behind each header but the last
    uint32_t last_payload_bytes = 0;
  };

  // Writes the tag of each header. They differ in number, offset and flags only.
  void write(const Burst& burst, std::byte* headers);
  // Bit i: header i is genuine, and continues the first. The rest are forged.
  uint64_t check(const Burst& burst, const std::byte* headers);

 private:
  using Block = std::array<std::byte, 16>;

  void encrypt(std::byte* blocks, size_t count);
  using Tags = std::array<Block, kMostSegments>;
  void make(const Burst& burst, const std::byte* headers, Tags& tags);

  void* context_;      // OpenSSL's EVP_CIPHER_CTX
  Block last_mask_{};  // CMAC's subkey for a whole last block
};

}  // namespace heddle::transport
