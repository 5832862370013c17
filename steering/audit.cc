// See audit.h.
#include "steering/audit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/write_all.h"
#include "base/write_error.h"
#include "steering/params.h"

namespace heddle::steering {
namespace {

constexpr const char* kTodo = "give another file with --audit, or make room there";

Result<std::string> text_of(int file, int64_t from, int64_t to) {
  std::string text(static_cast<size_t>(to - from), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got =
        pread(file, text.data() + have, text.size() - have, from + static_cast<int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::kSystem, "cannot read it", std::strerror(errno));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

Result<Descriptor> open_file(const std::string& path) {
  const std::string what = "cannot write the audit log " + path;
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640));
  if (!file.valid() && errno == EISDIR) {
    return fail(ErrorCode::kInvalid, what, "it is a folder", "give a file with --audit");
  }
  if (!file.valid()) return cannot_write(what, errno, kTodo);
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return fail(ErrorCode::kInvalid, what, "it is no regular file", "give a file with --audit");
  }
  return file;
}

// Whether a text has decisions, and all of them were before the time.
bool is_all_before(std::string_view text, int64_t since_ns) {
  bool any = false;
  for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1)) {
    const auto decision = decision_of(text.substr(0, end));
    if (decision && decision->at_ns >= since_ns) return false;
    any = any || decision;
  }
  return any;
}

}  // namespace

Result<Audit> Audit::open(const std::string& path, int64_t since_ns) {
  Result<Descriptor> file = open_file(path);
  if (!file) return fail(std::move(file).error());
  return Audit(std::move(*file), path, since_ns);
}

bool Audit::is_at_its_path() const {
  struct stat own {};
  struct stat named {};
  return fstat(file_.number(), &own) == 0 && stat(path_.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

Result<void> Audit::lock() {
  for (int i = 0;;) {
    if (flock(file_.number(), LOCK_EX | LOCK_NB) == 0) {
      if (is_at_its_path()) return {};
      if (i == 100) return fail(ErrorCode::kInUse, "", "it is replaced all the time", kTodo);
      Result<Descriptor> file = open_file(path_);
      if (!file) return fail(std::move(file).error());
      file_ = std::move(*file);
      read_to_ = 0;
      at_start_ = true;
    } else if (errno != EINTR && (errno != EWOULDBLOCK || i == 100)) {
      return fail(ErrorCode::kInUse, "cannot use the audit log " + path_, std::strerror(errno),
                  "look who holds it: `lsof`");
    } else {
      usleep(1'000);
    }
    ++i;
  }
}

// Where to begin: blocks from the end backwards, up to one with old decisions alone.
Result<int64_t> Audit::first_needed(int64_t size) const {
  for (int64_t from = size; from > 0;) {
    const int64_t to = from;
    from = std::max(int64_t{0}, from - params::kBlock);
    const Result<std::string> text = text_of(file_.number(), from, to);
    if (!text) return fail(text.error());
    if (is_all_before(*text, since_ns_)) return from;
  }
  return 0;
}

void Audit::take_line(std::string_view line, const Take& take) {
  if (line.empty()) return;
  if (const auto decision = decision_of(line)) return take(*decision);
  ++damaged_;
}

Result<void> Audit::begin(const Take& take) {
  if (Result<void> locked = lock(); !locked) return locked;
  const auto failed = [this](const Error& error) {
    end();
    return fail(error.code, "cannot use the audit log " + path_, error.why, kTodo);
  };
  const int64_t size = lseek(file_.number(), 0, SEEK_END);
  if (size < read_to_) at_start_ = true;  // it was truncated
  bool skips = false;                     // up to the end of a line
  if (at_start_) {
    const Result<int64_t> first = first_needed(size);
    if (!first) return failed(first.error());
    read_to_ = *first;
    skips = *first > 0;
  }
  std::string text;
  while (read_to_ < size) {
    const Result<std::string> more =
        text_of(file_.number(), read_to_, std::min(size, read_to_ + params::kBlock));
    if (!more) return failed(more.error());
    if (more->empty()) break;
    read_to_ += static_cast<int64_t>(more->size());
    text += *more;
    size_t done = 0;
    for (size_t at = 0; (at = text.find('\n', done)) != std::string::npos; done = at + 1) {
      if (!std::exchange(skips, false)) {
        take_line(std::string_view(text).substr(done, at - done), take);
      }
    }
    text.erase(0, done);
    if (static_cast<int64_t>(text.size()) < params::kBlock) continue;
    if (!std::exchange(skips, true)) ++damaged_;
    text.clear();
  }
  if (!skips) take_line(text, take);
  at_start_ = false;
  return {};
}

Result<void> Audit::append(const Decision& decision) {
  const std::string what = "cannot write the audit log " + path_;
  char last = '\n';
  if (read_to_ > 0 && pread(file_.number(), &last, 1, read_to_ - 1) != 1) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), kTodo);
  }
  // A line that another program could not finish stays alone.
  const std::string line = (last == '\n' ? "" : "\n") + line_of(decision);
  if (write_all(file_.number(), line) && fdatasync(file_.number()) == 0) {
    read_to_ += static_cast<int64_t>(line.size());
    return {};
  }
  const int error = errno;
  if (ftruncate(file_.number(), read_to_) != 0) ++damaged_;
  return cannot_write(what, error, kTodo);
}

void Audit::end() { flock(file_.number(), LOCK_UN); }

}  // namespace heddle::steering
