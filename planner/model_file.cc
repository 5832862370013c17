// TOML of a model: see model_file.h. sizing/hugging_face.cc reads config.json.
#include "planner/model_file.h"

#include <fmt/core.h>

#include <array>

#include "planner/sizing/model_check.h"

namespace heddle::planner {
namespace {

struct NumberKey {
  const char* name;
  uint64_t ModelShape::*field;
};
constexpr std::array kNumbers = {NumberKey{"layers", &ModelShape::layers},
                                 NumberKey{"hidden", &ModelShape::hidden},
                                 NumberKey{"heads", &ModelShape::heads},
                                 NumberKey{"key_value_heads", &ModelShape::key_value_heads},
                                 NumberKey{"head_dim", &ModelShape::head_dim},
                                 NumberKey{"ffn", &ModelShape::ffn},
                                 NumberKey{"vocabulary", &ModelShape::vocabulary},
                                 NumberKey{"positions", &ModelShape::positions},
                                 NumberKey{"experts", &ModelShape::experts},
                                 NumberKey{"experts_of_token", &ModelShape::experts_of_token},
                                 NumberKey{"expert_ffn", &ModelShape::expert_ffn},
                                 NumberKey{"shared_ffn", &ModelShape::shared_ffn},
                                 NumberKey{"dense_layers", &ModelShape::dense_layers}};

struct LatentKey {
  const char* name;
  uint64_t LatentAttention::*field;
};
constexpr std::array kLatent = {LatentKey{"query_rank", &LatentAttention::query_rank},
                                LatentKey{"key_value_rank", &LatentAttention::key_value_rank},
                                LatentKey{"rope_dim", &LatentAttention::rope_dim},
                                LatentKey{"nope_dim", &LatentAttention::nope_dim},
                                LatentKey{"value_dim", &LatentAttention::value_dim}};

struct FlagKey {
  const char* name;
  bool ModelShape::*field;
};
constexpr std::array kFlags = {
    FlagKey{"gated", &ModelShape::gated}, FlagKey{"tied", &ModelShape::tied},
    FlagKey{"biases", &ModelShape::biases}, FlagKey{"qkv_biases", &ModelShape::qkv_biases},
    FlagKey{"head_norms", &ModelShape::head_norms}};

// Puts the entry where it belongs. False: there is no such key, or it is of another kind.
bool take(const DocumentValue& entry, ModelShape& model) {
  if (entry.kind == DocumentKind::kText) {
    if (entry.key == "name") model.name = entry.text;
    if (entry.key == "source") model.source = entry.text;
    return entry.key == "name" || entry.key == "source";
  }
  if (entry.kind == DocumentKind::kBoolean) {
    for (const FlagKey& key : kFlags) {
      if (entry.key != key.name) continue;
      model.*key.field = entry.boolean;
      return true;
    }
    return false;
  }
  if (entry.kind != DocumentKind::kInteger || entry.integer < 0) return false;
  for (const NumberKey& key : kNumbers) {
    if (entry.key != key.name) continue;
    model.*key.field = static_cast<uint64_t>(entry.integer);
    return true;
  }
  for (const LatentKey& key : kLatent) {
    if (entry.key != key.name) continue;
    model.latent.*key.field = static_cast<uint64_t>(entry.integer);
    return true;
  }
  return false;
}

std::string keys_text() {
  std::string text = "whole numbers: ";
  for (const NumberKey& key : kNumbers) text += std::string(key.name) + ", ";
  for (const LatentKey& key : kLatent) text += std::string(key.name) + ", ";
  text += "true or false: ";
  for (const FlagKey& key : kFlags) text += std::string(key.name) + ", ";
  return text + "texts: name, source";
}

}  // namespace

Result<ModelShape> read_model(const DocumentValue& table, const std::string& file) {
  ModelShape model;
  model.name = table.key;
  for (const DocumentValue& entry : table.items) {
    if (take(entry, model)) continue;
    return fail(ErrorCode::kInvalid, fmt::format("cannot read {}:{}", file, entry.line),
                fmt::format("'{}' is not a key of a model, or not of this kind", entry.key),
                keys_text());
  }
  if (model.name.empty()) model.name = file;
  return check_model(model, file);
}

Result<ModelShape> read_model_file(const std::string& file) {
  const Result<std::string> text =
      read_text_file(file, "give a model's name (heddle size --list), or the path of its file");
  if (!text) return fail(text.error());
  if (file.ends_with(".json")) return read_hugging_face(*text, file);
  const Result<DocumentValue> document = parse_document(*text, file);
  if (!document) return fail(document.error());
  return read_model(*document, file);
}

}  // namespace heddle::planner
