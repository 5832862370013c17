// DrivenEndpoint: see driven_endpoint.h.
#include "collectives/driven_endpoint.h"

#include <utility>

#include "collectives/configured.h"
#include "collectives/rendezvous.h"
#include "engine/configured.h"

namespace heddle::collectives {

DrivenEndpoint::DrivenEndpoint(Config config, CommunicatorOptions options,
                               std::unique_ptr<engine::Endpoint> endpoint,
                               std::unique_ptr<ProgressThread> thread)
    : config_(std::move(config)),
      options_(std::move(options)),
      endpoint_(std::move(endpoint)),
      thread_(std::move(thread)) {}

Result<std::shared_ptr<DrivenEndpoint>> DrivenEndpoint::drive(
    const Config& config, const CommunicatorOptions& options,
    std::unique_ptr<engine::Endpoint> endpoint) {
  Result<std::unique_ptr<ProgressThread>> thread = ProgressThread::create(*endpoint);
  if (!thread) return fail(thread.error());
  return std::shared_ptr<DrivenEndpoint>(
      new DrivenEndpoint(config, options, std::move(endpoint), std::move(*thread)));
}

Result<std::unique_ptr<engine::Endpoint>> DrivenEndpoint::open_endpoint(const Config& config) {
  Result<engine::Options> options = configured_rank_options(config);
  if (!options) return fail(options.error());
  // The progress thread is the one that drives, whatever `drive` says.
  options->drive = engine::Drive::kInline;
  return engine::Endpoint::open(engine::configured_network(config), *options);
}

Result<std::shared_ptr<DrivenEndpoint>> DrivenEndpoint::open(const Config& config) {
  const Result<CommunicatorOptions> tuned = configured_communicator_options(config);
  if (!tuned) return fail(tuned.error());
  Result<std::unique_ptr<engine::Endpoint>> endpoint = open_endpoint(config);
  if (!endpoint) return fail(endpoint.error());
  return drive(config, *tuned, std::move(*endpoint));
}

Result<DrivenEndpoint::Met> DrivenEndpoint::meet(const Config& config,
                                                 std::span<const std::string> environment) {
  const Result<MeetOptions> meeting = meet_options(config, environment);
  if (!meeting) return fail(meeting.error());
  const Result<CommunicatorOptions> tuned = configured_communicator_options(config);
  if (!tuned) return fail(tuned.error());
  Result<std::unique_ptr<engine::Endpoint>> endpoint = open_endpoint(config);
  if (!endpoint) return fail(endpoint.error());
  Result<Group> group = collectives::meet(**endpoint, *meeting);
  if (!group) return fail(group.error());
  Result<std::shared_ptr<DrivenEndpoint>> driven = drive(config, *tuned, std::move(*endpoint));
  if (!driven) return fail(driven.error());
  return Met{std::move(*driven), std::move(*group)};
}

}  // namespace heddle::collectives
