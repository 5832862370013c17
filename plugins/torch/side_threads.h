// SideThreads: threads that run what may not run on the progress thread because it takes long,
// waits for other calls or needs Python's lock: copies out of staging memory, callbacks of futures
// and the end of tensors. There are as many as tasks run at once, so that a task may wait for
// another; all but one end when there was nothing to do for a while. Where the system allows no
// more threads, tasks wait for those that there are, and whoever waits for a call runs them too.
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
