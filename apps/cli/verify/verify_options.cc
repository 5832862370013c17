// See verify_options.h.
#include "apps/cli/verify/verify_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "acceptance/report_document.h"
#include "apps/cli/verify/report_page.h"
#include "launch/remote_shell.h"

namespace heddle::cli {
namespace {

using acceptance::Coverage;

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

const char* depth_of(const VerifyOptions& options) {
  if (options.quick) return "quick";
  return options.full ? "full" : "normal";
}

// As the command line would refuse them.
const char* unknown_in(const VerifyOptions& options, const std::string& depth) {
  const std::vector<std::string> known = acceptance::stage_names();
  for (const std::string& each : options.stages) {
    if (std::find(known.begin(), known.end(), each) == known.end()) return "a stage";
  }
  // It names a file of the report.
  const std::vector<std::string> languages = report_languages();
  const bool written =
      std::find(languages.begin(), languages.end(), options.language) != languages.end();
  if (!options.language.empty() && !written) return "a language";
  if (!options.coverage.empty() && !coverage_named(options.coverage)) return "a coverage";
  return depth == "quick" || depth == "normal" || depth == "full" ? nullptr : "a depth";
}

// What starts programs: a folder may be of another's making.
struct Trusted {
  const char* option;
  std::string VerifyOptions::*value;
};

constexpr Trusted kTrusted[] = {{"--hosts", &VerifyOptions::hosts}, {"--via", &VerifyOptions::via}};
constexpr const char* kPython = "--python";

}  // namespace

std::vector<std::string> resume_words(const std::string& folder, const VerifyOptions& options) {
  const VerifyOptions usual;
  std::vector<std::string> words = {"heddle", "verify", "--resume", folder};
  const auto add = [&](const char* option, const std::string& value, const std::string& without) {
    if (value != without) words.insert(words.end(), {option, value});
  };
  for (const auto& [option, value] : kTrusted) add(option, options.*value, usual.*value);
  add(kPython, options.training.python, usual.training.python);
  return words;
}

std::vector<std::string> coverage_names() {
  std::vector<std::string> names;
  for (const Coverage each : {Coverage::kRing, Coverage::kSample, Coverage::kFull}) {
    names.emplace_back(name_of(each));
  }
  return names;
}

std::optional<Coverage> coverage_named(const std::string& name) {
  for (const Coverage each : {Coverage::kRing, Coverage::kSample, Coverage::kFull}) {
    if (name == name_of(each)) return each;
  }
  return std::nullopt;
}

Json asked_of(const VerifyOptions& options) {
  return {{"lab", options.lab},
          {"hosts", options.hosts},
          {"via", options.via},
          {"topology", absolute(options.topology)},
          {"stages", options.stages},
          {"depth", depth_of(options)},
          {"coverage", options.coverage},
          {"expect", absolute(options.expect)},
          {"training", options.training.wanted},
          {"python", options.training.python},
          {"cifar", options.training.cifar},
          {"weights", options.training.weights},
          {"language", options.language},
          {"pdf", options.pdf}};
}

Result<void> read_asked(const Json& asked, VerifyOptions& options) {
  const VerifyOptions given = options;
  try {
    asked.at("lab").get_to(options.lab);
    asked.at("hosts").get_to(options.hosts);
    asked.at("via").get_to(options.via);
    asked.at("topology").get_to(options.topology);
    asked.at("stages").get_to(options.stages);
    const auto depth = asked.at("depth").get<std::string>();
    options.quick = depth == "quick";
    options.full = depth == "full";
    asked.at("coverage").get_to(options.coverage);
    asked.at("expect").get_to(options.expect);
    asked.at("training").get_to(options.training.wanted);
    asked.at("python").get_to(options.training.python);
    asked.at("cifar").get_to(options.training.cifar);
    asked.at("weights").get_to(options.training.weights);
    // Older reports have neither.
    if (options.language.empty()) options.language = asked.value("language", "");
    options.pdf = options.pdf || asked.value("pdf", false);
    if (const char* const what = unknown_in(options, depth)) {
      return fail(acceptance::no_report(std::string("it names ") + what + " that is not known"));
    }
  } catch (const Json::exception& error) {
    return fail(acceptance::no_report(error.what()));
  }
  const auto then = resume_words(given.resume, options);
  if (resume_words(given.resume, given) == then) return {};
  return fail(ErrorCode::kInvalid, fmt::format("cannot go on with the test in {}", given.resume),
              "its machines, what starts commands on them, and its Python are taken from the "
              "command line alone, since a folder may come from others",
              "if they are yours, give the same again: " + launch::shell_line(then));
}

}  // namespace heddle::cli
