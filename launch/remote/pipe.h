// Pipe: the descriptors between this process and one that stands for a command on another machine.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/descriptor.h"

namespace heddle::launch {

// The end of a pipe that is to be read, and the other one.
struct Pipe {
  Descriptor read;
  Descriptor write;

  bool make() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
    return true;
  }
};

}  // namespace heddle::launch
