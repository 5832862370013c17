// See machine_folders.h.
#include "acceptance/fabrics/machine_folders.h"

#include <fmt/format.h>
#include <unistd.h>

#include "acceptance/params.h"
#include "lab/link_meter.h"
#include "launch/remote_command.h"

namespace heddle::acceptance {

std::string machine_folder() {
  return fmt::format("/tmp/heddle-verify-{}-{:x}", getpid(), lab::meter_now().count);
}

std::string run_folder(const std::string& folder, const std::string& recording) {
  return folder + "-" + recording.substr(recording.rfind('/') + 1);
}

// mpirun gives a program a terminal, to which tar writes no archive.
std::string packing_script(const std::string& folder) {
  return fmt::format(
      "[ -d {0} ] || exit 0; exec 3>&1; "
      "status=$({{ {{ tar -czSf - -C {0} . 4>&-; echo $? >&4; }} | cat >&3; }} 4>&1); "
      "exit $status",
      launch::shell_line({folder}));
}

std::string removing_script(const std::string& folder) {
  const std::string place = folder.substr(0, folder.rfind('/'));
  return fmt::format(
      "rm -rf {0} {0}-*; find {1} -maxdepth 1 -type d -user \"$(id -u)\" "
      "-name 'heddle-verify-[0-9]*-[0-9a-f]*' -mmin +{2} -exec rm -rf {{}} +",
      launch::shell_line({folder}), launch::shell_line({place}),
      params::kStaleFolderAge.count / seconds(60).count);
}

}  // namespace heddle::acceptance
