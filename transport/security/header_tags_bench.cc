// What a tag of a data header costs, sender or receiver, by how it is made. Argument: segments of a
// burst. Time is of one segment.
//   build/release/bin/transport_bench --benchmark_filter=tag_
#include <benchmark/benchmark.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <vector>

#include "transport/security/header_tags.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

constexpr uint32_t kStride = kDataHeaderBytes + kTagBytes;
constexpr std::array<std::byte, 32> kKey{std::byte{1}};

std::vector<std::byte> headers_of(const HeaderTags::Burst& burst) {
  std::vector<std::byte> bytes(size_t{burst.segments} * kStride);
  write_data_headers({}, burst.segments, {burst.payload_bytes, kStride}, bytes.data());
  return bytes;
}

HeaderTags::Burst burst_in(const benchmark::State& state) {
  return {static_cast<uint32_t>(state.range(0)), kStride, 1400, 1400};
}

unsigned char* raw(std::byte* at) { return reinterpret_cast<unsigned char*>(at); }

void tag_cmac_of_rows(benchmark::State& state) {
  const HeaderTags::Burst burst = burst_in(state);
  std::vector<std::byte> bytes = headers_of(burst);
  HeaderTags tags(kKey);
  while (state.KeepRunningBatch(burst.segments)) tags.write(burst, bytes.data());
}

void tag_cmac_of_rows_checked(benchmark::State& state) {
  const HeaderTags::Burst burst = burst_in(state);
  std::vector<std::byte> bytes = headers_of(burst);
  HeaderTags tags(kKey);
  tags.write(burst, bytes.data());
  while (state.KeepRunningBatch(burst.segments)) {
    benchmark::DoNotOptimize(tags.check(burst, bytes.data()));
  }
}

// The context keeps its key: only the nonce is new.
void tag_gmac_each(benchmark::State& state) {
  const HeaderTags::Burst burst = burst_in(state);
  std::vector<std::byte> bytes = headers_of(burst);
  std::array<std::byte, PacketKey::kIvBytes> iv{};
  PacketKey key(kKey, iv, PacketKey::Use::kEncrypt);
  while (state.KeepRunningBatch(burst.segments)) {
    for (uint32_t i = 0; i < burst.segments; ++i) {
      std::byte* at = bytes.data() + size_t{i} * kStride;
      key.encrypt(key.nonce(at), {{at, kDataHeaderBytes}, {}, {}, {}}, at + kDataHeaderBytes);
    }
  }
}

void tag_chacha20_poly1305_each(benchmark::State& state) {
  const HeaderTags::Burst burst = burst_in(state);
  std::vector<std::byte> bytes = headers_of(burst);
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  std::array<unsigned char, 32> key{1};
  std::array<unsigned char, 12> nonce{};
  EVP_EncryptInit_ex(context, EVP_chacha20_poly1305(), nullptr, key.data(), nonce.data());
  while (state.KeepRunningBatch(burst.segments)) {
    for (uint32_t i = 0; i < burst.segments; ++i) {
      std::byte* at = bytes.data() + size_t{i} * kStride;
      int length = 0;
      EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data());
      EVP_EncryptUpdate(context, nullptr, &length, raw(at), kDataHeaderBytes);
      EVP_EncryptFinal_ex(context, raw(at), &length);
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, at + kDataHeaderBytes);
    }
  }
  EVP_CIPHER_CTX_free(context);
}

void mac_each(benchmark::State& state, const char* name, const OSSL_PARAM* params,
              size_t key_bytes) {
  const HeaderTags::Burst burst = burst_in(state);
  std::vector<std::byte> bytes = headers_of(burst);
  std::array<unsigned char, 32> key{1};
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, name, nullptr);
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
  EVP_MAC_init(context, key.data(), key_bytes, params);
  while (state.KeepRunningBatch(burst.segments)) {
    for (uint32_t i = 0; i < burst.segments; ++i) {
      std::byte* at = bytes.data() + size_t{i} * kStride;
      size_t length = 0;
      EVP_MAC_init(context, nullptr, 0, nullptr);
      EVP_MAC_update(context, raw(at), kDataHeaderBytes);
      EVP_MAC_final(context, raw(at + kDataHeaderBytes), &length, kTagBytes);
    }
  }
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(mac);
}

void tag_openssl_cmac_each(benchmark::State& state) {
  char cipher[] = "AES-256-CBC";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
                               OSSL_PARAM_construct_end()};
  mac_each(state, "CMAC", params, 32);
}

// 64 bits of proof per key word only, and its key is set anew each time: OpenSSL keeps none.
void tag_siphash_each(benchmark::State& state) {
  const HeaderTags::Burst burst = burst_in(state);
  std::vector<std::byte> bytes = headers_of(burst);
  std::array<unsigned char, 16> key{1};
  EVP_MAC* mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
  while (state.KeepRunningBatch(burst.segments)) {
    for (uint32_t i = 0; i < burst.segments; ++i) {
      std::byte* at = bytes.data() + size_t{i} * kStride;
      size_t length = 0;
      EVP_MAC_init(context, key.data(), key.size(), nullptr);
      EVP_MAC_update(context, raw(at), kDataHeaderBytes);
      EVP_MAC_final(context, raw(at + kDataHeaderBytes), &length, kTagBytes);
    }
  }
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(mac);
}

BENCHMARK(tag_cmac_of_rows)->Arg(64)->Arg(7)->Arg(1);
BENCHMARK(tag_cmac_of_rows_checked)->Arg(64)->Arg(7)->Arg(1);
BENCHMARK(tag_gmac_each)->Arg(7);
BENCHMARK(tag_chacha20_poly1305_each)->Arg(7);
BENCHMARK(tag_openssl_cmac_each)->Arg(7);
BENCHMARK(tag_siphash_each)->Arg(7);

}  // namespace
}  // namespace heddle::transport
