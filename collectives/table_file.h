// Tables of costs on disk: one file a fabric, in a folder of the user's. A communicator whose rank
// 0 finds the file of its fabric measures nothing. `heddle tune` writes them, and so does a
// communicator that measured by itself.
#pragma once

#include <string>

#include "base/result.h"
#include "collectives/communicator.h"
#include "collectives/members.h"
#include "collectives/tuning.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

// What the costs depend on, as lines of text: heddle's version, how ranks are spread over hosts,
// the network (link speed, NICs, paths, bursts), shared memory, chunks, cores. `lasting`: equal
// text means equal costs, also on another day: either all ranks are on this host, or the speed of
// the link is known. Of a link of unknown speed (a lab's, a virtual machine's) the text names this
// host.
struct Fabric {
  std::string text;
  bool lasting = false;
};
Fabric fabric_of(const engine::Endpoint& endpoint, const Members& members,
                 const CommunicatorOptions& options);

// `folder`/HASH.table.
std::string table_path(const std::string& folder, const Fabric& fabric);

enum class TableSource : uint8_t { kShort, kTune };  // see measurement.h

// Puts the measured costs of `tuning` into the place of what is there: a reader sees the old file
// or the new one. Makes the folder, for this user only. Errors: kPermission, kUnavailable, kSystem.
Result<void> write_table(const std::string& path, const Fabric& fabric, const Tuning& tuning,
                         TableSource source);

// `start` with the costs of the file. Errors: kUnavailable (there is none), kPermission (it belongs
// to another user, or others may write to it), kInvalid (damaged, or of another fabric).
Result<Tuning> read_table(const std::string& path, const Fabric& fabric, const Tuning& start);

// Where tables are when no setting names a folder: XDG_CACHE_HOME/heddle/tuning, else
// HOME/.cache/heddle/tuning (XDG Base Directory Specification 0.8); empty: neither is an absolute
// path.
std::string default_table_folder();

}  // namespace heddle::collectives
