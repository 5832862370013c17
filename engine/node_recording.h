// The recording of the machine beside a job's: what its interfaces, its RDMA ports and its kernel
// report meanwhile.
#pragma once

#include <memory>

#include "base/result.h"
#include "events/recording.h"
#include "nodes/node_recorder.h"

namespace heddle::engine {

// Samples this machine into the folder `nodes` in the directory of `job`, unless another process of
// the machine does, until the recorder is destroyed. Null: `job` does not want it, or names no
// directory. Errors: those of nodes::NodeRecorder.
Result<std::unique_ptr<nodes::NodeRecorder>> record_node(const events::RecordingOptions& job);

// The same, as long as `recording` lives.
Result<void> record_node_beside(events::Recording& recording, const events::RecordingOptions& job);

// Options of a recording of this machine in a folder.
events::RecordingOptions node_recording_options(const std::string& folder, Bytes most);

}  // namespace heddle::engine
