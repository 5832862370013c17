// `heddle monitor --plan`: a plan's file here is copied to the machines of a job whenever it is
// replaced, by the agent of each (planned_file.h), and their processes follow it there. A machine
// that is lost keeps the plan that it has, and gets the latest one when it is back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "base/nanos.h"
#include "base/result.h"
#include "launch/remote_shell.h"

namespace heddle::cli {

struct PlanDeliveryOptions {
  std::string file;    // here
  std::string target;  // on each of `hosts`, from the folder of this name
  launch::RemoteShell shell;
  std::vector<launch::RemoteHost> hosts;
  std::function<void(const std::string& text)> noted;
  std::function<void(const std::string& text)> warned;
};

class PlanDelivery {
 public:
  // Reads the plan. Errors: those of read_text_file() and check_plan().
  static Result<std::unique_ptr<PlanDelivery>> make(PlanDeliveryOptions options);
  // Ends what is being delivered.
  ~PlanDelivery();
  PlanDelivery(const PlanDelivery&) = delete;
  PlanDelivery& operator=(const PlanDelivery&) = delete;

  // To be called often; waits for nothing but an agent's end.
  void poll(Nanos now);
  // Calls `show` with what state() is, where that has changed since the last call.
  void show_changes(const std::function<void(Json state)>& show);
  // For the page: the plan that is served, and which machines have it.
  Json state() const;

 private:
  struct Machine;

  explicit PlanDelivery(PlanDeliveryOptions options);
  // Takes the file's text if it is another one than what is served.
  Result<void> read();
  static bool is_silent(const Machine& machine, Nanos now);
  void look(Nanos now);
  void poll(Nanos now, Machine& machine);
  void start(Nanos now, Machine& machine);
  void finish(Nanos now, Machine& machine, const std::string& why);

  PlanDeliveryOptions options_;
  std::string text_;
  uint64_t number_ = 0;  // of the plan that is served
  Nanos read_at_;        // by the wall clock
  uint64_t flows_ = 0;   // of the plan
  bool changed_ = true;  // since show_changes()
  std::string mark_;     // of the file that was read last
  std::string complaint_;
  Nanos look_at_;
  std::vector<std::unique_ptr<Machine>> machines_;
  size_t running_ = 0;  // deliveries
};

}  // namespace heddle::cli
