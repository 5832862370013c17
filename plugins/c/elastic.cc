// The C face of jobs whose ranks change: some are lost and the others go on; processes join.
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/growth.h"
#include "collectives/key_store.h"
#include "collectives/launch.h"
#include "plugins/c/handles.h"

using heddle::ErrorCode;
using heddle::Nanos;
using heddle::Result;
using heddle::c::guarded;
using heddle::c::invalid;
using heddle::c::report;
using heddle::collectives::DrivenEndpoint;
using heddle::collectives::KeyStore;
using heddle::collectives::SharedCommunicator;

namespace {

// Of the run that started this process; it is removed with the run.
std::string store_of_run() {
  const char* const place = std::getenv("HEDDLE_STORE");
  return std::getenv("HEDDLE_RUN") == nullptr || place == nullptr ? ""
                                                                  : std::string(place) + ".keys";
}

Result<KeyStore> store_at(const char* store) {
  constexpr std::string_view kFolder = "file://";
  const std::string text = store == nullptr ? store_of_run() : store;
  if (!text.starts_with(kFolder) || !text.substr(kFolder.size()).starts_with("/")) {
    return heddle::fail(ErrorCode::kInvalid, "cannot use the store '" + text + "'",
                        "it is no folder", "name one that all processes share: file:///PATH");
  }
  return heddle::collectives::folder_store(text.substr(kFolder.size()));
}

}  // namespace

heddle_status heddle_revoke(heddle_comm* comm) {
  return guarded([&]() -> heddle_status {
    if (comm == nullptr) return invalid("cannot revoke", "there is no communicator");
    comm->communicator->revoke();
    return HEDDLE_OK;
  });
}

heddle_status heddle_shrink(heddle_comm* comm, int64_t join_within_ms, heddle_comm** left) {
  return guarded([&]() -> heddle_status {
    if (comm == nullptr || left == nullptr) {
      return invalid("cannot shrink a communicator", "there is none, or no place for another");
    }
    *left = nullptr;
    if (join_within_ms < 0) return invalid("cannot shrink a communicator", "its time is negative");
    heddle::collectives::ShrinkOptions options;
    if (join_within_ms > 0) options.join_within = heddle::millis(join_within_ms);
    auto shrunk = comm->communicator->shrink(options);
    if (!shrunk) return report(shrunk.error());
    if (comm->of_job) heddle::collectives::report_members(shrunk->communicator->members());
    *left = new heddle_comm{std::move(shrunk->communicator), comm->endpoint,
                            std::move(shrunk->former_ranks), comm->of_job};
    return HEDDLE_OK;
  });
}

uint32_t heddle_former_rank(const heddle_comm* comm, uint32_t rank) {
  if (comm == nullptr || rank >= comm->former_ranks.size()) return rank;
  return comm->former_ranks[rank];
}

heddle_status heddle_grow(heddle_comm* comm, const char* store, heddle_comm** grown) {
  return guarded([&]() -> heddle_status {
    if (comm == nullptr || grown == nullptr) {
      return invalid("cannot grow a communicator", "there is none, or no place for another");
    }
    *grown = nullptr;
    const Result<KeyStore> keys = store_at(store);
    if (!keys) return report(keys.error());
    auto made = heddle::collectives::grow(*comm->communicator, *comm->endpoint, *keys);
    if (!made) return report(made.error());
    if (*made) {
      if (comm->of_job) heddle::collectives::report_members((**made).communicator->members());
      *grown = new heddle_comm{std::move((**made).communicator), comm->endpoint,
                               std::move((**made).former_ranks), comm->of_job};
    }
    return HEDDLE_OK;
  });
}

heddle_status heddle_join(const char* store, int64_t timeout_ms, heddle_comm** world) {
  return guarded([&]() -> heddle_status {
    if (world == nullptr) return invalid("cannot join", "there is no place for a communicator");
    *world = nullptr;
    const Result<KeyStore> keys = store_at(store);
    if (!keys) return report(keys.error());
    const auto config = heddle::c::load_config();
    if (!config) return report(config.error());
    const auto endpoint = DrivenEndpoint::open(*config);
    if (!endpoint) return report(endpoint.error());
    const Nanos timeout = timeout_ms < 0 ? Nanos::never() : heddle::millis(timeout_ms);
    const auto members =
        heddle::collectives::join(**endpoint, *keys, {.timeout = timeout, .stopped = {}});
    if (!members) return report(members.error());
    auto made = SharedCommunicator::create(DrivenEndpoint::thread_of(*endpoint), *members,
                                           (*endpoint)->communicator_options());
    if (!made) return report(made.error());
    heddle::collectives::report_members(*members);
    *world = new heddle_comm{std::move(*made), *endpoint, {}, true};
    return HEDDLE_OK;
  });
}
