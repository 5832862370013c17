// The recordings of this process: endpoints that record in the same directory share a file, which
// closes when the last of them does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"
#include "events/recording.h"
#include "transport/address.h"

namespace heddle::engine {

// The recording of this process in the directory of `options`, which is made where there is none;
// null where `options` names no directory. The identity gets the process's host name, pid, command
// and, if the launcher set one, rank. Errors: those of Recording::create(); kInvalid if this
// process already records in that directory with another level, size or durability.
Result<std::shared_ptr<events::Recording>> open_recording(const events::RecordingOptions& options);

// A recorder for an endpoint at `local`, which starts with an EndpointOpened event; null where
// `options` names no directory. Errors: those of open_recording().
Result<std::unique_ptr<events::Recorder>> open_recorder(const events::RecordingOptions& options,
                                                        Nanos now, const transport::Address& local);

// Records that phase `name` (its first 32 bytes) begins for step `step`. Thread-safe. False: this
// process has no open recording.
bool mark(std::string_view name, uint64_t step);

// Adds this process to the identity: host, pid, command, level, clock and, if the launcher set one
// and `options` has none, rank. For recordings without an endpoint.
events::RecordingOptions with_process(events::RecordingOptions options);
// The rank that a launcher put into the environment.
std::optional<std::string> launched_rank();

// The clock of the datapaths on real networks (CLOCK_MONOTONIC).
Nanos recording_clock();

}  // namespace heddle::engine
