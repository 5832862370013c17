// PacketKey: encrypts and authenticates packets of keyed connections (AES-256-GCM). One key belongs
// to one direction of one connection in one epoch. A burst names its key; the datapath that gathers
// the burst calls encrypt_segment(). The connection header (of data: the data header) is sent in
// clear and is covered by the tag.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/payload.h"
#include "transport/rx_run.h"

namespace heddle::transport {

// Every encrypted segment is longer than a clear one by its tag.
inline constexpr uint32_t kTagBytes = 16;
static_assert(kMostHeaderBytes == kDataHeaderBytes + kTagBytes);

class PacketKey {
 public:
  static constexpr size_t kKeyBytes = 32;
  static constexpr size_t kIvBytes = 12;
  using Nonce = std::array<std::byte, kIvBytes>;
  enum class Use : uint8_t { kEncrypt, kDecrypt };

  PacketKey(std::span<const std::byte, kKeyBytes> key, std::span<const std::byte, kIvBytes> iv,
            Use use);
  ~PacketKey();
  PacketKey(const PacketKey&) = delete;
  PacketKey& operator=(const PacketKey&) = delete;

  // What is encrypted as one: the tag covers `header` and `name`, and `first` and `second` are
  // encrypted, one behind the other.
  struct Text {
    std::span<const std::byte> header;
    std::span<const std::byte> name;
    std::span<const std::byte> first;
    std::span<const std::byte> second;
  };

  // Writes what is encrypted to `to`, and the tag behind it.
  void encrypt(const Nonce& nonce, const Text& text, std::byte* to);
  // Opens `encrypted` (the tag at its end) to `to`, which may be where it stands. False: forged;
  // then what stands at `to` means nothing.
  bool decrypt(const Nonce& nonce, std::span<const std::byte> header,
               std::span<const std::byte> name, std::span<const std::byte> encrypted,
               std::byte* to);
  // The nonce of the packet with this header: its path, its number and whether that is a packet
  // number. No two packets that leave under one key have the same.
  Nonce nonce(const std::byte* header) const;

 private:
  void* context_;  // OpenSSL's EVP_CIPHER_CTX
  Nonce iv_;
};

// Number of bytes of an encrypted packet that are in clear, by its first byte; 0: packets of this
// type are not encrypted.
uint32_t clear_bytes(std::byte first);

// Writes an encrypted segment of header.size() + payload.size() + kTagBytes bytes to `to`.
void encrypt_segment(PacketKey& key, std::span<const std::byte> header,
                     std::span<const std::byte> payload, std::byte* to);
// Opens a segment where it stands: then its bytes but the last kTagBytes are what was encrypted.
// False: forged, or too short.
bool decrypt_segment(PacketKey& key, std::span<std::byte> segment);

// For payload that is only named (virtual memory): the tag covers the name instead of the bytes.
// Writes header.size() + kTagBytes bytes.
void tag_payload_name(PacketKey& key, std::span<const std::byte> header, const Payload& name,
                      std::byte* to);
bool check_payload_name(PacketKey& key, std::span<std::byte> header, const Payload& name);

}  // namespace heddle::transport
