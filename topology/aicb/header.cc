// See header.h.
#include "topology/aicb/header.h"

#include <string>
#include <string_view>

#include "topology/job.h"

namespace heddle::topology::aicb {
namespace {

constexpr std::string_view kMicro = "MICRO";
constexpr std::string_view kPolicies[] = {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER",
                                          kMicro};

Result<void> take(const WordReader& reader, size_t at, Header& header) {
  const std::string_view word = reader.words()[at];
  uint32_t* field = nullptr;
  if (word == "model_parallel_NPU_group:") field = &header.tensor;
  if (word == "ep:") field = &header.expert;
  if (word == "pp:") field = &header.pipeline;
  if (word == "all_gpus:") field = &header.gpus;
  if (field != nullptr) {
    const auto value = reader.number_behind(at, 1'000'000);
    if (!value) return fail(value.error());
    *field = static_cast<uint32_t>(*value);
  } else if (word == "pp_comm" || word == "pp_comm:") {
    const auto value = reader.number_behind(at, UINT64_MAX);
    if (!value) return fail(value.error());
    header.pipeline_bytes = *value;
  } else if (word == "checkpoints:" || word == "checkpoint_initiates:") {
    const auto value = reader.number_behind(at, UINT64_MAX);
    if (!value) return fail(value.error());
    if (*value > 0) {
      return reader.wrong("it recomputes activations (" + std::string(word) + " " +
                              std::to_string(*value) + "), which heddle does not simulate",
                          "make the workload without recomputation, or add its forward passes to "
                          "the rows");
    }
  }
  return {};
}

}  // namespace

Result<Header> read_header(const WordReader& reader) {
  const auto& words = reader.words();
  bool known = false;
  for (const std::string_view policy : kPolicies) known |= words.front() == policy;
  if (!known) {
    return reader.wrong(
        quoted(words.front()) + " is no parallelism that heddle reads",
        "begin with HYBRID_TRANSFORMER_FWD_IN_BCKWD, as AICB does; of other text of "
        "ASTRA-sim, read the traces that Chakra's converter makes of it");
  }
  Header header;
  header.micro = words.front() == kMicro;
  for (size_t i = 1; i < words.size(); ++i) {
    if (Result<void> taken = take(reader, i, header); !taken) return fail(taken.error());
  }
  if (header.tensor == 0 || header.expert == 0 || header.pipeline == 0) {
    return reader.wrong("a group of it has no ranks", "give sizes of 1 or more");
  }
  return header;
}

}  // namespace heddle::topology::aicb
