// See xids.h.
#include "insight/xids.h"

#include <algorithm>
#include <array>

namespace heddle::insight {
namespace {

constexpr std::array kXids = {
    Xid{13, "graphics engine exception", XidCure::kProgram},
    Xid{31, "GPU memory page fault", XidCure::kProgram},
    Xid{32, "invalid or corrupted push buffer stream", XidCure::kProgram},
    Xid{43, "GPU stopped processing", XidCure::kProgram},
    Xid{45, "preemptive cleanup, due to previous errors", XidCure::kProgram},
    Xid{48, "double bit ECC error", XidCure::kHardware},
    Xid{61, "internal microcontroller breakpoint", XidCure::kReset},
    Xid{62, "internal microcontroller halt", XidCure::kReset},
    Xid{63, "ECC page retirement or row remapping", XidCure::kRestart},
    Xid{64, "ECC page retirement or row remapping failed", XidCure::kHardware},
    Xid{69, "graphics engine class error", XidCure::kProgram},
    Xid{74, "NVLink error", XidCure::kHardware},
    Xid{79, "GPU has fallen off the bus", XidCure::kHardware},
    Xid{92, "high single-bit ECC error rate", XidCure::kRestart},
    Xid{94, "contained ECC error", XidCure::kRestart},
    Xid{95, "uncontained ECC error", XidCure::kHardware},
    Xid{109, "context switch timeout", XidCure::kReset},
    Xid{119, "GSP RPC timeout", XidCure::kReset},
    Xid{120, "GSP error", XidCure::kReset},
    Xid{140, "unrecovered ECC error", XidCure::kHardware},
    Xid{143, "GPU initialization error", XidCure::kReset},
};

}  // namespace

Xid xid_of(uint32_t number) {
  const auto found = std::find_if(kXids.begin(), kXids.end(),
                                  [number](const Xid& each) { return each.number == number; });
  return found == kXids.end() ? Xid{number, "", XidCure::kUnknown} : *found;
}

}  // namespace heddle::insight
