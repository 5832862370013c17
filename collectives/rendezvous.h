// Rendezvous: the ranks of a run find each other. Rank 0 serves a store over heddle's own protocol,
// authenticated by cluster keys; the others register there and receive the group when all have
// registered. docs/reference/collectives.md lists the settings of launchers and users.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/config.h"
#include "base/nanos.h"
#include "base/result.h"
#include "collectives/group.h"
#include "collectives/launch.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

struct MeetOptions {
  Launch launch;
  Nanos timeout = seconds(60);
  // Opens the endpoint of the store at this port (0: any), which accepts at least `size`
  // connections; asked on rank 0 only.
  std::function<Result<std::unique_ptr<engine::Endpoint>>(uint16_t port, uint32_t size)> open_store;
  // Both set: where rank 0's store is goes by these, as text, and not by `launch.store`; for ranks
  // that share a place of another kind, as a store of another program. find() fails while nothing
  // is there, and is asked again.
  std::function<Result<void>(const std::string& text)> announce;
  std::function<Result<std::string>()> find;
  // Asked ten times a second; true ends the meeting with kCancelled. May be empty.
  std::function<bool()> stopped;
};

// As the configuration (`store`, `rendezvous_timeout_ms`, and those of endpoints) and the
// environment say. Errors: those of read_launch() and of the configured options.
Result<MeetOptions> meet_options(const Config& config, std::span<const std::string> environment);

// MeetOptions::open_store for an endpoint with these options but for what a store needs.
std::function<Result<std::unique_ptr<engine::Endpoint>>(uint16_t, uint32_t)> store_opener(
    const engine::Options& options, const engine::NetworkOptions& network);

// Makes `endpoint` known to all ranks of the run and returns where they are. Each rank calls it
// once a meeting; it returns on all of them, or fails on all that are there. It takes no connection
// that others open to `endpoint` meanwhile. Errors: kTimeout (naming the ranks that are missing),
// kInvalid (sizes that differ, a rank that two claim, no such store), kInUse (the store's port),
// kPermission, kUnavailable (the store's host is not known), kCancelled.
Result<Group> meet(engine::Endpoint& endpoint, const MeetOptions& options);

}  // namespace heddle::collectives
