// ForkGuard: see fork_guard.h.
#include "base/fork_guard.h"

#include <pthread.h>

namespace heddle {
namespace {

// When the program is loaded and not at the first use: a fork() in the midst of the first use would
// leave a child that waits for its end.
const bool watching = pthread_atfork(nullptr, nullptr, [] { detail::forks.fetch_add(1); }) == 0;

}  // namespace

ForkGuard::ForkGuard() : generation_(fork_generation()) { static_cast<void>(watching); }

}  // namespace heddle
