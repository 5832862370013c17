// SideThreads: threads that run what may not run on the progress thread because it takes long,
// waits for other calls or needs Python's lock: copies out of staging memory and callbacks of
// futures. There are as many as tasks run at once, so that a task may wait for another; they end
// when there was nothing to do for a while.
#pragma once

#include <functional>

namespace heddle::pytorch {

// Runs `task` soon, on some thread. A child of fork() has threads of its own.
void run_aside(std::function<void()> task);

}  // namespace heddle::pytorch
