// How functions of the C face end: see handles.h.
#include "plugins/c/handles.h"

namespace heddle::c {
namespace {

// The error codes of heddle and these statuses are in the same order.
heddle_status status_of(ErrorCode code) {
  static_assert(static_cast<int>(ErrorCode::kInvalid) + 1 == HEDDLE_INVALID);
  static_assert(static_cast<int>(ErrorCode::kTimeout) + 1 == HEDDLE_TIMEOUT);
  static_assert(static_cast<int>(ErrorCode::kSystem) + 1 == HEDDLE_SYSTEM);
  return static_cast<heddle_status>(static_cast<int>(code) + 1);
}

}  // namespace

std::string& last_error() {
  thread_local std::string text;  // NOLINT: per thread
  return text;
}

heddle_status report(const Error& error) {
  last_error() = error.message();
  return status_of(error.code);
}

heddle_status invalid(const char* what, const char* why, const char* todo) {
  return report({ErrorCode::kInvalid, what, why, todo});
}

Result<Config> load_config() { return Config::load(config_keys(), ConfigSources::of_process()); }

}  // namespace heddle::c
