// Exchange: how the ranks of a drive pass small values to each other, as NCCL's bootstrap does.
// ExchangeFolder keeps each value as a file of a folder that all ranks share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle::nccl {

// Used by one thread of a rank at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Publishes a value under a new key. Errors: kInUse where the key exists; those of the medium.
  virtual Result<void> put(const std::string& key, std::string_view value) = 0;
  // The value, or nothing as long as no rank has published it. Errors: those of the medium.
  virtual Result<std::optional<std::string>> get(const std::string& key) = 0;
};

class ExchangeFolder final : public Exchange {
 public:
  // Makes the folder where it does not exist. Errors of all calls: kPermission, kExhausted (no
  // space), kUnavailable.
  static Result<ExchangeFolder> open(const std::string& folder);

  // A value appears as a whole, by link(2). Keys consist of letters, digits, '_', '-' and '.'.
  Result<void> put(const std::string& key, std::string_view value) override;
  Result<std::optional<std::string>> get(const std::string& key) override;

 private:
  explicit ExchangeFolder(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace heddle::nccl
