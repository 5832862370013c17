// Machine facts: what hardware, kernel and clock of one machine say of themselves. Each machine of
// a test has its own; hosts of a lab share those of the machine that it is on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/machine/driver_settings.h"
#include "acceptance/machine/gpus.h"
#include "acceptance/machine/pcie.h"
#include "acceptance/report.h"
#include "lab/driver_info.h"

namespace heddle::acceptance {

// The fact that only shows: driver and firmware of NICs that the test does not use.
inline constexpr const char* kOtherNics = "other NICs";

// What the kernel knows of the program that sets its clock.
struct ClockState {
  bool synchronized = false;
  double error_s = 0;  // how far that program says that it is off

  bool operator==(const ClockState&) const = default;
};

// A NIC with hardware, whatever its address.
struct NicFacts {
  std::string device;
  bool carrier = false;
  uint32_t mtu_bytes = 0;
  double rate_bits_per_s = 0;  // 0: not known, as of a port that is down
  std::string offloads;
  bool tested = false;
  DriverSettings settings = {};

  bool operator==(const NicFacts&) const = default;
};

using NamedFacts = std::vector<std::pair<std::string, std::string>>;

struct MachineFacts {
  std::string name;  // of the host; of a lab's "this machine"
  NamedFacts facts;
  std::vector<PcieLink> links;
  std::optional<ClockState> clock;                 // none: not known
  std::optional<std::vector<NicFacts>> nics = {};  // none: an older heddle
  std::optional<AcsBridges> acs = {};              // none: not known
};

// Where facts come from: this machine, or what a test has made.
struct MachineSources {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::string device;  // that is tested, of whatever kind; empty: all NICs are
  std::function<lab::DriverInfo(const std::string& device)> driver;
  std::function<std::string(const std::string& device)> offloads;
  std::function<DriverSettings(const std::string& device)> settings;
  GpuList gpus;  // of nvidia-smi; empty: those of the driver's files
  std::string open_files;
  std::string locked_memory;
  std::optional<ClockState> clock;
};
// `device`: may be empty. Takes as long as nvidia-smi, where there is one.
MachineSources own_sources(const std::string& device);
MachineFacts machine_facts(const MachineSources& sources);

// Of adjtimex(2): its flag STA_UNSYNC, and the largest and the estimated error.
ClockState clock_state(bool flagged, int64_t most_error_us, int64_t error_us);

// All but the name and the facts, as `heddle agent facts` sends them.
Json json_of(const MachineFacts& machine);
// What is missing or of another shape, as of another version of heddle, is not known.
MachineFacts machine_in(const Json& document);

}  // namespace heddle::acceptance
