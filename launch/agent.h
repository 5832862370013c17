// Agent: runs one command of another machine's heddle here. It reads what to run from standard
// input, then signals for it. The end of standard input ends the command and all that it started,
// so that nothing is left behind where the connection or the other machine has gone.
#pragma once

namespace heddle::launch {

// The exit status of the command, as run_remote() returns it.
int run_agent();

}  // namespace heddle::launch
