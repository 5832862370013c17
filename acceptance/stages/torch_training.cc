// See torch_training.h.
#include "acceptance/stages/torch_training.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/agent_numbers.h"
#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "acceptance/rank_cores.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "acceptance/stages/recorded_run.h"
#include "acceptance/stages/torch_rows.h"
#include "acceptance/training_job.h"

namespace heddle::acceptance {
namespace {

// What the hosts must have; the arguments are files, or empty.
constexpr const char* kNeeded =
    "import importlib.util, os, sys\n"
    "for name in ('torch', 'torchvision', 'heddle_torch'):\n"
    "    if importlib.util.find_spec(name) is None: sys.exit('it has no module ' + name)\n"
    "import torch, torchvision, heddle_torch.train\n"
    "for path in filter(None, sys.argv[1:]):\n"
    "    if not os.path.exists(path): sys.exit('there is no ' + path)\n";

// The last line that is not of `heddle run`, which says only how the program ended.
std::string complaint_of_program(const CommandEnd& end) {
  std::string last;
  size_t from = 0;
  while (from < end.errors.size()) {
    const size_t to = std::min(end.errors.find('\n', from), end.errors.size());
    const std::string line = end.errors.substr(from, to - from);
    if (!line.empty() && line.rfind("heddle: ", 0) != 0) last = line;
    from = to + 1;
  }
  return last.empty() || end.late ? complaint_of(end) : last;
}

struct Trained {
  std::string backend;
  uint32_t ranks = 0;
  double step_s = 0;
  double images_per_s = 0;
  std::vector<double> losses;
  // Of a step: computing alone, communicating alone, both overlapped.
  double compute_s = 0;
  double communicate_s = 0;
  double overlapped_s = 0;
  std::string data;
  std::string weights;
  std::string complaint;  // why there are no figures
};

Trained trained_of(const Json& document) {
  Trained made;
  made.backend = machine_text(document.at("backend").get<std::string>());
  made.ranks = static_cast<uint32_t>(count_of(document.at("ranks").get<double>(), UINT32_MAX));
  made.step_s = document.at("step_s").get<double>();
  made.images_per_s = document.at("images_per_s").get<double>();
  made.losses = document.at("losses").get<std::vector<double>>();
  made.data = machine_text(document.at("data").get<std::string>());
  made.weights = machine_text(document.at("weights").get<std::string>());
  const Json split = document.value("split", Json::object());
  made.compute_s = number_of(split, "compute_s");
  made.communicate_s = number_of(split, "communicate_s");
  made.overlapped_s = number_of(split, "overlapped_s");
  return made;
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : HUGE_VAL;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double apart = std::abs(a[i] - b[i]);
    most = std::isfinite(apart) ? std::max(most, apart) : HUGE_VAL;
  }
  return most;
}

class TorchTraining {
 public:
  TorchTraining(Session& session, StageReport& report) : session_(session), report_(report) {
    choose_hosts();
  }

  Result<void> run() {
    if (!options().wanted && session_.options().depth == Depth::kQuick) {
      add_reason("not tried: --quick leaves it out, --python tries it");
      return {};
    }
    const Result<std::string> missing = what_is_missing();
    if (!missing) return fail(missing.error());
    if (session_.interrupted()) return {};
    if (!missing->empty() && options().wanted) {
      return fail(ErrorCode::kUnavailable, "cannot train with PyTorch", *missing,
                  "see --python, --cifar and --weights: they name what is on the hosts");
    }
    if (!missing->empty()) {
      add_reason("not tried: " + *missing);
      return {};
    }
    return compare();
  }

 private:
  const TrainingOptions& options() const { return session_.options().training; }

  // All; of an emulated fabric as many as there are cores, from all leaves.
  void choose_hosts() {
    const uint32_t all = session_.hosts();
    uint32_t count = all;
    if (session_.fabric().is_emulated()) {
      const auto processors = static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
      const size_t cores = cores_.cores.empty() ? processors : cores_.cores.size();
      count = std::min(all, static_cast<uint32_t>(std::max<size_t>(2, cores)));
    }
    for (uint32_t i = 0; i < count; ++i) hosts_.push_back(i * all / count);
  }

  std::string where(size_t count) const {
    return count == 1 ? "one host" : fmt::format("{} hosts", count);  // no place that is to blame
  }

  void add_reason(const std::string& why) {
    report_.rows.push_back({"PyTorch", where(hosts_.size()), why, ""});
  }

  Result<std::string> what_is_missing() {
    std::vector<Commands::Id> ids;
    const size_t asked = session_.fabric().is_emulated() ? 1 : hosts_.size();
    for (size_t i = 0; i < asked; ++i) {
      const auto id = session_.commands().start(
          session_.host(hosts_[i]),
          {options().python, "-c", kNeeded, options().cifar, options().weights});
      if (!id) return fail(id.error());
      ids.push_back(*id);
    }
    session_.wait(ids, params::kImportTime);
    for (size_t i = 0; i < ids.size(); ++i) {
      const CommandEnd end = session_.commands().result_of(ids[i]);
      if (end.exit_status == 0) continue;
      return fmt::format("{} of {}: {}", options().python, session_.host(hosts_[i]),
                         complaint_of(end));
    }
    return std::string();
  }

  Result<void> compare() {
    const std::vector<uint32_t> first = {hosts_.front()};
    const Result<Trained> probe = train("heddle", first);
    if (!probe) return fail(probe.error());
    if (probe->complaint.empty()) choose_batch(probe->images_per_s);
    const Result<Trained> alone = train("heddle", first);
    if (!alone) return fail(alone.error());
    const Result<Trained> gloo = train("gloo", hosts_);
    if (!gloo) return fail(gloo.error());
    const Result<Trained> all = train("heddle", hosts_);
    if (!all) return fail(all.error());
    if (!session_.interrupted()) judge(*alone, *all, *gloo);
    return {};
  }

  // Gloo takes one name for all hosts; empty: they differ, and it looks for itself.
  std::string common_device() const {
    const std::string first = session_.fabric().device(hosts_.front());
    const bool same = std::all_of(hosts_.begin(), hosts_.end(), [&](uint32_t host) {
      return session_.fabric().device(host) == first;
    });
    return same ? first : "";
  }

  // A number of images with which a step's computation can hide its communication at the bound.
  void choose_batch(double images_per_s) {
    const double bound = bus_bound(session_, hosts_);
    if (bound == 0) return;
    const auto ranks = static_cast<double>(hosts_.size());
    const double bits = static_cast<double>(resnet18_gradient_bytes()) * 8;
    const double communication = 2 * (ranks - 1) / ranks * bits / bound;
    const double images = images_per_s * communication * params::kComputingBeside;
    while (static_cast<double>(batch_) < images && batch_ < params::kMostTrainingBatch) batch_ *= 2;
  }

  std::vector<std::string> words_of(const std::string& backend,
                                    const std::vector<uint32_t>& hosts) const {
    std::vector<std::string> words = {"heddle", "run"};
    const auto add = [&words](const std::vector<std::string>& more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    add(session_.fabric().options_for_ranks(hosts));
    add({"--"});
    add(on_cores(cores_, of_rank(backend, hosts)));
    return words;
  }

  // The same images in each step: with one host all of them are there.
  std::vector<std::string> of_rank(const std::string& backend,
                                   const std::vector<uint32_t>& hosts) const {
    const bool full = session_.options().depth == Depth::kFull;
    std::vector<std::string> words;
    const auto add = [&words](const std::vector<std::string>& more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    if (backend == "gloo" && !common_device().empty()) {
      add({"env", "GLOO_SOCKET_IFNAME=" + common_device()});
    }
    add({options().python, "-m", "heddle_torch.train", "--backend", backend, "--model",
         "resnet18"});
    add({"--steps", full ? "10" : "3", "--warm-up", "1", "--json"});
    add({"--measure", hosts.size() == 1 ? "0" : full ? "3" : "1"});
    add({"--batch", std::to_string(batch_ * hosts_.size() / hosts.size())});
    if (!options().cifar.empty()) add({"--cifar", options().cifar});
    if (!options().weights.empty()) add({"--weights", options().weights});
    return words;
  }

  Result<Trained> train(const std::string& backend, const std::vector<uint32_t>& hosts) {
    Trained none{.backend = backend, .ranks = static_cast<uint32_t>(hosts.size())};
    if (session_.interrupted()) return none;
    session_.progress(
        fmt::format("training: ResNet-18 over {} on {}", backend, where(hosts.size())));
    const bool full = session_.options().depth == Depth::kFull;
    const std::string name = fmt::format("resnet18-{}-{}", backend, where(hosts.size()));
    Result<RecordedRun> run = run_recorded(
        session_, name.substr(0, name.find(' ')),
        {words_of(backend, hosts), hosts,
         params::kTorchTime * static_cast<int64_t>((full ? 5 : 1) * hosts_.size() / hosts.size())});
    if (!run) return fail(std::move(run).error());
    const size_t begin = run->end.output.find('{');
    const Json document =
        machine_document(begin == std::string::npos ? "" : run->end.output.substr(begin));
    if (document.is_object()) {
      if (hosts.size() > 1 && backend == "heddle") {
        session_.recordings.push_back({"ResNet-18", run->recording, session_.disturbed(), true});
      }
      return trained_of(document);
    }
    none.complaint = complaint_of_program(run->end);
    return none;
  }

  void judge(const Trained& alone, const Trained& all, const Trained& gloo) {
    for (const Trained* const each : {&alone, &all}) {
      if (each->complaint.empty()) continue;
      report_.rows.push_back({"ResNet-18", where(each->ranks), each->complaint, "results",
                              Grade::kFail, "run the stage's command by hand"});
    }
    if (!alone.complaint.empty() || !all.complaint.empty()) return;
    report_.rows.push_back(
        {"ResNet-18", where(1),
         fmt::format("{} ({}, {})", epoch_text(alone.images_per_s), all.data,
                     all.weights.empty() ? "from random weights" : "from " + all.weights),
         ""});
    add_judged(speedup_row(where(all.ranks), {all.ranks, all.images_per_s, alone.images_per_s}));
    add_judged(overlap_row(
        where(all.ranks), {all.compute_s, all.communicate_s, all.overlapped_s},
        [this](double reached, double least) { return session_.grade_of_speed(reached, least); }));
    if (auto row = cores_row("ResNet-18, cores", all.ranks, cores_)) {
      report_.rows.push_back(std::move(*row));
    }
    judge_beside_gloo(all, gloo);
    report_.data["torch"] = Json::array({json_of(alone), json_of(all), json_of(gloo)});
  }

  // Ranks of an emulated fabric share the processors with its links, which are far slower than
  // those that such a job is for: what it gains there is no property of the fabric.
  void add_judged(Row row) {
    if (session_.fabric().is_emulated()) {
      row.expected.clear();
      row.todo.clear();
      row.grade = Grade::kOk;
    }
    report_.rows.push_back(std::move(row));
  }

  void judge_beside_gloo(const Trained& all, const Trained& gloo) {
    if (!gloo.complaint.empty()) {
      report_.rows.push_back(
          {"ResNet-18 over Gloo", where(gloo.ranks), "did not run: " + gloo.complaint, ""});
      return;
    }
    const double apart = furthest(all.losses, gloo.losses);
    const bool same = apart <= params::kLossTolerance;
    report_.rows.push_back(
        {"ResNet-18 over Gloo", where(gloo.ranks),
         fmt::format("{}; heddle is {:.2f} times as fast, its losses differ by at most {:.2g}",
                     epoch_text(gloo.images_per_s), all.images_per_s / gloo.images_per_s, apart),
         fmt::format("losses that differ by at most {:g}", params::kLossTolerance),
         same ? Grade::kOk : Grade::kFail,
         same ? "" : "sums are wrong on one of them: test the hosts' memory, then report it"});
  }

  static Json json_of(const Trained& trained) {
    return {{"backend", trained.backend},
            {"ranks", trained.ranks},
            {"complaint", trained.complaint},
            {"images_per_s", trained.images_per_s},
            {"step_s", trained.step_s},
            {"compute_s", trained.compute_s},
            {"communicate_s", trained.communicate_s},
            {"overlapped_s", trained.overlapped_s},
            {"losses", trained.losses},
            {"data", trained.data},
            {"weights", trained.weights}};
  }

  Session& session_;
  StageReport& report_;
  RankCores cores_ = rank_cores(session_.fabric().is_emulated());
  std::vector<uint32_t> hosts_;
  size_t batch_ = params::kLeastTrainingBatch;
};

}  // namespace

Result<void> run_torch_training(Session& session, StageReport& report) {
  return TorchTraining(session, report).run();
}

}  // namespace heddle::acceptance
