// What all process groups of this process share: see process.h.
#include "plugins/torch/process.h"

#include <mutex>

#include "base/config.h"
#include "base/log.h"
#include "base/version.h"
#include "engine/fork_guard.h"

namespace heddle::pytorch {

std::string heddle_version() { return std::string(kVersion); }

Result<std::shared_ptr<collectives::DrivenEndpoint>> shared_endpoint() {
  static std::mutex mutex;
  static std::weak_ptr<collectives::DrivenEndpoint> shared;
  static uint64_t generation = engine::fork_generation();
  const std::lock_guard lock(mutex);
  // A child of fork() opens one of its own.
  if (generation == engine::fork_generation()) {
    if (auto open = shared.lock()) return open;
  }
  const Result<Config> config = Config::load(config_keys(), ConfigSources::of_process());
  if (!config) return fail(config.error());
  set_log_level(parse_log_level(config->text("log")).value_or(LogLevel::kWarn));
  Result<std::shared_ptr<collectives::DrivenEndpoint>> opened =
      collectives::DrivenEndpoint::open(*config);
  if (!opened) return opened;
  shared = *opened;
  generation = engine::fork_generation();
  return opened;
}

}  // namespace heddle::pytorch
