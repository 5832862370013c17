// Audit: the file with every decision, one line of JSON each, only ever added to. Monitors of
// several jobs may share it, and a new one reads what those before it have done.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "steering/decision.h"

namespace heddle::steering {

class Audit {
 public:
  using Take = std::function<void(const Decision& decision)>;

  // Of decisions before `since_ns` (since 1970) those are left out that are far before later ones.
  // Errors: kPermission, kSystem (it cannot be opened for reading and writing, or is no file).
  static Result<Audit> open(const std::string& path, int64_t since_ns = 0);

  // Keeps other monitors from it until end(), and passes the decisions that were added since. A
  // file that was renamed, removed or truncated is begun anew under its name.
  // Errors: kInUse (another program holds it for longer than a tenth of a second), kSystem, those
  // of open().
  Result<void> begin(const Take& take);
  // On the disk when it returns. On an error nothing of it is in the file. Errors: kExhausted,
  // kPermission, kSystem. Between begin() and end().
  Result<void> append(const Decision& decision);
  void end();

  // Lines that could not be read so far: half-written ones, or of another program.
  uint64_t damaged() const { return damaged_; }

 private:
  Audit(Descriptor file, std::string path, int64_t since_ns)
      : file_(std::move(file)), path_(std::move(path)), since_ns_(since_ns) {}
  Result<void> lock();
  bool is_at_its_path() const;
  Result<int64_t> first_needed(int64_t size) const;
  void take_line(std::string_view line, const Take& take);

  Descriptor file_;
  std::string path_;
  int64_t since_ns_ = 0;
  int64_t read_to_ = 0;  // bytes; whole lines
  bool at_start_ = true;
  uint64_t damaged_ = 0;
};

}  // namespace heddle::steering
