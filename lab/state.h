// State: what is written down of a lab under /run/heddle/labs/NAME, so that other processes find it
// and a crashed one can be cleaned up. Everything else follows from the topology file's copy there.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "lab/delays.h"
#include "lab/layout.h"

namespace heddle::lab {

enum class LabStatus : uint8_t {
  kUp,        // by `lab up`: until somebody takes it down
  kRunning,   // belongs to a living process (`lab run`, or one that is making it)
  kLeftOver,  // its process is gone
};

struct LabState {
  std::string name;
  std::string source;        // the topology file, as it was given
  pid_t owner = 0;           // 0: nobody has to live for it
  uint64_t owner_start = 0;  // its start time in clock ticks, against reuse of process numbers
  bool reorder = false;      // veth may reorder, on purpose
  std::vector<std::string> notes;           // what this host cannot do as the file says
  DelayMethod delays = DelayMethod::kNone;  // how delayed links are made
  pid_t forwarder = 0;                      // the process that makes them; 0: none is needed
  uint64_t forwarder_start = 0;
};

// The folder of all labs, and of one.
std::string labs_folder();
std::string lab_folder(const std::string& name);

// 1 to 32 letters, digits, '-' and '_'. Errors: kInvalid.
Result<void> check_lab_name(const std::string& name);

// Claims a name and writes the topology's copy down. Errors: kInUse where a lab of that name lives
// or is left over.
Result<void> create_state(const LabState& state, const std::string& topology_text,
                          const std::string& hosts);

// Who makes or takes down a lab of this name, one at a time: whether it is there is looked at, the
// left-over one taken down and the new one claimed under the same lock. It ends with its holder,
// whatever ends that.
class NameLock {
 public:
  // Waits for the others. Errors: kPermission, kSystem.
  static Result<NameLock> take(const std::string& name);

 private:
  explicit NameLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};
// Replaces a file of a lab's folder at once. Errors: kSystem.
Result<void> write_state_file(const std::string& path, const std::string& content);
// Writes changed state. Errors: kSystem.
Result<void> save_state(const LabState& state);
Result<LabState> load_state(const std::string& name);
void remove_state(const std::string& name);

LabStatus status_of(const LabState& state);
// A sentence where the lab's forwarder has ended, so that delayed links carry nothing; else empty.
std::string forwarder_trouble(const LabState& state);
// Every name that has a folder, sorted.
std::vector<std::string> lab_names();

// The topology's copy, laid out. Errors: as read_topology_file and make_layout.
Result<Layout> load_layout(const std::string& name);

// When a process started, in clock ticks since boot; 0: there is none.
uint64_t process_start(pid_t process);

}  // namespace heddle::lab
