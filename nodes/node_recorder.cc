// See node_recorder.h.
#include "nodes/node_recorder.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "events/recording_directory.h"
#include "nodes/host_lock.h"

namespace heddle::nodes {
namespace {

std::string lock_path(const events::RecordingOptions& recording) {
  std::string host = "host";
  for (const auto& [name, value] : recording.identity) {
    if (name == "host" && !value.empty()) host = value;
  }
  std::replace(host.begin(), host.end(), '/', '_');
  return recording.directory + "/" + host + ".lock";
}

}  // namespace

void describe_node(const std::vector<std::string>& complaints,
                   events::RecordingOptions& recording) {
  recording.identity.emplace_back(kKindOfIdentity, kNodeKind);
  std::string why;
  for (const std::string& each : complaints) why += (why.empty() ? "" : "; ") + each;
  if (!why.empty()) recording.identity.emplace_back(kNotSampled, why);
}

NodeRecorder::NodeRecorder(NodeRecorderOptions options, Descriptor stop)
    : options_(std::move(options)), stop_(std::move(stop)) {}

Result<std::unique_ptr<NodeRecorder>> NodeRecorder::start(NodeRecorderOptions options) {
  Descriptor stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) {
    return fail(ErrorCode::kExhausted, "cannot sample this machine", std::strerror(errno),
                "raise the limit for open files: ulimit -n");
  }
  std::unique_ptr<NodeRecorder> made(new NodeRecorder(std::move(options), std::move(stop)));
  Result<Thread> thread = start_thread("heddle-node", [recorder = made.get()] { recorder->run(); });
  if (!thread) return fail(thread.error());
  made->thread_ = std::move(*thread);
  return made;
}

NodeRecorder::~NodeRecorder() { stop(); }

void NodeRecorder::stop() {
  if (!thread_.joinable()) return;
  if (fork_guard_.in_child()) {
    thread_.detach();
    return;
  }
  const uint64_t one = 1;
  static_cast<void>(!write(stop_.number(), &one, sizeof one));
  thread_.join();
}

void NodeRecorder::discard() {
  stop();
  if (!path_.empty()) unlink(path_.c_str());
  rmdir(options_.recording.directory.c_str());  // where nothing else is in it
}

bool NodeRecorder::rest() const {
  pollfd watched{stop_.number(), POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(options_.take_over_every / millis(1))) <= 0;
}

void NodeRecorder::run() {
  if (Result<void> own = events::own_directory(options_.recording.directory); !own) {
    log_warn("this machine is not sampled: {}", own.error().message());
    return;
  }
  while (true) {
    const std::optional<HostLock> lock = HostLock::take(lock_path(options_.recording));
    if (lock) return record();
    if (errno != EWOULDBLOCK) {
      log_warn("this machine is not sampled: cannot lock {}: {}", lock_path(options_.recording),
               std::strerror(errno));
      return;
    }
    if (!rest()) return;
  }
}

// Until it is to stop, or nothing can be recorded.
void NodeRecorder::record() {
  NodeSampler sampler(options_.sources, options_.recording.clock);
  events::RecordingOptions recording = options_.recording;
  describe_node(sampler.complaints(), recording);
  auto file = events::Recording::create(recording);
  if (!file) {
    log_warn("this machine is not sampled: {}", file.error().message());
    return;
  }
  path_ = (*file)->path();
  const std::unique_ptr<events::Recorder> recorder = (*file)->add_writer();
  while (sampler.wait(options_.every, stop_.number(), *recorder)) sampler.sample(*recorder);
  sampler.sample(*recorder);
}

}  // namespace heddle::nodes
