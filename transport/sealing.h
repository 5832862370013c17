// Sealing: how packets of keyed connections are made unreadable and unforgeable (AES-256-GCM). A
// burst names the key that seals it; the datapath that gathers the burst calls seal_segment(). What
// stands in clear is the connection header (of data: the data header), and the tag covers it. A
// SealKey belongs to one direction of one connection and to one of its epochs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/payload.h"
#include "transport/rx_run.h"

namespace heddle::transport {

// Every sealed segment is longer than a clear one by its tag.
inline constexpr uint32_t kTagBytes = 16;
static_assert(kMostHeaderBytes == kDataHeaderBytes + kTagBytes);

class SealKey {
 public:
  static constexpr size_t kKeyBytes = 32;
  static constexpr size_t kIvBytes = 12;
  using Nonce = std::array<std::byte, kIvBytes>;
  enum class Use : uint8_t { kSeal, kOpen };

  SealKey(std::span<const std::byte, kKeyBytes> key, std::span<const std::byte, kIvBytes> iv,
          Use use);
  ~SealKey();
  SealKey(const SealKey&) = delete;
  SealKey& operator=(const SealKey&) = delete;

  // What is sealed as one: the tag covers `header` and `name`, and `first` and `second` are
  // encrypted, one behind the other.
  struct Text {
    std::span<const std::byte> header;
    std::span<const std::byte> name;
    std::span<const std::byte> first;
    std::span<const std::byte> second;
  };

  // Writes what is encrypted to `to`, and the tag behind it.
  void seal(const Nonce& nonce, const Text& text, std::byte* to);
  // Opens `sealed` (the tag at its end) to `to`, which may be where it stands. False: forged; then
  // what stands at `to` means nothing.
  bool open(const Nonce& nonce, std::span<const std::byte> header, std::span<const std::byte> name,
            std::span<const std::byte> sealed, std::byte* to);
  // The nonce of the packet with this header: its path, its number and whether that is a packet
  // number. No two packets that leave under one key have the same.
  Nonce nonce(const std::byte* header) const;

 private:
  void* context_;  // OpenSSL's EVP_CIPHER_CTX
  Nonce iv_;
};

// How much of a sealed packet stands in clear, by its first byte; 0: packets of this type are not
// sealed.
uint32_t clear_bytes(std::byte first);

// Writes a sealed segment of header.size() + payload.size() + kTagBytes bytes to `to`.
void seal_segment(SealKey& key, std::span<const std::byte> header,
                  std::span<const std::byte> payload, std::byte* to);
// Opens a segment where it stands: then its bytes but the last kTagBytes are what was sealed.
// False: forged, or too short.
bool open_segment(SealKey& key, std::span<std::byte> segment);

// For payload that is only named (virtual memory): the tag covers the name instead of the bytes.
// Writes header.size() + kTagBytes bytes.
void seal_named(SealKey& key, std::span<const std::byte> header, const Payload& name,
                std::byte* to);
bool open_named(SealKey& key, std::span<std::byte> header, const Payload& name);

}  // namespace heddle::transport
