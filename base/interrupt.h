// Interrupt: Ctrl-C and SIGTERM as a flag that loops poll, so that a command ends with a summary
// and closes its connection. A second signal ends the process at once.
#pragma once

namespace heddle {

// Starts to catch SIGINT and SIGTERM.
void catch_interrupts();
// The signal that came; 0: none.
int interrupted();
// Starts to catch SIGHUP, which asks a long-running command to read its key file anew.
void catch_reload();
// Whether that was asked for since the last call.
bool take_reload();
// What a shell expects of a program that a signal ended: 130 for SIGINT, 143 for SIGTERM.
int interrupted_exit_status();

}  // namespace heddle
