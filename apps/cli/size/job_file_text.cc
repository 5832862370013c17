// Job files as text: see job_file.h.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <map>

#include "apps/cli/command_line/line_cursor.h"
#include "apps/cli/command_line/option_text.h"
#include "apps/cli/size/job_file.h"

namespace heddle::cli {
namespace {

constexpr std::array kJob = {"--model",
                             "--parameters",
                             "--gpus",
                             "--batch",
                             "--microbatch",
                             "--sequence",
                             "--recompute",
                             "--gradient-bytes",
                             "--parameter-bytes",
                             "--activation-bytes",
                             "--forward",
                             "--backward",
                             "--bucket",
                             "--overlap",
                             "--optimizer-bytes",
                             "--attention-scores"};
constexpr std::array kParallelism = {"--tensor", "--context", "--data", "--pipeline",
                                     "--expert", "--chunks",  "--zero", "--sequence-parallel"};
constexpr std::array kPower = {"--surplus",    "--host-watts", "--pue",       "--surplus-price",
                               "--grid-price", "--gpu-price",  "--link-price"};
constexpr std::array kTables = {"job", "parallelism", "sites", "power", "hardware"};

template <size_t N>
bool is_in(const std::array<const char*, N>& names, const std::string& name) {
  for (const char* const each : names) {
    if (name == each) return true;
  }
  return false;
}

// Whether TOML reads the text as the same decimal number.
bool is_number(const std::string& text) {
  size_t points = 0;
  for (const char each : text) {
    if (each == '.') ++points;
    if (each != '.' && std::isdigit(static_cast<unsigned char>(each)) == 0) return false;
  }
  if (text.empty() || text.size() > 15 || points > 1) return false;
  if (text.front() == '.' || text.back() == '.') return false;
  return text.front() != '0' || text.size() == 1 || text[1] == '.';
}

std::string toml_text(const std::string& text) {
  std::string made = "\"";
  for (const char each : text) {
    const auto letter = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') made += '\\';
    made += letter < ' ' || letter == 127 ? fmt::format("\\u{:04X}", letter) : std::string(1, each);
  }
  return made + "\"";
}

std::string value_of(const CLI::Option& option, const std::string& folder) {
  if (is_flag(option)) return "true";
  std::string text = option.results().back();
  std::error_code error;
  const bool path = text.find_first_of("./") != std::string::npos;
  if (names_file(option) && path && std::filesystem::exists(text, error)) {
    const std::filesystem::path from = folder.empty() ? "." : folder;
    const std::filesystem::path seen = std::filesystem::proximate(text, from, error);
    if (!error && !std::filesystem::path(text).is_absolute()) text = seen.string();
  }
  return is_number(text) ? text : toml_text(text);
}

}  // namespace

bool names_file(const CLI::Option& option) {
  return option.get_type_name() == "NAME|FILE" || option.get_type_name() == "FILE";
}

std::string job_file_table(const std::string& option) {
  if (is_in(kJob, option)) return "job";
  if (is_in(kParallelism, option)) return "parallelism";
  if (is_in(kPower, option)) return "power";
  return option.starts_with("--site") ? "sites" : "hardware";
}

std::string job_file_text(const CLI::App& question, const std::string& folder) {
  std::map<std::string, std::string> tables;
  for (const CLI::Option* option : question.get_options()) {
    if (!is_job_key(*option) || option->count() == 0) continue;
    std::string key = option->get_lnames().front();
    for (char& each : key) {
      if (each == '-') each = '_';
    }
    tables[job_file_table(short_name(*option))] +=
        fmt::format("{} = {}\n", key, value_of(*option, folder));
  }
  std::string text = fmt::format("version = 1\nquestion = \"{}\"\n", question.get_name());
  for (const char* const table : kTables) {
    if (tables.contains(table)) text += fmt::format("\n[{}]\n{}", table, tables[table]);
  }
  return text;
}

}  // namespace heddle::cli
