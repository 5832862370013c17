// NonceCheck: checks that no nonce of a run is used twice. Two packets with one nonce under one GCM
// key would reveal their contents and allow forgeries. It observes what datapaths encrypt. Each key
// has its own IV, so one set serves all keys of all hosts; it also reveals a key that two
// directions share.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "simulator/sim_datapath.h"

namespace heddle::simulator {

class NonceCheck final : public EncryptionObserver {
 public:
  void handle_encryption(const transport::PacketKey& key,
                         std::span<const std::byte> header) override {
    ++encrypted_;
    if (seen_.insert(key.nonce(header.data())).second) return;
    violations_.push_back("packet " + std::to_string(encrypted_) +
                          " of the run was encrypted with a nonce that was used before");
  }

  uint64_t encrypted() const { return encrypted_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  struct Hash {
    size_t operator()(const transport::PacketKey::Nonce& nonce) const {
      uint64_t low = 0;
      uint32_t high = 0;
      std::memcpy(&low, nonce.data(), sizeof low);
      std::memcpy(&high, nonce.data() + sizeof low, sizeof high);
      return low ^ uint64_t { high } << 17;
    }
  };

  std::unordered_set<transport::PacketKey::Nonce, Hash> seen_;
  uint64_t encrypted_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace heddle::simulator
