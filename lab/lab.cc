// See lab.h.
#include "lab/lab.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/document.h"
#include "lab/build.h"
#include "lab/conditions.h"
#include "lab/faults.h"
#include "lab/forwarder.h"
#include "lab/tool.h"
#include "topology/file.h"

namespace heddle::lab {
namespace {

// The parts of the file that no lab can implement.
std::vector<std::string> limits_of(const topology::Topology& topology) {
  std::vector<std::string> notes;
  for (const topology::Switch& each : topology.switches) {
    const bool hashes = each.shape.balancing == topology::Balancing::kEcmp;
    if (each.shape.buffer.count == 0 && !each.shape.trims && hashes) continue;
    notes.emplace_back(
        "shared buffers, pauses, trimming and 'balancing' of switches are for the simulator: in a "
        "lab each link has its own 'queue' and drops what does not fit, and switches hash");
    break;
  }
  for (const topology::Link& link : topology.links) {
    if (link.shape.ecn_ramp.count == 0) continue;
    notes.emplace_back("a lab's links mark from 'ecn_min' on: their virtual queue knows no ramp");
    break;
  }
  for (const topology::Link& link : topology.links) {
    if (link.shape.rate.count != 0 && link.shape.rate <= gigabits_per_s(1)) continue;
    notes.emplace_back(
        "links above 1 Gbit/s or without a limit: the lab measures this machine's processors");
    break;
  }
  return notes;
}

// Call with the name's lock held.
Result<void> take_down_locked(const std::string& name) {
  Result<void> gone = tear_down(name);
  if (gone) remove_state(name);
  return gone;
}

Result<void> forget_left_over(const std::string& name) {
  const Result<LabState> old = load_state(name);
  if (!old || status_of(*old) != LabStatus::kLeftOver) return {};
  if (geteuid() != 0) {
    return fail(ErrorCode::kPermission, fmt::format("cannot take down the lab '{}'", name),
                "it belongs to root", "run it as root");
  }
  return take_down_locked(name);
}

// Checks that the name is free, takes down a left-over lab of a dead process, and claims the name,
// all under its lock.
Result<void> claim(const Lab& lab, const std::string& topology_text) {
  const Result<NameLock> lock = NameLock::take(lab.state.name);
  if (!lock) return fail(lock.error());
  if (Result<void> gone = forget_left_over(lab.state.name); !gone) return gone;
  return create_state(lab.state, topology_text, hosts_file(lab.layout));
}

Unexpected stopped() {
  return fail(ErrorCode::kCancelled, "the lab is not up", "a signal stopped it", "");
}

DelayMethod choose_delay_method(const Layout& layout) {
  if (delay_netns(layout).empty()) return DelayMethod::kNone;
  return kernel_has_netem() ? DelayMethod::kNetem : DelayMethod::kForwarder;
}

// Starts the forwarder, after everything else exists.
Result<void> start_delays(Lab& lab, bool owned) {
  if (lab.state.delays != DelayMethod::kForwarder) return {};
  const Result<pid_t> process = start_forwarder(lab.layout, owned);
  if (!process) return fail(process.error());
  lab.state.forwarder = *process;
  lab.state.forwarder_start = process_start(*process);
  return {};
}

Result<void> build_into(Lab& lab, const UpOptions& options, bool (*stop)()) {
  if (stop != nullptr && stop()) return stopped();
  lab.state.delays = choose_delay_method(lab.layout);
  Result<std::vector<std::string>> notes =
      build(lab.layout, {.reorder = options.reorder, .delays = lab.state.delays});
  if (!notes) return fail(std::move(notes).error());
  if (stop != nullptr && stop()) return stopped();
  lab.state.notes = limits_of(lab.layout.topology);
  for (std::string& note : delay_notes(lab.layout.topology, lab.state.delays)) {
    lab.state.notes.push_back(std::move(note));
  }
  for (std::string& note : *notes) lab.state.notes.push_back(std::move(note));
  if (Result<void> started = start_delays(lab, options.owned); !started) return started;
  if (!options.owned) lab.state.owner = 0;
  return save_state(lab.state);
}

}  // namespace

Result<Lab> bring_up(const UpOptions& options, bool (*stop)()) {
  const std::string name = options.name.empty() ? name_after(options.topology_file) : options.name;
  if (Result<void> good = check_lab_name(name); !good) return fail(good.error());
  Result<topology::Topology> topology = topology::read_topology_file(options.topology_file);
  if (!topology) return fail(std::move(topology).error());
  const Result<std::string> text = read_text_file(options.topology_file, "check the path");
  if (!text) return fail(text.error());
  Result<Layout> layout = make_layout(name, std::move(*topology));
  if (!layout) return fail(std::move(layout).error());
  const Conditions conditions = initial_conditions(layout->topology);
  if (Result<void> possible = check_possible(*layout, conditions); !possible) {
    return fail(possible.error());
  }
  if (Result<void> tools = check_tools(); !tools) return fail(tools.error());
  Lab lab;
  lab.state = {name, options.topology_file, getpid(), process_start(getpid()), options.reorder};
  lab.layout = std::move(*layout);
  if (Result<void> claimed = claim(lab, *text); !claimed) return fail(claimed.error());
  if (Result<void> built = build_into(lab, options, stop); !built) {
    const Result<NameLock> lock = NameLock::take(name);
    static_cast<void>(tear_down(name));  // report the first error, not this one
    remove_state(name);
    return fail(built.error());
  }
  return lab;
}

Result<void> take_down(const std::string& name) {
  if (Result<void> good = check_lab_name(name); !good) return good;
  if (!std::filesystem::exists(lab_folder(name)) && namespaces_of(name).empty()) {
    return fail(ErrorCode::kUnavailable, fmt::format("there is no lab '{}'", name), "",
                "see `heddle lab list` for the labs that are up");
  }
  if (geteuid() != 0) {
    return fail(ErrorCode::kPermission, fmt::format("cannot take down the lab '{}'", name),
                "it belongs to root", "run it as root");
  }
  const Result<NameLock> lock = NameLock::take(name);
  if (!lock) return fail(lock.error());
  return take_down_locked(name);
}

Result<std::string> choose_lab(const std::string& name) {
  if (!name.empty()) return name;
  const char* const inherited = std::getenv("HEDDLE_LAB");
  if (inherited != nullptr && *inherited != '\0') return std::string(inherited);
  const std::vector<std::string> names = lab_names();
  if (names.size() == 1) return names.front();
  if (names.empty()) {
    return fail(ErrorCode::kUnavailable, "no lab is up", "",
                "make one with `heddle lab up TOPOLOGY`, or `heddle lab run TOPOLOGY -- COMMAND`");
  }
  return fail(ErrorCode::kInvalid, "cannot find out which lab is meant",
              fmt::format("there are {}: {}", names.size(), fmt::join(names, ", ")),
              "give --lab LAB");
}

Result<Lab> open_lab(const std::string& name) {
  Result<std::string> chosen = choose_lab(name);
  if (!chosen) return fail(std::move(chosen).error());
  if (Result<void> good = check_lab_name(*chosen); !good) return fail(good.error());
  Result<LabState> state = load_state(*chosen);
  if (!state) return fail(std::move(state).error());
  Result<Layout> layout = load_layout(*chosen);
  if (!layout) return fail(std::move(layout).error());
  return Lab{std::move(*state), std::move(*layout)};
}

std::string name_after(const std::string& topology_file) {
  std::string name = std::filesystem::path(topology_file).stem().string();
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-') letter = '_';
  }
  if (name.empty()) name = "lab";
  return name.substr(0, 24);
}

}  // namespace heddle::lab
