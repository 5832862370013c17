// What all process groups of this process share: see process.h.
#include "plugins/torch/process.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/config.h"
#include "base/log.h"
#include "base/own_mutex.h"
#include "base/per_process.h"
#include "base/version.h"

namespace heddle::pytorch {

std::string heddle_version() { return std::string(kVersion); }

namespace {

using EndpointResult = Result<std::shared_ptr<collectives::DrivenEndpoint>>;

struct OpenEndpoints {
  OwnMutex mutex;
  // By the variables under which they were opened.
  std::map<std::string, std::weak_ptr<collectives::DrivenEndpoint>> endpoints;
};

// The variables of heddle: the same text where none differs. What is logged is the process's own.
std::string variables_of(const ConfigSources& sources) {
  std::vector<std::string> variables;
  for (const std::string& pair : sources.environment) {
    if (pair.starts_with("HEDDLE_") && !pair.starts_with("HEDDLE_LOG=")) variables.push_back(pair);
  }
  std::sort(variables.begin(), variables.end());
  std::string text;
  for (const std::string& pair : variables) text.append(pair).push_back('\0');
  return text;
}

}  // namespace

EndpointResult shared_endpoint() {
  static constinit PerProcess<OpenEndpoints> of_process;  // a child of fork() opens its own
  OpenEndpoints& shared = of_process.get();
  const OwnMutex::Lock lock = shared.mutex.lock();
  const ConfigSources sources = ConfigSources::of_process();
  std::erase_if(shared.endpoints, [](const auto& each) { return each.second.expired(); });
  auto& kept = shared.endpoints[variables_of(sources)];
  if (auto open = kept.lock()) return open;
  // The file is read only now: one that changed or went meanwhile parts no groups.
  const Result<Config> config = Config::load(config_keys(), sources);
  if (!config) return fail(config.error());
  set_log_level(parse_log_level(config->text("log")).value_or(LogLevel::kWarn));
  for (const std::string& warning : config->warnings()) log_warn("{}", warning);
  EndpointResult opened = collectives::DrivenEndpoint::open(*config);
  if (opened) kept = *opened;
  return opened;
}

}  // namespace heddle::pytorch
