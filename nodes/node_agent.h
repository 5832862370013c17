// NodeAgent: samples this machine for as long as it is up, into a bounded set of recordings in one
// folder. `heddle agent serve` drives it; `heddle monitor --node-records` reads the folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "events/recording.h"
#include "nodes/agent_folder.h"
#include "nodes/host_lock.h"
#include "nodes/node_sampler.h"
#include "nodes/params.h"

namespace heddle::nodes {

struct NodeAgentOptions {
  // Its directory is the folder; `most` is of all its recordings together.
  events::RecordingOptions recording;
  bool makes_parents = false;  // of the folder
  Nanos every = params::kSampleEvery;
  SamplerSources sources;
};

class NodeAgent {
 public:
  // Begins a new recording, for which the oldest ones go; those of killed agents stay until then.
  // `observer` gets each event too; null: none. Errors: kInUse (another agent), those of
  // AgentFolder.
  static Result<std::unique_ptr<NodeAgent>> start(const NodeAgentOptions& options,
                                                  events::Sink* observer);
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;

  // Why something is not sampled, a sentence each.
  std::vector<std::string> complaints() const { return sampler_.complaints(); }
  bool reads_kernel_log() const { return sampler_.reads_kernel_log(); }

  // Samples until `stop` is readable. A full recording is followed by a new one, and so is one
  // whose complaints are no longer those of now. `complained`: called with new ones. Errors: those
  // of AgentFolder::begin(); then nothing more is sampled.
  Result<void> run(int stop, const std::function<void()>& complained);

 private:
  NodeAgent(const NodeAgentOptions& options, events::Sink* observer, AgentFolder folder,
            HostLock lock);
  Result<void> begin_recording();
  // Until it is full or no longer true; false: `stop` is readable.
  bool fill_recording(int stop);

  const NodeAgentOptions options_;
  events::Sink* const observer_;
  AgentFolder folder_;
  const HostLock lock_;
  NodeSampler sampler_;
  std::vector<std::string> recorded_complaints_;
  Bytes recording_size_;
  std::shared_ptr<events::Recording> recording_;
};

}  // namespace heddle::nodes
