// Guest: what runs in the virtual machine before and around the command, as shell scripts, and the
// facts of one run that they read. machine.h reads what they report.
#pragma once

#include <string>
#include <vector>

#include "lab/vm.h"
#include "lab/vm/kernel.h"

namespace heddle::lab::vm {

// Names of the machine's ports, by which the scripts find their devices.
inline constexpr const char* kControlPort = "heddle.control";
inline constexpr const char* kOutputPort = "heddle.output";
inline constexpr const char* kErrorPort = "heddle.error";
// Its two NICs: the first five bytes of their addresses, in which they are counted from 0.
inline constexpr const char* kNicAddress = "52:54:00:68:76:";
// Tags of the folders shared with the machine.
inline constexpr const char* kHostTag = "host";
inline constexpr const char* kOutTag = "out";

// Modules that the first script loads from the initial RAM disk, by name.
const std::vector<std::string_view>& early_modules();
// The first process: reaches the host's files, and becomes the second script there.
const char* init_script();
// Makes the network and the RDMA devices, runs the command, reports its exit status. It writes one
// line on the control port at a time: "ready", "failed REASON" or "exit STATUS".
const char* setup_script();

// The caller's state that the command has in the machine, too.
struct Caller {
  std::string folder;                    // the current one
  std::vector<std::string> environment;  // "NAME=value"
  unsigned rows = 0;                     // of the terminal, for a shell
  unsigned columns = 0;
};

// Shell assignments that setup_script() reads.
std::string settings_text(const VmOptions& options, const Kernel& kernel, const Caller& caller);
// A script that becomes the command, with the caller's environment, and OUT if there is a folder.
std::string command_text(const VmOptions& options, const Caller& caller);
// Arguments of tc for one direction of the link: "loss 1% delay 500us"; empty: nothing is to do.
std::string netem_text(const VmLink& link);
// One word for a shell.
std::string quoted(std::string_view word);

}  // namespace heddle::lab::vm
