// See exec.h.
#include "base/exec.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle {

ExecFailure exec_program(const std::vector<std::string>& words, const std::string& file) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(file.empty() ? arguments[0] : file.c_str(), arguments.data());
  const int status = errno == ENOENT ? kNotFound : kExecFailed;
  return {{ErrorCode::kUnavailable, "cannot run " + words.front(), std::strerror(errno),
           "give a program that is installed, with its path if it is not on PATH"},
          status};
}

}  // namespace heddle
