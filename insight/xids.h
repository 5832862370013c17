// Xids: the numbers of errors that NVIDIA's driver logs, and what to do about them, by NVIDIA's
// published table (docs.nvidia.com/deploy/xid-errors).
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::insight {

enum class XidCure : uint8_t {
  kUnknown,   // look it up
  kProgram,   // the program's error, most often
  kRestart,   // the memory's error is contained: the job goes on after a restart
  kReset,     // the GPU needs a reset, or the machine a reboot
  kHardware,  // the GPU, its memory or its links fail: drain the machine, and have it checked
};

struct Xid {
  uint32_t number = 0;
  std::string_view meaning;  // empty: not known
  XidCure cure = XidCure::kUnknown;
};

Xid xid_of(uint32_t number);

}  // namespace heddle::insight
