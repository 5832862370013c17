// See presets.h.
#include "planner/presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "planner/model_file.h"
#include "planner/sizing/params.h"
#include "planner/sizing/preset_texts.h"

namespace heddle::planner {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

struct Known {
  const char* name;
  double* value;
  double least = 0;  // 0: above 0
  double most = params::sizing::kMostOfAll;
};

std::string allowed_text(const Known& known) {
  if (known.most < params::sizing::kMostOfAll) {
    return fmt::format("a number from {} to {}", known.least, known.most);
  }
  return known.least > 0 ? fmt::format("a number of {} or more", known.least)
                         : std::string("a number above 0");
}

// As the file has it, without its lines.
std::string value_text(const DocumentValue& entry) {
  switch (entry.kind) {
    case DocumentKind::kText:
      return fmt::format("the text \"{}\"", entry.text);
    case DocumentKind::kInteger:
      return fmt::format("{}", entry.integer);
    case DocumentKind::kFraction:
      return fmt::format("{}", entry.fraction);
    case DocumentKind::kBoolean:
      return entry.boolean ? "true" : "false";
    default:
      return "no number";
  }
}

// Takes the numbers of a table, and its source. Errors: kInvalid, with the line.
Result<void> take_numbers(const DocumentValue& table, const std::string& file, std::string& source,
                          const std::vector<Known>& known) {
  for (const DocumentValue& entry : table.items) {
    const auto wrong = [&](std::string why, std::string todo) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot read {}:{}", file, entry.line),
                  std::move(why), std::move(todo));
    };
    if (entry.key == "source") {
      if (entry.kind != DocumentKind::kText) {
        return wrong(fmt::format("source is {}", value_text(entry)), "give a text in quotes");
      }
      source = entry.text;
      continue;
    }
    const auto key = std::find_if(known.begin(), known.end(),
                                  [&entry](const Known& each) { return entry.key == each.name; });
    if (key == known.end()) {
      std::vector<std::string> names;
      for (const Known& each : known) names.emplace_back(each.name);
      return wrong(fmt::format("'{}' is not a key", entry.key),
                   fmt::format("keys are {}, source", fmt::join(names, ", ")));
    }
    const bool integer = entry.kind == DocumentKind::kInteger;
    const double value = integer ? static_cast<double>(entry.integer) : entry.fraction;
    const bool allowed = (integer || entry.kind == DocumentKind::kFraction) && value > 0 &&
                         value >= key->least && value <= key->most;
    if (!allowed) {
      return wrong(fmt::format("{} is {}", entry.key, value_text(entry)),
                   "give " + allowed_text(*key));
    }
    *key->value = value;
  }
  return {};
}

Result<Gpu> read_gpu(const DocumentValue& table, const std::string& file) {
  Gpu gpu;
  gpu.name = table.key.empty() ? file : table.key;
  double peak = 0;
  double achievable = 0;
  double nvlink = 0;
  double memory = 0;
  Result<void> taken = take_numbers(table, file, gpu.source,
                                    {{"peak_tflops", &peak},
                                     {"achievable_tflops", &achievable},
                                     {"nvlink_gbytes_per_s", &nvlink},
                                     {"watts", &gpu.watts},
                                     {"memory_gib", &memory}});
  if (!taken) return fail(taken.error());
  if (peak == 0) {
    return fail(ErrorCode::kInvalid, "cannot use the GPU of " + file, "peak_tflops is missing",
                "add it: bf16, without sparsity");
  }
  if (achievable > peak) {
    return fail(
        ErrorCode::kInvalid, "cannot use the GPU of " + file,
        fmt::format("achievable_tflops is {}, above peak_tflops, which is {}", achievable, peak),
        "give both for bf16 without sparsity; achievable_tflops is of the best matrix "
        "product");
  }
  gpu.peak_flops = peak * 1e12;
  gpu.achievable_flops = achievable * 1e12;
  gpu.nvlink_bits_per_s = nvlink * 8e9;
  gpu.memory_bytes = memory * kGib;
  return gpu;
}

Result<FabricPreset> read_fabric(const DocumentValue& table, const std::string& file) {
  FabricPreset fabric;
  fabric.name = table.key.empty() ? file : table.key;
  double gpus = 8;
  double nic = 0;
  Result<void> taken = take_numbers(table, file, fabric.source,
                                    {{"gpus_per_node", &gpus, 1, params::sizing::kMostGpusPerNode},
                                     {"nic_gbits_per_s", &nic},
                                     {"oversubscription", &fabric.oversubscription, 1}});
  if (!taken) return fail(taken.error());
  if (nic == 0) {
    return fail(ErrorCode::kInvalid, "cannot use the fabric of " + file,
                "nic_gbits_per_s is missing", "add it: of all NICs of one GPU");
  }
  if (gpus != std::floor(gpus)) {
    return fail(ErrorCode::kInvalid, "cannot use the fabric of " + file,
                fmt::format("gpus_per_node is {}", gpus), "give a whole number");
  }
  fabric.gpus_per_node = static_cast<uint64_t>(gpus);
  fabric.nic_bits_per_s = nic * 1e9;
  return fabric;
}

template <typename Preset>
using Reader = Result<Preset> (*)(const DocumentValue&, const std::string&);

template <typename Preset>
std::vector<Preset> all_of(const char* text, const char* name, Reader<Preset> read) {
  const Result<DocumentValue> document = parse_document(text, name);
  CHECK(document.has_value());
  std::vector<Preset> all;
  for (const DocumentValue& table : document->items) {
    Result<Preset> preset = read(table, name);
    CHECK(preset.has_value());
    all.push_back(std::move(*preset));
  }
  return all;
}

template <typename Preset>
Result<Preset> find(const char* what, const std::string& name, const std::vector<Preset>& presets,
                    Reader<Preset> read) {
  std::vector<std::string> names;
  for (const Preset& each : presets) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  if (name.find('.') == std::string::npos && name.find('/') == std::string::npos) {
    return fail(ErrorCode::kInvalid, fmt::format("no {} '{}'", what, name),
                fmt::format("there are {}", fmt::join(names, ", ")),
                "choose one of these, or give the path of a file");
  }
  const Result<std::string> text = read_text_file(name, "check the path");
  if (!text) return fail(text.error());
  const Result<DocumentValue> document = parse_document(*text, name);
  if (!document) return fail(document.error());
  return read(*document, name);
}

}  // namespace

std::vector<ModelShape> preset_models() {
  return all_of<ModelShape>(kModelPresets, "models.toml", &read_model);
}

std::vector<Gpu> preset_gpus() { return all_of<Gpu>(kGpuPresets, "gpus.toml", &read_gpu); }

std::vector<FabricPreset> preset_fabrics() {
  return all_of<FabricPreset>(kFabricPresets, "fabrics.toml", &read_fabric);
}

Result<ModelShape> find_model(const std::string& name) {
  if (name.ends_with(".json")) return read_model_file(name);
  return find<ModelShape>("model", name, preset_models(), &read_model);
}

Result<Gpu> find_gpu(const std::string& name) {
  return find<Gpu>("GPU", name, preset_gpus(), &read_gpu);
}

Result<FabricPreset> find_fabric(const std::string& name) {
  return find<FabricPreset>("fabric", name, preset_fabrics(), &read_fabric);
}

}  // namespace heddle::planner
