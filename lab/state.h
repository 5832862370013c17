// State: the saved state of a lab under /run/heddle/labs/NAME, by which other processes find the
// lab and remove a crashed one. Everything else follows from the copy of the topology file there.
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
  kUp,        // made by `lab up`: exists until `lab down`
  kRunning,   // belongs to a living process (`lab run`, or one that is making it)
  kLeftOver,  // its process has ended
};

struct LabState {
  std::string name;
  std::string source;              // path of the topology file, as given
  pid_t owner = 0;                 // 0: independent of any process
  uint64_t owner_start = 0;        // its start time in clock ticks, to detect a reused process id
  bool reorder = false;            // veth may reorder, by option
  std::vector<std::string> notes;  // parts of the file that this host cannot implement
  DelayMethod delays = DelayMethod::kNone;  // how delayed links are implemented
  pid_t forwarder = 0;                      // its process id; 0: none is needed
  uint64_t forwarder_start = 0;
};

// The folder of all labs, and the folder of one.
std::string labs_folder();
std::string lab_folder(const std::string& name);

// 1 to 32 letters, digits, '-' and '_'. Errors: kInvalid.
Result<void> check_lab_name(const std::string& name);

// Claims a name and saves the topology's copy. Errors: kInUse if a lab of that name is up or left
// over.
Result<void> create_state(const LabState& state, const std::string& topology_text,
                          const std::string& hosts);

// Serializes processes that make or take down labs of one name: checking for it, taking down a
// left-over lab and claiming the name happen under the same lock. The kernel releases it when the
// holder ends.
class NameLock {
 public:
  // Waits for other holders. Errors: kPermission, kSystem.
  static Result<NameLock> take(const std::string& name);

 private:
  explicit NameLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};
// Replaces a file of a lab's folder atomically. Errors: kSystem.
Result<void> write_state_file(const std::string& path, const std::string& content);
// Saves changed state. Errors: kSystem.
Result<void> save_state(const LabState& state);
Result<LabState> load_state(const std::string& name);
void remove_state(const std::string& name);

LabStatus status_of(const LabState& state);
// A sentence if the lab's forwarder has ended, so that delayed links drop everything; else empty.
std::string forwarder_trouble(const LabState& state);
// The names of all labs with a folder, sorted.
std::vector<std::string> lab_names();

// The layout of the topology's copy. Errors: as read_topology_file and make_layout.
Result<Layout> load_layout(const std::string& name);

// Start time of a process in clock ticks since boot; 0: no such process.
uint64_t process_start(pid_t process);

}  // namespace heddle::lab
