// Options from the configuration: see configured.h.
#include "collectives/configured.h"

#include "collectives/table_file.h"
#include "engine/configured.h"

namespace heddle::collectives {

Result<engine::Options> configured_rank_options(const Config& config) {
  Result<engine::Options> options = engine::configured_options(config);
  if (!options) return options;
  options->transport.accept = true;
  options->transport.peer_dead_after = millis(config.integer("rank_dead_after_ms"));
  if (auto room = engine::check_stranger_bytes(*options, engine::kEndpointParts, 1); !room) {
    return fail(room.error());
  }
  return options;
}

Result<CommunicatorOptions> configured_communicator_options(const Config& config) {
  CommunicatorOptions options;
  options.tuning.chunk_bytes = static_cast<uint32_t>(config.integer("chunk_bytes"));
  options.tuning.to_be_measured = config.text("tuning") == "auto";
  options.table_folder = config.text("tuning_folder");
  if (options.table_folder.empty()) options.table_folder = default_table_folder();
  if (options.table_folder == "none") options.table_folder.clear();
  const std::string& shared = config.text("shared_memory");
  if (shared == "auto") options.shared_memory = SharedMemory::kAuto;
  if (shared == "slots") options.shared_memory = SharedMemory::kSlots;
  if (auto pinned = pin_algorithms(config.text("algorithm"), options.tuning); !pinned) {
    return fail(pinned.error());
  }
  return options;
}

}  // namespace heddle::collectives
