// Audit: the file with every decision, one line of JSON each, only ever added to. Monitors of
// several jobs may share it, and a new one reads what those before it have done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "steering/decision.h"

namespace heddle::steering {

class Audit {
 public:
  // Errors: kPermission, kSystem (it cannot be opened for reading and writing, or is no file).
  static Result<Audit> open(const std::string& path);

  // Keeps other monitors from it until end(), and returns the decisions that were added since.
  // Errors: kInUse (another program holds it for longer than a tenth of a second), kSystem.
  Result<std::vector<Decision>> begin();
  // On the disk when it returns. On an error nothing of it is in the file. Errors: kExhausted,
  // kPermission, kSystem. Between begin() and end().
  Result<void> append(const Decision& decision);
  void end();

  // Lines that could not be read so far: half-written ones, or of another program.
  uint64_t damaged() const { return damaged_; }

 private:
  Audit(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Descriptor file_;
  std::string path_;
  int64_t read_to_ = 0;  // bytes; whole lines
  bool at_start_ = true;
  uint64_t damaged_ = 0;
};

}  // namespace heddle::steering
