// Acceptance: tests a fabric stage by stage, from "cables are in" to a report. `heddle verify`
// calls it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "acceptance/expectations.h"
#include "acceptance/fabric.h"
#include "acceptance/report.h"
#include "base/result.h"

namespace heddle::acceptance {

class LiveFigures;

enum class Depth : uint8_t { kQuick, kNormal, kFull };

// The pairs of hosts that the stages reach and pairs measure.
enum class Coverage : uint8_t {
  kRing,    // each host and the next one
  kSample,  // each host and a few others
  kFull,    // all
};
const char* name_of(Coverage coverage);  // "ring", "sample", "full"

// Training in PyTorch.
struct TrainingOptions {
  bool wanted = false;  // not only by a full test
  std::string python = "python3";
  std::string cifar;    // folder with CIFAR-10's files on each host; empty: images are made
  std::string weights;  // file of ResNet-18's weights on each host; empty: random ones
};

struct AcceptanceOptions {
  Depth depth = Depth::kNormal;
  std::optional<Coverage> coverage;  // none: full, but for a quick test of many hosts a sample
  std::vector<std::string> stages;   // by name; empty: all
  Expectations expectations;
  TrainingOptions training;
  std::optional<topology::Topology> plan;  // as it should be; none: the fabric's own
  std::string folder;                      // for recordings; exists
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  LiveFigures* live = nullptr;  // kept up to date if there is one
  // Called after each stage with what there is so far.
  std::function<void(const Report&)> stage_ended = [](const Report&) {};
  // A test that this one goes on with: the stages that passed before its first other one are kept.
  // Its recordings are in `folder`.
  const Report* earlier = nullptr;
};

// Names of the stages, in order.
std::vector<std::string> stage_names();

// The text of the topology that is tested without another: a leaf-spine fabric of four hosts with
// links of 200 and 50 Mbit/s, which two cores emulate with time to spare.
std::string_view own_topology();

// Errors: kInvalid for a plan whose hosts, switches or cables are not the lab's.
Result<void> check_plan(const topology::Topology& plan, const topology::Topology& lab);

// Runs the stages on a fabric that is up, each only if the one before passed; of an interrupted
// test it returns what it has. Errors: kUnavailable, kSystem if it could not begin; kInvalid for an
// earlier test of another fabric.
Result<Report> run_acceptance(const Fabric& fabric, const AcceptanceOptions& options);

}  // namespace heddle::acceptance
