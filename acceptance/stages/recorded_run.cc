// See recorded_run.h.
#include "acceptance/stages/recorded_run.h"

#include <fmt/format.h>
#include <unistd.h>

namespace heddle::acceptance {
namespace {

// A folder that does not exist yet.
std::string new_folder(const Session& session, const std::string& name) {
  std::string path = session.folder() + "/" + name;
  for (int number = 2; access(path.c_str(), F_OK) == 0; ++number) {
    path = fmt::format("{}/{}-{}", session.folder(), name, number);
  }
  return path;
}

}  // namespace

Result<RecordedRun> run_recorded(Session& session, const std::string& name,
                                 const RankedCommand& command) {
  RecordedRun run{.end = {}, .recording = new_folder(session, name)};
  const Fabric& fabric = session.fabric();
  const std::string folder = fabric.folder_for_ranks(run.recording);
  const auto id = session.commands().start_here(command.words, {"HEDDLE_RECORD=" + folder});
  if (!id) return fail(id.error());
  session.wait({*id}, command.limit);
  run.end = session.commands().result_of(*id);
  if (session.interrupted()) {
    fabric.clean_up(session.commands(), command.hosts);
    return run;
  }
  if (Result<void> here = fabric.collect(session.commands(), run.recording, command.hosts); !here) {
    return fail(std::move(here).error());
  }
  return run;
}

}  // namespace heddle::acceptance
