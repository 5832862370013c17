// What is recorded, from the environment alone: a library inside any program reads no configuration
// file. The variables are those of heddle's settings (base/config_keys.cc).
#pragma once

#include <string>

#include "base/result.h"
#include "events/recording.h"

namespace heddle::nccl::trace {

struct Settings {
  events::RecordingOptions recording;  // without a directory nothing is recorded
  bool plain_copies = false;           // look at cudaMemcpy, too, for copies between devices
};

// `variable(name)` is getenv() or a test's. Errors: kInvalid, a value that the setting does not
// have.
using Variable = const char* (*)(const char* name);
Result<Settings> read_settings(Variable variable);

}  // namespace heddle::nccl::trace
