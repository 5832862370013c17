// Attachment: see attachment.h.
#include "apps/cli/attachment.h"

#include "collectives/configured.h"
#include "engine/configured.h"

namespace heddle::cli {
namespace {

Result<std::unique_ptr<engine::Endpoint>> attach(const Config& config, uint16_t port, bool accept) {
  Result<engine::Options> options = engine::configured_options(config);
  if (!options) return fail(options.error());
  engine::NetworkOptions network = engine::configured_network(config);
  network.port = port;
  options->transport.accept = accept;
  if (accept) {
    options->transport.stranger_bytes =
        engine::stranger_share(config, engine::kServerEndpointParts);
    if (auto room = engine::check_stranger_bytes(*options, engine::kServerEndpointParts, 1);
        !room) {
      return fail(room.error());
    }
  }
  return engine::Endpoint::open(network, *options);
}

}  // namespace

Result<std::unique_ptr<engine::Endpoint>> attach_client(const Config& config) {
  return attach(config, 0, false);
}

Result<std::unique_ptr<engine::Endpoint>> attach_server(const Config& config) {
  return attach(config, static_cast<uint16_t>(config.integer("port")), true);
}

Result<std::unique_ptr<engine::Endpoint>> attach_client(
    const Config& config, const std::vector<transport::ClusterKey>& keys) {
  Result<engine::Options> options = engine::configured_options(config);
  if (!options) return fail(options.error());
  options->transport.keys = keys;
  return engine::Endpoint::open(engine::configured_network(config), *options);
}

Result<std::unique_ptr<engine::Endpoint>> attach_server(const Config& config, uint16_t port) {
  return attach(config, port, true);
}

Result<std::unique_ptr<engine::Endpoint>> attach_rank(const Config& config, events::Sink* sink) {
  Result<engine::Options> options = collectives::configured_rank_options(config);
  if (!options) return fail(options.error());
  options->sink = sink;
  return engine::Endpoint::open(engine::configured_network(config), *options);
}

}  // namespace heddle::cli
