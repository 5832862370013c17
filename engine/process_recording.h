// The recordings of this process: endpoints that record in one directory share a file, which is
// closed with the last of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"
#include "events/recording.h"
#include "transport/address.h"

namespace heddle::engine {

// A recorder for an endpoint at `local`, whose first event tells of it; null where `options` name
// no directory. The process's host, number, command and, where
// its launcher told one, rank are added to the identity. Errors: those of
// Recording::create(); kInvalid where this process records there already, but at another level, of
// another size or durability: one file has one of each.
Result<std::unique_ptr<events::Recorder>> open_recorder(const events::RecordingOptions& options,
                                                        Nanos now, const transport::Address& local);

// Says where the program is: from here on in phase `name` (the first 32 bytes of it), for the
// `step`-th time. Any thread may. False: this process records nothing now.
bool mark(std::string_view name, uint64_t step);

// The clock of datapaths on a real network.
Nanos recording_clock();

}  // namespace heddle::engine
