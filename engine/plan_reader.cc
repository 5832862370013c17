// See plan_reader.h.
#include "engine/plan_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clocks.h"
#include "base/descriptor.h"
#include "engine/addresses.h"
#include "engine/params.h"

namespace heddle::engine {
namespace {

constexpr const char* kTodo = "check the setting 'plan'";

Unexpected cannot_read(const std::string& file, const std::string& why) {
  return fail(ErrorCode::kUnavailable, "cannot read " + file, why, kTodo);
}

struct Content {
  FileMark mark;
  bool same = false;  // as `known`: it was not read
  Result<std::string> text = std::string();
};

// What waits for another process, as a pipe does, is not opened for good.
Content read_content(const std::string& file, const FileMark& known) {
  Content content;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about {};
  if (!opened.valid() || fstat(opened.number(), &about) != 0) {
    content.same = known == content.mark;
    content.text = cannot_read(file, std::strerror(errno));
    return content;
  }
  content.mark = {about.st_dev, about.st_ino, static_cast<uint64_t>(about.st_size),
                  seconds(about.st_mtim.tv_sec) + nanos(about.st_mtim.tv_nsec)};
  content.same = known == content.mark;
  if (content.same) return content;
  if (!S_ISREG(about.st_mode) || content.mark.bytes > params::kMostPlanBytes) {
    content.text = fail(ErrorCode::kInvalid, "cannot read " + file,
                        "it is no regular file of at most 256 MiB", kTodo);
    return content;
  }
  std::string text(content.mark.bytes, '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t part = ::read(opened.number(), text.data() + got, text.size() - got);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) {
      content.text = cannot_read(file, std::strerror(errno));
      return content;
    }
    if (part == 0) break;
    got += static_cast<size_t>(part);
  }
  text.resize(got);
  content.text = std::move(text);
  return content;
}

Result<RoutePlan> plan_of(const Result<std::string>& text, const std::string& file) {
  if (!text) return fail(text.error());
  return RoutePlan::parse(*text, file, own_addresses(0));
}

}  // namespace

struct PlanReader::Job {
  std::string file;
  FileMark known;
  bool watched = false;
  // Written before `done`.
  FileWatch watch;  // if it was not watched
  FileMark mark;
  std::optional<Result<RoutePlan>> plan;  // none: the file is the same
  std::atomic<bool> done{false};

  void run() {
    if (!watched) watch = FileWatch(file);  // before it is read: no change is missed
    Content content = read_content(file, known);
    mark = content.mark;
    if (!content.same) plan = plan_of(content.text, file);
    done.store(true, std::memory_order_release);
  }
};

PlanReader::~PlanReader() {
  if (!thread_.joinable()) return;
  const Nanos until = steady_now() + params::kMostPlanWait;
  while (!job_->done.load(std::memory_order_acquire) && steady_now() < until)
    usleep(params::kPlanPollMicros);
  if (job_->done.load(std::memory_order_acquire)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

Result<RoutePlan> PlanReader::read() {
  watch_ = FileWatch(file_);  // before it is read: no change is missed
  Content content = read_content(file_, {.bytes = UINT64_MAX});
  Result<RoutePlan> plan = plan_of(content.text, file_);
  has_failed_ = !plan.has_value();
  (plan ? read_ : failed_) = content.mark;
  return plan;
}

void PlanReader::start() {
  if (reading_) return;
  job_ = std::make_shared<Job>();
  job_->file = file_;
  job_->known = read_;
  job_->watched = watch_.watches();
  Result<Thread> started = start_thread("heddle-plan", [job = job_] { job->run(); });
  if (!started) return;  // the next look tries again
  thread_ = std::move(*started);
  reading_ = true;
}

std::optional<Result<RoutePlan>> PlanReader::take() {
  if (!reading_ || !job_->done.load(std::memory_order_acquire)) return std::nullopt;
  thread_.join();
  thread_ = Thread();
  reading_ = false;
  if (job_->watch.watches()) watch_ = std::move(job_->watch);
  if (!job_->plan) return std::nullopt;
  if (*job_->plan) {
    read_ = job_->mark;
    has_failed_ = false;
  } else {
    if (std::exchange(has_failed_, true) && failed_ == job_->mark) return std::nullopt;
    failed_ = job_->mark;
  }
  return std::move(job_->plan);
}

}  // namespace heddle::engine
