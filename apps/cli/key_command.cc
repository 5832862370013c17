// `heddle key`: see key_command.h.
#include "apps/cli/key_command.h"

#include <fmt/core.h>

#include <memory>
#include <string>

#include "apps/cli/service/control.h"
#include "apps/cli/terminal.h"
#include "engine/key_file.h"

namespace heddle::cli {
namespace {

constexpr const char* kGenerateExample = R"(Example:
  heddle key generate /etc/heddle/keys      then copy it to every host, and set key_file

The file is for its owner only, and a file that is there is not overwritten.)";

constexpr const char* kShowExample = R"(Example:
  heddle key show /etc/heddle/keys

An id tells whether two hosts have the same key; it gives nothing of the key away.)";

struct KeyOptions {
  std::string file;
  bool json = false;
};

int generate(const KeyOptions& options) {
  const auto key = engine::generate_key_file(options.file);
  if (!key) {
    print_error(key.error());
    return kCouldNotRun;
  }
  const std::string id = engine::id_text(*key);
  const Json document = {{"id", id}, {"file", options.file}};
  print(options.json ? document.dump(2) + "\n" : fmt::format("{}  {}\n", id, options.file));
  return kDone;
}

int show(const KeyOptions& options) {
  const auto keys = engine::read_key_file(options.file);
  if (!keys) {
    print_error(keys.error());
    return kCouldNotRun;
  }
  Json rows = Json::array();
  std::string text;
  for (const transport::ClusterKey& key : *keys) {
    const bool first = rows.empty();
    rows.push_back({{"id", engine::id_text(key)}, {"connects", first}});
    text += fmt::format("{}  {}\n", engine::id_text(key),
                        first ? "connects and is accepted" : "is accepted");
  }
  const Json document = {{"file", options.file}, {"keys", rows}};
  print(options.json ? document.dump(2) + "\n" : text);
  return kDone;
}

void add_options(CLI::App& command, int (*run)(const KeyOptions&), Invocation& invocation) {
  const auto options = std::make_shared<KeyOptions>();
  command.add_option("file", options->file, "the key file")->required()->type_name("FILE");
  command.add_flag("--json", options->json, "print one JSON document");
  command.callback(
      [options, run, &invocation] { invocation.run = [options, run] { return run(*options); }; });
}

}  // namespace

void add_key_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const key = root.add_subcommand("key", "make cluster keys, and tell them apart");
  key->require_subcommand(1);
  CLI::App* const make = key->add_subcommand("generate", "make a file with a new cluster key");
  make->footer(kGenerateExample);
  add_options(*make, generate, invocation);
  CLI::App* const tell = key->add_subcommand("show", "print the ids of the keys in a file");
  tell->footer(kShowExample);
  add_options(*tell, show, invocation);
}

}  // namespace heddle::cli
