// SideThreads: threads that run what may not run on the progress thread because it takes long,
// waits for other calls or needs Python's lock: copies out of staging memory and callbacks of
// futures. There are as many as tasks run at once, so that a task may wait for another; they end
// when there was nothing to do for a while.
#pragma once

#include <functional>

#include "base/nanos.h"

namespace heddle::pytorch {

// Runs `task` soon, on some thread. A child of fork() has threads of its own.
void run_aside(std::function<void()> task);

// Until all tasks have ended, or `most` is over: then false. A Python that ends stops each thread
// that asks for its lock, which no destructor of a tensor survives. Not with that lock held.
bool wait_for_side_threads(Nanos most);

}  // namespace heddle::pytorch
