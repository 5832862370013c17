// PyTorch's Flight Recorder: the newest collectives of a rank, dumped as a pickle or as JSON
// (pytorch/pytorch, torch/csrc/distributed/c10d/FlightRecorderDetail.hpp).
#pragma once

#include <string>

#include "recordings/import/bounded_json.h"
#include "recordings/import/foreign_job.h"

namespace heddle::recordings {

bool looks_like_flight_recorder(const ForeignJson& document);
// A rank's dump. Its number is the end of the file's name, as PyTorch calls the files. Errors:
// kInvalid.
Result<ForeignProcess> read_flight_recorder(const ForeignJson& document, const std::string& file);

}  // namespace heddle::recordings
