// Labs: fabrics of network namespaces on this machine, made from a topology file. `heddle lab`
// calls it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lab/layout.h"
#include "lab/state.h"

namespace heddle::lab {

struct UpOptions {
  std::string topology_file;
  std::string name;      // empty: derived from the file's name
  bool reorder = false;  // allow veth to reorder packets under load
  bool owned = false;    // belongs to this process: left over once this process has ended
};

// An existing lab.
struct Lab {
  LabState state;
  Layout layout;
};

// Makes a lab, after removing a left-over one of the same name. On an error, everything created is
// removed. `stop` is called between the steps; true gives kCancelled. Errors: those of the file,
// kInUse for the name, kPermission, kUnavailable for a missing program, kSystem.
Result<Lab> bring_up(const UpOptions& options, bool (*stop)() = nullptr);

// Ends the processes of a lab and removes all of it, also a left-over one. Errors: kUnavailable if
// there is none of that name.
Result<void> take_down(const std::string& name);

// Selects the lab of that name; if empty, the one of the variable HEDDLE_LAB, else the only one.
// Errors: kUnavailable, kInvalid if several are up.
Result<std::string> choose_lab(const std::string& name);
Result<Lab> open_lab(const std::string& name);

// A name derived from the file's: "two_leaf" from "examples/two_leaf.toml".
std::string name_after(const std::string& topology_file);

}  // namespace heddle::lab
