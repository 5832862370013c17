// What all process groups of this process share: see process.h.
#include "plugins/torch/process.h"

#include <map>
#include <mutex>

#include "base/config.h"
#include "base/log.h"
#include "base/version.h"
#include "engine/fork_guard.h"

namespace heddle::pytorch {

std::string heddle_version() { return std::string(kVersion); }

namespace {

using EndpointResult = Result<std::shared_ptr<collectives::DrivenEndpoint>>;

// All values in force: the same text where nothing differs.
std::string text_of(const Config& config) {
  std::string text;
  for (const ConfigEntry& entry : config.entries()) text.append(entry.value).push_back('\n');
  return text;
}

}  // namespace

EndpointResult shared_endpoint() {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<collectives::DrivenEndpoint>> shared;
  static uint64_t generation = engine::fork_generation();
  const std::lock_guard lock(mutex);
  const Result<Config> config = Config::load(config_keys(), ConfigSources::of_process());
  if (!config) return fail(config.error());
  // A child of fork() opens its own.
  if (generation != engine::fork_generation()) shared.clear();
  generation = engine::fork_generation();
  std::erase_if(shared, [](const auto& each) { return each.second.expired(); });
  auto& kept = shared[text_of(*config)];
  if (auto open = kept.lock()) return open;
  set_log_level(parse_log_level(config->text("log")).value_or(LogLevel::kWarn));
  EndpointResult opened = collectives::DrivenEndpoint::open(*config);
  if (opened) kept = *opened;
  return opened;
}

}  // namespace heddle::pytorch
