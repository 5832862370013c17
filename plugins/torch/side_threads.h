// SideThreads: threads for tasks that must not block the progress thread because they take long,
// wait for other calls or need Python's lock: copies out of staging memory, callbacks of futures,
// and the destruction of tensors. Each running task has its own thread, so a task may wait for
// another; all but one thread end after a time without tasks. If the system allows no more threads,
// tasks queue for the existing ones, and threads that wait for a call run them as well.
#pragma once

#include <functional>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::pytorch {

// Starts the one that stays, if this process has none yet: then no task is without a thread.
// Errors: kExhausted.
Result<void> prepare_side_threads();

// Runs `task` soon, on some thread. It throws nothing but std::bad_alloc. A child of fork() has
// threads of its own.
void run_aside(std::function<void()> task);

// By a thread that waits for a call and does not have Python's lock: starts a thread if tasks have
// none, or runs one itself where that cannot be.
void help_side_threads();

// Until all tasks have ended, or `most` is over. A Python that ends stops each thread that asks for
// its lock, which no destructor of a tensor survives: what comes later is kept for ever and not
// run. Not with that lock held.
void end_side_threads(Nanos most);

}  // namespace heddle::pytorch
