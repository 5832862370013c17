// DrivenEndpoint: see driven_endpoint.h.
#include "collectives/driven_endpoint.h"

#include <utility>

#include "collectives/configured.h"
#include "engine/configured.h"

namespace heddle::collectives {

DrivenEndpoint::DrivenEndpoint(Config config, CommunicatorOptions options,
                               std::unique_ptr<engine::Endpoint> endpoint)
    : config_(std::move(config)),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      thread_(std::make_unique<ProgressThread>(*endpoint_)) {}

Result<std::shared_ptr<DrivenEndpoint>> DrivenEndpoint::open(const Config& config) {
  Result<engine::Options> options = configured_rank_options(config);
  if (!options) return fail(options.error());
  // The progress thread is the one that drives, whatever `drive` says.
  options->drive = engine::Drive::kInline;
  const Result<CommunicatorOptions> tuned = configured_communicator_options(config);
  if (!tuned) return fail(tuned.error());
  Result<std::unique_ptr<engine::Endpoint>> endpoint =
      engine::Endpoint::open(engine::configured_network(config), *options);
  if (!endpoint) return fail(endpoint.error());
  return std::shared_ptr<DrivenEndpoint>(new DrivenEndpoint(config, *tuned, std::move(*endpoint)));
}

}  // namespace heddle::collectives
