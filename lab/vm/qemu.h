// Qemu: the command line of the virtual machine.
#pragma once

#include <string>
#include <vector>

#include "lab/vm.h"

namespace heddle::lab::vm {

// Descriptors that QEMU inherits: connected sockets, and the initial RAM disk's file.
struct QemuDescriptors {
  int ram_disk = -1;
  int control = -1;
  int output = -1;
  int error = -1;
  int terminal = -1;  // of a shell; else -1
};

// The console and QEMU's own messages come on its standard output.
std::vector<std::string> qemu_words(const VmOptions& options, const std::string& image,
                                    const QemuDescriptors& descriptors);

}  // namespace heddle::lab::vm
