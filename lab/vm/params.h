// Constants of judgement of the virtual machine.
#pragma once

#include <cstddef>

#include "base/nanos.h"

namespace heddle::lab::vm {

// Until the command must have been started. A boot takes 5 to 10 s of processor time in QEMU's
// interpreter; the rest is for hosts that do other work. Range: 30 s to 10 min.
inline constexpr Nanos kBootLimit = seconds(180);

// Packets that a delayed link holds, where netem's own default is 1,000: 1 Gb/s times 1 s of
// packets of 1,250 bytes. Range: above the delay times the rate.
inline constexpr int kNetemPackets = 100'000;

// NICs of the machine. Chosen: the least with which several can be tried. Range: 2 to 8.
inline constexpr int kNics = 2;

// Between two looks at signals, in milliseconds. Chosen: a user does not notice it. Range: 20 to
// 500.
inline constexpr int kLookMs = 200;

// The end of the console's output that is kept, in bytes. Chosen: above the lines that an
// error shows. Range: 16 KiB to 1 MiB.
inline constexpr size_t kConsoleBytes = 65'536;

// The end of the console's output that an error shows, in lines. Range: what a terminal shows.
inline constexpr size_t kConsoleLines = 8;

}  // namespace heddle::lab::vm
