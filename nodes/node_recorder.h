// NodeRecorder: samples this machine into a recording from a thread of its own, in one process a
// machine: the others wait until that one has ended, however it does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/fork_guard.h"
#include "base/nanos.h"
#include "base/result.h"
#include "base/thread.h"
#include "events/recording.h"
#include "nodes/node_sampler.h"
#include "nodes/params.h"

namespace heddle::nodes {

// The folder in a job's folder where its machines are recorded.
inline constexpr const char* kNodesFolder = "nodes";
// Names in the identity of such a recording, beside "host" and those of the clock.
inline constexpr const char* kKindOfIdentity = "kind";
inline constexpr const char* kNodeKind = "node";
inline constexpr const char* kNotSampled = "not_sampled";  // complaints of the sampler

// Adds these to the identity of a machine's recording.
void describe_node(const std::vector<std::string>& complaints, events::RecordingOptions& recording);

struct NodeRecorderOptions {
  // Where, and with which identity; its "host" names the lock.
  events::RecordingOptions recording;
  Nanos every = params::kSampleEvery;
  Nanos take_over_every = params::kTakeOverEvery;
  SamplerSources sources;
};

class NodeRecorder {
 public:
  // Errors: kExhausted (no thread, no descriptor). What fails later ends the sampling, is
  // logged, and the program goes on.
  static Result<std::unique_ptr<NodeRecorder>> start(NodeRecorderOptions options);
  ~NodeRecorder();
  NodeRecorder(const NodeRecorder&) = delete;
  NodeRecorder& operator=(const NodeRecorder&) = delete;

  // Ends the sampling, and removes what it has recorded.
  void discard();

 private:
  NodeRecorder(NodeRecorderOptions options, Descriptor stop);
  void run();
  void record();
  void stop();
  // False: it is to stop.
  bool rest() const;

  const NodeRecorderOptions options_;
  const Descriptor stop_;
  const ForkGuard fork_guard_;
  std::string path_;  // of the recording
  Thread thread_;
};

}  // namespace heddle::nodes
