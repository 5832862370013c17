// See node_agent.h.
#include "nodes/node_agent.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "events/tee_sink.h"
#include "nodes/node_recorder.h"
#include "nodes/params.h"

namespace heddle::nodes {
namespace {

// Bytes that the events take in a recording.
class ByteCount final : public events::EachSink<ByteCount> {
 public:
  template <typename Event>
  void on_any(const Event& /*event*/) {
    bytes_ += events::Recorder::bytes_of<Event>();
  }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

}  // namespace

NodeAgent::NodeAgent(const NodeAgentOptions& options, events::Sink* observer, AgentFolder folder,
                     HostLock lock)
    : options_(options),
      observer_(observer),
      folder_(std::move(folder)),
      lock_(std::move(lock)),
      sampler_(options.sources, options.recording.clock) {}

Result<std::unique_ptr<NodeAgent>> NodeAgent::start(const NodeAgentOptions& options,
                                                    events::Sink* observer) {
  const std::string& path = options.recording.directory;
  Result<AgentFolder> folder = AgentFolder::open(path, options.makes_parents);
  if (!folder) return fail(std::move(folder).error());
  std::optional<HostLock> lock = HostLock::take(path + "/agent.lock");
  if (!lock && errno == EWOULDBLOCK) {
    return fail(ErrorCode::kInUse, "cannot sample this machine into " + path, "another agent does",
                "leave it to that one, or give another folder with --state");
  }
  if (!lock) {
    return fail(ErrorCode::kSystem, "cannot lock " + path + "/agent.lock", std::strerror(errno),
                "give another folder with --state");
  }
  std::unique_ptr<NodeAgent> made(
      new NodeAgent(options, observer, std::move(*folder), std::move(*lock)));
  if (Result<void> begun = made->begin_recording(); !begun) return fail(begun.error());
  return made;
}

Result<void> NodeAgent::begin_recording() {
  events::RecordingOptions recording = options_.recording;
  const uint64_t share = recording.most.count / params::kAgentRecordings;
  recording.most = {share - std::min(share, params::kRecordingHeader.count)};
  recorded_complaints_ = complaints();
  describe_node(recorded_complaints_, recording);
  auto made = folder_.begin(recording, options_.recording.most);
  if (!made) return fail(std::move(made).error());
  recording_ = std::move(*made);
  recording_size_ = recording.most;
  return {};
}

bool NodeAgent::fill_recording(int stop) {
  const std::unique_ptr<events::Recorder> recorder = recording_->add_writer();
  ByteCount count;
  events::TeeSink sink{recorder.get()};
  sink.add(&count);
  if (observer_ != nullptr) sink.add(observer_);
  while (sampler_.wait(options_.every, stop, sink)) {
    sampler_.sample(sink);
    if (count.bytes() + params::kRecordingHeader.count >= recording_size_.count) return true;
    if (complaints() != recorded_complaints_) return true;
  }
  sampler_.sample(sink);
  return false;
}

Result<void> NodeAgent::run(int stop, const std::function<void()>& complained) {
  while (fill_recording(stop)) {
    if (complaints() != recorded_complaints_) complained();
    recording_.reset();
    if (Result<void> begun = begin_recording(); !begun) return begun;
  }
  return {};
}

}  // namespace heddle::nodes
