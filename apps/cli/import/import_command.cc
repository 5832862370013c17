// See import_command.h. What a file is its content tells, not its name.
#include "apps/cli/import/import_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/import/bounded_json.h"
#include "apps/cli/import/flight_recorder.h"
#include "apps/cli/import/inspector.h"
#include "apps/cli/import/pickle.h"
#include "apps/cli/output.h"
#include "apps/cli/record/alignment.h"
#include "apps/cli/record/job_contents.h"
#include "apps/cli/record/new_folder.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/interrupt.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExample = R"(Example:
  heddle record import -o job nccl-inspector-1234/      # times: NCCL_INSPECTOR_DUMP_VERBOSE=1
  heddle record import -o job nccl_trace_rank_*           # PyTorch's Flight Recorder
  heddle matrix job --expected

Reads NCCL Inspector's JSON, and dumps of PyTorch's Flight Recorder as JSON or pickle. Of a pickle
only data are read: no code in it is run. These files have the calls and their durations; they
have no measured traffic, so the matrix shows the traffic expected by the algorithms' formulas.)";

struct ImportOptions {
  std::string folder;
  std::vector<std::string> files;
  bool json = false;
};

// All that files told, until it is written.
class Import {
 public:
  // A file, or all in a folder in the order of their names.
  void add(const std::string& given) {
    std::error_code error;
    if (!fs::is_directory(given, error)) return add_file(given);
    std::vector<std::string> inside;
    for (fs::directory_iterator at(given, error), end; !error && at != end; at.increment(error)) {
      std::error_code unknown;
      if (at->is_regular_file(unknown)) inside.push_back(at->path().string());
    }
    if (error || inside.empty()) {
      return leave_out({ErrorCode::kUnavailable, "cannot import the folder " + given,
                        error ? error.message() : "it holds no files",
                        "give files of the other tool, or folders of them"});
    }
    std::sort(inside.begin(), inside.end());
    for (const std::string& file : inside) add_file(file);
  }

  std::vector<ForeignProcess> take() {
    for (auto& [name, process] : inspector_.take()) {
      name_rank(process);
      processes_.push_back(std::move(process));
    }
    for (const ForeignProcess& process : processes_) {
      for (const auto& [why, count] : process.left_out) left_out_[why] += count;
    }
    return std::move(processes_);
  }

  void tell() const {
    for (const auto& [why, count] : left_out_) {
      print_warning(fmt::format("{} calls were left out: {}", count, printable(why)));
    }
    if (inspector_.without_times() > 0) {
      print_warning(
          fmt::format("of {} calls it is not told when they were, and they stand where "
                      "they were written; set NCCL_INSPECTOR_DUMP_VERBOSE=1",
                      inspector_.without_times()));
    }
  }
  bool whole() const { return whole_ && left_out_.empty(); }

 private:
  void add_file(const std::string& file) {
    const Result<std::string> bytes = read_text_file(file, "see what it is called");
    if (!bytes) return leave_out(bytes.error());
    if (looks_like_pickle(*bytes)) {
      // Where each call came from in the program is not needed, and is most of a dump.
      const Result<ForeignJson> document = read_pickle(*bytes, "frames");
      return document ? add_recorder(*document, file) : leave_out(of_file(document.error(), file));
    }
    const Result<ForeignJson> document = read_json(*bytes);
    if (document && looks_like_flight_recorder(*document)) return add_recorder(*document, file);
    if (!document && document.error().code == ErrorCode::kExhausted) {
      return leave_out(of_file(document.error(), file));
    }
    add_lines(*bytes, file);
  }

  static Error of_file(Error error, const std::string& file) {
    error.what += " of " + file;
    return error;
  }
  void leave_out(const Error& error) {
    print_error(error);
    whole_ = false;
  }

  void add_recorder(const ForeignJson& document, const std::string& file) {
    const std::string name = fs::path(file).stem().string();
    auto process = looks_like_flight_recorder(document)
                       ? read_flight_recorder(document, name)
                       : Result<ForeignProcess>(fail(ErrorCode::kInvalid, "cannot read " + file,
                                                     "it is no dump of the Flight Recorder",
                                                     "give dumps as PyTorch writes them"));
    if (!process) return leave_out(process.error());
    processes_.push_back(std::move(*process));
  }

  // A process that was killed leaves half a line.
  void add_lines(const std::string& bytes, const std::string& file) {
    size_t good = 0;
    size_t bad = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t end = std::min(bytes.find('\n', at), bytes.size());
      const std::string_view text = std::string_view(bytes).substr(at, end - at);
      at = end + 1;
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const Result<ForeignJson> line = read_json(text);
      const bool read = line && looks_like_inspector(*line) && inspector_.add(*line);
      ++(read ? good : bad);
    }
    if (good == 0) {
      return leave_out({ErrorCode::kInvalid, "cannot import " + file,
                        "it is neither NCCL Inspector's nor the Flight Recorder's",
                        "give files as these write them"});
    }
    if (bad > 0) left_out_["a line of " + file + " that makes no sense"] += bad;
  }

  // As in the largest communicator, which mostly is that of all.
  static void name_rank(ForeignProcess& process) {
    std::pair<uint32_t, uint32_t> largest = {0, 0};
    for (const auto& [number, place] : process.communicators) {
      if (place.second > largest.second) largest = place;
    }
    process.identity.emplace_back("rank", std::to_string(largest.first));
  }

  std::vector<ForeignProcess> processes_;
  InspectorReader inspector_;
  std::map<std::string, uint64_t> left_out_;
  bool whole_ = true;
};

Result<void> write_all(const std::vector<ForeignProcess>& processes, NewFolder& folder) {
  catch_interrupts();  // before, nothing was made that could be left
  if (Result<void> made = folder.make(); !made) return made;
  for (size_t i = 0; i < processes.size(); ++i) {
    if (Result<void> written = write_foreign(processes[i], folder.path(), i); !written) {
      return written;
    }
    if (interrupted() != 0) {
      return fail(ErrorCode::kCancelled, "nothing was imported", "it was interrupted",
                  "start it again");
    }
  }
  return folder.finish();
}

int run(const ImportOptions& options) {
  Import import;
  for (const std::string& given : options.files) import.add(given);
  const std::vector<ForeignProcess> processes = import.take();
  import.tell();
  if (processes.empty()) return kCouldNotRun;
  NewFolder folder(options.folder);
  if (Result<void> written = write_all(processes, folder); !written) {
    print_error(written.error());
    return written.error().code == ErrorCode::kCancelled ? interrupted_exit_status() : kCouldNotRun;
  }
  const auto files = recording_files(folder.name());
  if (files) {
    const JobContents contents = contents_of(*files, alignment_of(*files));
    print(options.json
              ? to_json(contents).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
              : to_text(contents));
  }
  return import.whole() ? kDone : kFoundWrong;
}

}  // namespace

void add_import_command(CLI::App& record, Invocation& invocation) {
  CLI::App* const command =
      record.add_subcommand("import", "make a recording from files of NCCL or PyTorch");
  command->footer(kExample + exit_status_help("some of it was left out", "nothing was imported"));
  const auto options = std::make_shared<ImportOptions>();
  add_output_folder(*command, options->folder, "the folder to make")->required();
  command->add_option("files", options->files, "files of the other tool, or folders of them")
      ->required()
      ->type_name("FILE");
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
