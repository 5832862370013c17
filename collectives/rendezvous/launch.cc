// Launch: see launch.h. One function a launcher.
#include "collectives/launch.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/group.h"
#include "collectives/params.h"
#include "collectives/rendezvous/host_list.h"
#include "collectives/rendezvous/private_folder.h"

namespace heddle::collectives {
namespace {

using params::kFirstSlurmPort;
using params::kSlurmJobs;
using params::kSlurmSteps;

constexpr const char* kSetStore =
    "set HEDDLE_STORE=udp://HOST:PORT, with a host where rank 0 runs, or HEDDLE_STORE=file:///PATH "
    "in a folder that all ranks share";

class Variables {
 public:
  explicit Variables(std::span<const std::string> environment) : environment_(environment) {}

  // Empty: not there.
  std::string text(std::string_view name) const {
    for (const std::string& pair : environment_) {
      if (pair.size() > name.size() && pair[name.size()] == '=' && pair.starts_with(name)) {
        return pair.substr(name.size() + 1);
      }
    }
    return {};
  }
  bool has(std::string_view name) const { return !text(name).empty(); }

  // Errors: kInvalid where it is not there, or no number from `low` to `high`.
  Result<uint32_t> number(std::string_view name, uint32_t low, uint32_t high) const {
    const std::string value = text(name);
    uint32_t parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error == std::errc() && end == value.data() + value.size() && parsed >= low &&
        parsed <= high) {
      return parsed;
    }
    return fail(ErrorCode::kInvalid, "cannot find out which rank this process is",
                value.empty() ? std::string(name) + " is not set"
                              : std::string(name) + " is '" + value + "'",
                "it must be a number from " + std::to_string(low) + " to " + std::to_string(high));
  }

 private:
  std::span<const std::string> environment_;
};

struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
};

constexpr Names kHeddle = {"heddle", "HEDDLE_RANK", "HEDDLE_SIZE", "HEDDLE_LOCAL_RANK"};
constexpr Names kTorch = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Names kOpenMpi = {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK"};
constexpr Names kSlurm = {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"};
constexpr Names kSlurmJob = {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"};

Result<Launch> read_numbers(const Variables& variables, const Names& names) {
  Launch launch{.launcher = names.launcher, .token = variables.text("HEDDLE_TOKEN")};
  const Result<uint32_t> size = variables.number(names.size, 1, kMostRanks);
  if (!size) return fail(size.error());
  const Result<uint32_t> rank = variables.number(names.rank, 0, *size - 1);
  if (!rank) return fail(rank.error());
  launch.size = *size;
  launch.rank = *rank;
  if (!variables.has(names.local_rank)) return launch;
  const Result<uint32_t> local = variables.number(names.local_rank, 0, *size - 1);
  if (!local) return fail(local.error());
  launch.local_rank = *local;
  return launch;
}

// torchrun's, which scripts set under other launchers too. Its own store has the TCP port of this
// number; the UDP port is free.
std::string master_store(const Variables& variables) {
  std::string host = variables.text("MASTER_ADDR");
  const std::string port = variables.text("MASTER_PORT");
  if (host.empty() || port.empty()) return {};
  if (host.find(':') != std::string::npos && host.front() != '[') host = "[" + host + "]";
  return "udp://" + host + ":" + port;
}

Unexpected no_store(const Launch& launch, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot find the other ranks", launch.launcher + " " + why,
              kSetStore);
}

Result<Launch> read_heddle(const Variables& variables, const std::string& store) {
  if (variables.has("HEDDLE_JOIN")) {
    return fail(ErrorCode::kInvalid, "cannot find the other ranks",
                "this process was started to join a running job",
                "call heddle_torch.init(), heddle_join() or join(), which give it a rank");
  }
  Result<Launch> launch = read_numbers(variables, kHeddle);
  if (!launch) return launch;
  launch->run = variables.text("HEDDLE_RUN");
  launch->store = store;
  if (launch->store.empty() && launch->size > 1) {
    return fail(ErrorCode::kInvalid, "cannot find the other ranks",
                "HEDDLE_RANK is set, HEDDLE_STORE is not", kSetStore);
  }
  return launch;
}

Result<Launch> read_torch(const Variables& variables, const std::string& store) {
  Result<Launch> launch = read_numbers(variables, kTorch);
  if (!launch) return launch;
  const std::string id = variables.text("TORCHELASTIC_RUN_ID");
  if (!id.empty()) launch->run = id + "." + variables.text("TORCHELASTIC_RESTART_COUNT");
  launch->store = store.empty() ? master_store(variables) : store;
  if (launch->store.empty() && launch->size > 1) {
    return fail(ErrorCode::kInvalid, "cannot find the other ranks",
                "RANK is set, MASTER_ADDR and MASTER_PORT are not", "set them as torchrun does");
  }
  return launch;
}

Result<Launch> read_open_mpi(const Variables& variables, const std::string& store) {
  Result<Launch> launch = read_numbers(variables, kOpenMpi);
  if (!launch) return launch;
  // 128 random bits that mpirun draws for each job, meant for the security of its transports.
  if (launch->token.empty())
    launch->token = variables.text("OMPI_MCA_orte_precondition_transports");
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    if (launch->run.empty()) launch->run = variables.text(name);
  }
  launch->store = store.empty() ? master_store(variables) : store;
  if (!launch->store.empty() || launch->size == 1) return launch;
  const Result<uint32_t> here = variables.number("OMPI_COMM_WORLD_LOCAL_SIZE", 1, kMostRanks);
  if (!here || *here != launch->size || launch->run.empty() ||
      launch->run.find('/') != std::string::npos) {
    return no_store(*launch, "has no address of rank 0, and not all ranks are on this host");
  }
  launch->private_folder =
      private_folder(variables.text("XDG_RUNTIME_DIR"), variables.text("TMPDIR"));
  launch->store = "file://" + launch->private_folder + "/mpi-" + launch->run;
  return launch;
}

Result<Launch> read_slurm(const Variables& variables, const std::string& store) {
  const bool has_step = variables.has(kSlurm.size);
  Result<Launch> launch = read_numbers(variables, has_step ? kSlurm : kSlurmJob);
  if (!launch) return launch;
  const std::string job = variables.text("SLURM_JOB_ID");
  const std::string step = variables.text("SLURM_STEP_ID");
  if (!job.empty()) launch->run = job + "." + step + "." + variables.text("SLURM_RESTART_COUNT");
  launch->store = store.empty() ? master_store(variables) : store;
  if (!launch->store.empty() || launch->size == 1) return launch;
  const Result<uint32_t> job_number = variables.number("SLURM_JOB_ID", 0, UINT32_MAX);
  const Result<uint32_t> step_number = variables.number("SLURM_STEP_ID", 0, UINT32_MAX);
  if (!job_number || !step_number) return no_store(*launch, "has no job and step");
  // srun's own addresses are of no use: for one host they are 127.0.0.1.
  std::string first = "127.0.0.1";
  if (variables.text("SLURM_STEP_NUM_NODES") != "1") {
    const Result<std::vector<std::string>> nodes =
        expand_host_list(variables.text("SLURM_STEP_NODELIST"));
    if (!nodes) return no_store(*launch, "has no nodes: " + nodes.error().why);
    first = nodes->front();
  }
  const uint32_t port =
      kFirstSlurmPort + *job_number % kSlurmJobs * kSlurmSteps + *step_number % kSlurmSteps;
  launch->store = "udp://" + first + ":" + std::to_string(port);
  return launch;
}

using Reader = Result<Launch> (*)(const Variables& variables, const std::string& store);

// Of the innermost launcher that has set variables; null: none has.
Reader reader_for(const Variables& variables) {
  if (variables.has(kHeddle.rank)) return read_heddle;
  if (variables.has(kTorch.rank) && variables.has(kTorch.size)) return read_torch;
  if (variables.has(kOpenMpi.rank)) return read_open_mpi;
  if (variables.has(kSlurm.rank)) return read_slurm;
  return nullptr;
}

}  // namespace

Result<Launch> read_launch(std::span<const std::string> environment, const std::string& store) {
  const Variables variables(environment);
  if (const Reader reader = reader_for(variables)) return reader(variables, store);
  return fail(ErrorCode::kInvalid, "cannot find out which rank this process is",
              "no launcher that heddle knows has started it",
              "start it with `heddle run -n N -- COMMAND`, torchrun, mpirun or srun, or set "
              "HEDDLE_RANK, HEDDLE_SIZE and HEDDLE_STORE");
}

bool is_launched(std::span<const std::string> environment) {
  return reader_for(Variables(environment)) != nullptr;
}

void report_members(const Members& members) {
  const char* const path = std::getenv("HEDDLE_MEMBER_FILE");
  if (path == nullptr) return;
  const std::string draft = std::string(path) + ".new";
  std::ofstream file(draft);
  file << std::hex << members.communicator << ' ' << std::dec << members.size() << '\n';
  file.close();
  if (file) std::rename(draft.c_str(), path);
}

}  // namespace heddle::collectives
