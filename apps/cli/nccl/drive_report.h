// What `heddle nccl drive` prints: a table of ranks, or one JSON document.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "nccl/drive.h"

namespace heddle::cli {

using DriveJson = nlohmann::ordered_json;

// One rank's result, as it is passed to rank 0 and as the document lists it.
DriveJson drive_rank_json(int rank, const nccl::DriveResult& result);

// `ranks` are the documents of all ranks, in order.
DriveJson drive_document(const nccl::DriveOptions& options, const DriveJson& ranks);
std::string drive_text(const nccl::DriveOptions& options, const DriveJson& ranks);

}  // namespace heddle::cli
