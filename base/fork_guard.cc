// ForkGuard: see fork_guard.h.
#include "base/fork_guard.h"

#include <pthread.h>

namespace heddle {
namespace {

// Registered when the program is loaded, not at first use: a fork() during a first use would leave
// a child that waits for its completion.
const bool watching = pthread_atfork(nullptr, nullptr, [] { detail::forks.fetch_add(1); }) == 0;

}  // namespace

ForkGuard::ForkGuard() : generation_(fork_generation()) { static_cast<void>(watching); }

}  // namespace heddle
