// NetLibrary: a net plugin's shared library, found and opened as NCCL does it, and the newest of
// its tables. The driver, `heddle nccl doctor` and tests open plugins by it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "nccl/net_plugin.h"

namespace heddle::nccl {

class NetLibrary {
 public:
  // `name` is a path, a library's name, or "x" for libnccl-net-x.so; empty: libnccl-net.so. The
  // newest table from v12 to v6 is taken, or the one of `version` where it is not 0.
  // Errors: kUnavailable (no such file, or the loader refuses it), kVersion (no table that NCCL
  // would take), kInvalid (a table without a name or without a function that NCCL calls).
  static Result<NetLibrary> open(const std::string& name, int version = 0);

  NetLibrary(NetLibrary&&) noexcept = default;
  NetLibrary& operator=(NetLibrary&&) noexcept = default;

  // Valid as long as this library is.
  NetPlugin& plugin() { return *plugin_; }
  // Where the loader found it.
  const std::string& file() const { return file_; }
  // All versions of the net table that it exports, newest first.
  const std::vector<int>& versions() const { return versions_; }

 private:
  struct Closer {
    void operator()(void* handle) const;
  };
  using Handle = std::unique_ptr<void, Closer>;

  NetLibrary() = default;
  Result<void> choose_table(int version);

  Handle handle_;
  std::string file_;
  std::vector<int> versions_;
  std::unique_ptr<NetPlugin> plugin_;
};

}  // namespace heddle::nccl
