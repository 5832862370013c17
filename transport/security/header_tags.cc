// The block cipher is OpenSSL's; CMAC is put together here so that the last blocks of a whole burst
// go through it in one call. header_tags_test.cc compares with OpenSSL's own CMAC.
#include "transport/security/header_tags.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>

#include "base/check.h"
#include "transport/wire/cursor.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

constexpr size_t kBlockBytes = 16;
// A header in whole blocks.
constexpr size_t kStartBytes = (kDataHeaderBytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
using Start = std::array<std::byte, kStartBytes>;

EVP_CIPHER_CTX* cipher(void* context) { return static_cast<EVP_CIPHER_CTX*>(context); }

unsigned char* raw(std::byte* at) { return reinterpret_cast<unsigned char*>(at); }

// What the headers of a burst have in common, with zeros where they differ.
Start start_of(const std::byte* header) {
  Start start{};
  std::memcpy(start.data(), header, kDataHeaderBytes);
  start[kFlagsAt] = std::byte{0};
  std::memset(start.data() + kNumberAt, 0, sizeof(ConnectionHeader::number));
  std::memset(start.data() + kOffsetAt, 0, sizeof(DataHeader::offset));
  return start;
}

void add(std::byte* to, const std::byte* from) {
  for (size_t i = 0; i < kBlockBytes; ++i) to[i] ^= from[i];
}

// The last block: what differs.
void write_end(const std::byte* header, uint32_t payload_bytes, std::byte* to) {
  static_assert(sizeof(ConnectionHeader::number) + sizeof(DataHeader::offset) + 4 == kBlockBytes);
  Writer writer({to, kBlockBytes});
  writer.put_bytes({header + kNumberAt, sizeof(ConnectionHeader::number)});
  writer.put_bytes({header + kOffsetAt, sizeof(DataHeader::offset)});
  writer.put(static_cast<uint16_t>(payload_bytes)).put_bytes({header + kFlagsAt, 1});
  writer.put(uint8_t{0});
}

}  // namespace

HeaderTags::HeaderTags(std::span<const std::byte, kKeyBytes> key) : context_(EVP_CIPHER_CTX_new()) {
  CHECK(context_ != nullptr);
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data());
  const int done =
      EVP_EncryptInit_ex(cipher(context_), EVP_aes_256_ecb(), nullptr, bytes, nullptr) &
      EVP_CIPHER_CTX_set_padding(cipher(context_), 0);
  CHECK(done == 1);
  // SP 800-38B, 6.1: the encrypted zero block, doubled in GF(2^128).
  encrypt(last_mask_.data(), 1);
  const bool carry = (last_mask_[0] & std::byte{0x80}) != std::byte{0};
  for (size_t i = 0; i < kBlockBytes; ++i) {
    const std::byte next = i + 1 < kBlockBytes ? last_mask_[i + 1] : std::byte{0};
    last_mask_[i] = last_mask_[i] << 1 | next >> 7;
  }
  if (carry) last_mask_[kBlockBytes - 1] ^= std::byte{0x87};
}

HeaderTags::~HeaderTags() {
  EVP_CIPHER_CTX_free(cipher(context_));  // which wipes it
  OPENSSL_cleanse(last_mask_.data(), last_mask_.size());
}

void HeaderTags::encrypt(std::byte* blocks, size_t count) {
  int length = 0;
  const auto bytes = static_cast<int>(count * kBlockBytes);
  const int done = EVP_EncryptUpdate(cipher(context_), raw(blocks), &length, raw(blocks), bytes);
  CHECK(done == 1 && length == bytes);
}

void HeaderTags::make(const Burst& burst, const std::byte* headers, Tags& tags) {
  CHECK(burst.segments >= 1 && burst.segments <= kMostSegments);
  const Start start = start_of(headers);
  Block chain{};
  for (size_t at = 0; at < kStartBytes; at += kBlockBytes) {
    add(chain.data(), start.data() + at);
    encrypt(chain.data(), 1);
  }
  add(chain.data(), last_mask_.data());
  for (uint32_t i = 0; i < burst.segments; ++i) {
    const bool last = i + 1 == burst.segments;
    write_end(headers + size_t{i} * burst.stride,
              last ? burst.last_payload_bytes : burst.payload_bytes, tags[i].data());
    add(tags[i].data(), chain.data());
  }
  encrypt(tags.front().data(), burst.segments);
}

void HeaderTags::write(const Burst& burst, std::byte* headers) {
  static_assert(sizeof(Block) == kTagBytes);
  Tags tags;
  make(burst, headers, tags);
  for (uint32_t i = 0; i < burst.segments; ++i) {
    std::memcpy(headers + size_t{i} * burst.stride + kDataHeaderBytes, tags[i].data(), kTagBytes);
  }
}

uint64_t HeaderTags::check(const Burst& burst, const std::byte* headers) {
  Tags tags;
  make(burst, headers, tags);
  const Start start = start_of(headers);
  uint64_t genuine = 0;
  for (uint32_t i = 0; i < burst.segments; ++i) {
    const std::byte* header = headers + size_t{i} * burst.stride;
    const bool alike = i == 0 || start_of(header) == start;
    const bool proven = CRYPTO_memcmp(header + kDataHeaderBytes, tags[i].data(), kTagBytes) == 0;
    genuine |= uint64_t{alike && proven} << i;
  }
  return genuine;
}

}  // namespace heddle::transport
