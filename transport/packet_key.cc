// The cipher is OpenSSL's EVP interface; here is which bytes it is given.
#include "transport/packet_key.h"

#include <openssl/evp.h>

#include <cstring>

#include "base/check.h"
#include "transport/wire/cursor.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

EVP_CIPHER_CTX* cipher(void* context) { return static_cast<EVP_CIPHER_CTX*>(context); }

unsigned char* raw(std::byte* at) { return reinterpret_cast<unsigned char*>(at); }
const unsigned char* raw(const std::byte* at) { return reinterpret_cast<const unsigned char*>(at); }

using NameBytes = std::array<std::byte, 20>;

NameBytes bytes_of(const Payload& name) {
  NameBytes bytes;
  Writer(bytes).put(name.region).put(name.offset).put(name.length);
  return bytes;
}

}  // namespace

PacketKey::PacketKey(std::span<const std::byte, kKeyBytes> key,
                     std::span<const std::byte, kIvBytes> iv, Use use)
    : context_(EVP_CIPHER_CTX_new()) {
  CHECK(context_ != nullptr);
  const int done = EVP_CipherInit_ex(cipher(context_), EVP_aes_256_gcm(), nullptr, raw(key.data()),
                                     nullptr, use == Use::kEncrypt ? 1 : 0);
  CHECK(done == 1);
  std::memcpy(iv_.data(), iv.data(), iv_.size());
}

PacketKey::~PacketKey() { EVP_CIPHER_CTX_free(cipher(context_)); }  // which wipes it

PacketKey::Nonce PacketKey::nonce(const std::byte* header) const {
  const auto flags = static_cast<uint8_t>(header[kFlagsAt]);
  const bool numbered = type_of(header[0]) != PacketType::kControl || (flags & kFlagNumbered) != 0;
  Nonce nonce = iv_;
  for (size_t i = 0; i < 8; ++i) nonce[i] ^= header[kNumberAt + i];
  for (size_t i = 0; i < 2; ++i) nonce[8 + i] ^= header[kPathAt + i];
  nonce[10] ^= std::byte{numbered};
  return nonce;
}

void PacketKey::encrypt(const Nonce& nonce, const Text& text, std::byte* to) {
  EVP_CIPHER_CTX* context = cipher(context_);
  int done = EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, raw(nonce.data()));
  int length = 0;
  for (const auto& covered : {text.header, text.name}) {
    if (covered.empty()) continue;
    done &= EVP_EncryptUpdate(context, nullptr, &length, raw(covered.data()),
                              static_cast<int>(covered.size()));
  }
  for (const auto& piece : {text.first, text.second}) {
    if (piece.empty()) continue;
    done &= EVP_EncryptUpdate(context, raw(to), &length, raw(piece.data()),
                              static_cast<int>(piece.size()));
    to += piece.size();
  }
  done &= EVP_EncryptFinal_ex(context, raw(to), &length);
  done &= EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, to);
  CHECK(done == 1);
}

bool PacketKey::decrypt(const Nonce& nonce, std::span<const std::byte> header,
                        std::span<const std::byte> name, std::span<const std::byte> encrypted,
                        std::byte* to) {
  if (encrypted.size() < kTagBytes) return false;
  EVP_CIPHER_CTX* context = cipher(context_);
  const std::span<const std::byte> text = encrypted.first(encrypted.size() - kTagBytes);
  std::array<std::byte, kTagBytes> tag;
  std::memcpy(tag.data(), encrypted.data() + text.size(), kTagBytes);
  int done = EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, raw(nonce.data()));
  int length = 0;
  for (const auto& covered : {header, name}) {
    if (covered.empty()) continue;
    done &= EVP_DecryptUpdate(context, nullptr, &length, raw(covered.data()),
                              static_cast<int>(covered.size()));
  }
  if (!text.empty()) {
    done &= EVP_DecryptUpdate(context, raw(to), &length, raw(text.data()),
                              static_cast<int>(text.size()));
  }
  done &= EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data());
  CHECK(done == 1);
  return EVP_DecryptFinal_ex(context, raw(to) + text.size(), &length) == 1;
}

uint32_t clear_bytes(std::byte first) {
  switch (type_of(first)) {
    case PacketType::kData:
    case PacketType::kRetransmission:
      return kDataHeaderBytes;
    case PacketType::kControl:
      return kConnectionHeaderBytes;
    default:
      return 0;
  }
}

void encrypt_segment(PacketKey& key, std::span<const std::byte> header,
                     std::span<const std::byte> payload, std::byte* to) {
  const uint32_t clear = clear_bytes(header[0]);
  CHECK(clear > 0 && header.size() >= clear);
  std::memcpy(to, header.data(), clear);
  key.encrypt(key.nonce(to), {header.first(clear), {}, header.subspan(clear), payload}, to + clear);
}

bool decrypt_segment(PacketKey& key, std::span<std::byte> segment) {
  const uint32_t clear = clear_bytes(segment[0]);
  if (clear == 0 || segment.size() < clear + kTagBytes) return false;
  const std::span<std::byte> encrypted = segment.subspan(clear);
  return key.decrypt(key.nonce(segment.data()), segment.first(clear), {}, encrypted,
                     encrypted.data());
}

void tag_payload_name(PacketKey& key, std::span<const std::byte> header, const Payload& name,
                      std::byte* to) {
  const uint32_t clear = clear_bytes(header[0]);
  CHECK(clear > 0 && header.size() >= clear);
  std::memcpy(to, header.data(), clear);
  const NameBytes named = bytes_of(name);
  key.encrypt(key.nonce(to), {header.first(clear), named, header.subspan(clear), {}}, to + clear);
}

bool check_payload_name(PacketKey& key, std::span<std::byte> header, const Payload& name) {
  const uint32_t clear = clear_bytes(header[0]);
  if (clear == 0 || header.size() < clear + kTagBytes) return false;
  const std::span<std::byte> encrypted = header.subspan(clear);
  return key.decrypt(key.nonce(header.data()), header.first(clear), bytes_of(name), encrypted,
                     encrypted.data());
}

}  // namespace heddle::transport
