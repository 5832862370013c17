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

namespace heddle::steering {
namespace {

// Of a longer file only its end is read: some thousand decisions.
constexpr int64_t kMostRead = int64_t{4} << 20;
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

}  // namespace

Result<Audit> Audit::open(const std::string& path) {
  const std::string what = "cannot write the audit log " + path;
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640));
  if (!file.valid()) return cannot_write(what, errno, kTodo);
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return fail(ErrorCode::kInvalid, what, "it is no regular file", "give a file with --audit");
  }
  return Audit(std::move(file), path);
}

Result<std::vector<Decision>> Audit::begin() {
  const std::string what = "cannot use the audit log " + path_;
  for (int i = 0; flock(file_.number(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK || i == 100) {
      return fail(ErrorCode::kInUse, what, std::strerror(errno), "look who holds it: `lsof`");
    }
    usleep(1'000);
  }
  const int64_t size = lseek(file_.number(), 0, SEEK_END);
  if (size < read_to_) read_to_ = size;  // it was truncated
  bool cut = false;
  if (at_start_ && size > kMostRead) {
    read_to_ = size - kMostRead;
    cut = true;
  }
  const Result<std::string> read = text_of(file_.number(), read_to_, size);
  if (!read) {
    end();
    return fail(read.error().code, what, read.error().why, kTodo);
  }
  at_start_ = false;
  std::string_view text = *read;
  if (cut) text.remove_prefix(std::min(text.find('\n'), text.size()));
  std::vector<Decision> decisions;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    if (auto decision = decision_of(line)) {
      decisions.push_back(std::move(*decision));
    } else {
      ++damaged_;
    }
  }
  read_to_ = size;
  return decisions;
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
