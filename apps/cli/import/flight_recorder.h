// PyTorch's Flight Recorder: the newest collectives of a rank, dumped as a pickle or as JSON
// (pytorch/pytorch, torch/csrc/distributed/c10d/FlightRecorderDetail.hpp).
#pragma once

#include <string>

#include "apps/cli/import/foreign_job.h"
#include "apps/cli/service/control.h"

namespace heddle::cli {

bool looks_like_flight_recorder(const Json& document);
// A rank's dump. Its number is the end of the file's name, as PyTorch calls the files. Errors:
// kInvalid.
Result<ForeignProcess> read_flight_recorder(const Json& document, const std::string& file);

}  // namespace heddle::cli
