// See fabric.h.
#include "acceptance/fabric.h"

#include <unistd.h>

#include "base/exec.h"
#include "base/write_all.h"
#include "launch/own_command.h"
#include "topology/names.h"

namespace heddle::acceptance {

std::string Fabric::link_label(uint32_t link) const {
  return topology::link_label(topology(), link);
}

void Fabric::run_here(const std::vector<std::string>& words) const {
  const bool own = words.front() == "heddle";
  const ExecFailure failure = exec_program(words, own ? launch::own_file() : std::string());
  write_all(STDERR_FILENO, failure.error.message() + "\n");
  _exit(failure.exit_status);
}

}  // namespace heddle::acceptance
