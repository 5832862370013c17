// See exec.h.
#include "base/exec.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace heddle {
namespace {

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

PreparedExec::PreparedExec(std::vector<std::string> words, std::vector<std::string> settings,
                           const std::vector<std::string>& removed, std::string file)
    : words_(std::move(words)), settings_(std::move(settings)), file_(std::move(file)) {
  for (std::string& word : words_) arguments_.push_back(word.data());
  arguments_.push_back(nullptr);
  const auto is_replaced = [&](std::string_view name) {
    return std::ranges::find(removed, name) != removed.end() ||
           std::ranges::find(settings_, name, name_of) != settings_.end();
  };
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_replaced(name_of(*variable))) environment_.push_back(*variable);
  }
  for (std::string& setting : settings_) environment_.push_back(setting.data());
  environment_.push_back(nullptr);
}

int PreparedExec::run() const {
  execvpe(file_.empty() ? arguments_.front() : file_.c_str(), arguments_.data(),
          environment_.data());
  return errno;
}

ExecFailure PreparedExec::failure(int error) const {
  return {{ErrorCode::kUnavailable, "cannot run " + words_.front(), std::strerror(error),
           "give a program that is installed, with its path if it is not on PATH"},
          error == ENOENT ? kNotFound : kExecFailed};
}

ExecFailure exec_program(const std::vector<std::string>& words, const std::string& file) {
  const PreparedExec program(words, {}, {}, file);
  return program.failure(program.run());
}

}  // namespace heddle
