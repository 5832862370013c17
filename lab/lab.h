// Labs: real fabrics on this machine, made of network namespaces from a topology file. `heddle lab`
// drives this.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lab/layout.h"
#include "lab/state.h"

namespace heddle::lab {

struct UpOptions {
  std::string topology_file;
  std::string name;      // empty: after the file
  bool reorder = false;  // let veth reorder packets when it is busy
  bool owned = false;    // it belongs to this process: left over when this process is gone
};

// A lab that is there.
struct Lab {
  LabState state;
  Layout layout;
};

// Makes a lab; what an earlier process of that name has left over is removed first. On an error
// nothing is left behind. `stop` is asked between the steps: true gives kCancelled. Errors: those
// of the file, kInUse for the name, kPermission, kUnavailable for a missing program, kSystem.
Result<Lab> bring_up(const UpOptions& options, bool (*stop)() = nullptr);

// Ends the processes of a lab and removes everything of it, a left-over one too. Errors:
// kUnavailable where there is none of that name.
Result<void> take_down(const std::string& name);

// The lab of that name; empty: the one of the variable HEDDLE_LAB, else the only one. Errors:
// kUnavailable, kInvalid where several are up.
Result<std::string> choose_lab(const std::string& name);
Result<Lab> open_lab(const std::string& name);

// A name made from the file's: "two_leaf" from "examples/two_leaf.toml".
std::string name_after(const std::string& topology_file);

}  // namespace heddle::lab
