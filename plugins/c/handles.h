// What the handles of the C face hold, and how its functions end. Functions of this file have C++
// linkage and are not exported.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "collectives/driven_endpoint.h"
#include "collectives/pending_call.h"
#include "collectives/shared_communicator.h"
#include "plugins/c/heddle.h"

struct heddle_comm {
  std::unique_ptr<heddle::collectives::SharedCommunicator> communicator;
  std::shared_ptr<heddle::collectives::DrivenEndpoint> endpoint;
  std::vector<uint32_t> former_ranks;  // where it was made of another by its ranks that were left
  bool of_job = true;                  // of all its ranks: no part that heddle_split() made
};

struct heddle_request {
  std::vector<heddle::collectives::PendingCall> calls;
};

namespace heddle::c {

// Of this thread.
std::string& last_error();
// Keeps it, and returns its status.
heddle_status report(const Error& error);
heddle_status invalid(const char* what, const char* why, const char* todo = "");
// As heddle_*'s environment and files say.
Result<Config> load_config();

// Runs what may throw: memory, and what libraries do.
template <typename Body>
heddle_status guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    last_error().clear();
    return HEDDLE_EXHAUSTED;
  } catch (const std::exception& error) {
    return report({ErrorCode::kSystem, "heddle failed", error.what(), "please report it"});
  } catch (...) {
    return report(
        {ErrorCode::kSystem, "heddle failed", "for an unknown reason", "please report it"});
  }
}

}  // namespace heddle::c
