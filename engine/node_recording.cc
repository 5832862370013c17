// See node_recording.h.
#include "engine/node_recording.h"

#include <string>
#include <utility>

#include "engine/process_recording.h"

namespace heddle::engine {

events::RecordingOptions node_recording_options(const std::string& folder, Bytes most) {
  events::RecordingOptions options = with_process({.directory = folder, .most = most});
  // It is of all ranks of the machine.
  std::erase_if(options.identity, [](const auto& each) { return each.first == "rank"; });
  options.clock = &recording_clock;
  return options;
}

Result<std::unique_ptr<nodes::NodeRecorder>> record_node(const events::RecordingOptions& job) {
  if (!job.node || job.directory.empty()) return std::unique_ptr<nodes::NodeRecorder>();
  nodes::NodeRecorderOptions options;
  options.recording = node_recording_options(job.directory + "/" + nodes::kNodesFolder,
                                             nodes::params::kJobRecording);
  return nodes::NodeRecorder::start(std::move(options));
}

Result<void> record_node_beside(events::Recording& recording, const events::RecordingOptions& job) {
  auto node = record_node(job);
  if (!node) return fail(node.error());
  if (*node) recording.keep(std::shared_ptr<nodes::NodeRecorder>(std::move(*node)));
  return {};
}

}  // namespace heddle::engine
