// The Python module heddle_torch._backend: what heddle_torch/__init__.py registers with torch.
#include "plugins/torch/module.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <string>

#include "engine/process_recording.h"

PYBIND11_MODULE(_backend, module) {
  module.doc() = "torch.distributed over heddle";
  // Other threads go on while this one waits for the other ranks.
  module.def("create", &heddle::pytorch::create_group, pybind11::arg("store"),
             pybind11::arg("rank"), pybind11::arg("size"), pybind11::arg("timeout_seconds"),
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def(
      "reconfigure",
      [](const c10::intrusive_ptr<heddle::pytorch::BackendBase>& group, double join_within) {
        heddle::pytorch::ReconfiguredGroup made = [&] {
          const pybind11::gil_scoped_release unlocked;
          return heddle::pytorch::reconfigure_group(group, join_within);
        }();
        return pybind11::make_tuple(made.group, made.former_ranks);
      },
      pybind11::arg("group"), pybind11::arg("join_within_seconds"));
  module.def("abort", &heddle::pytorch::abort_group, pybind11::arg("group"),
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("get_error", &heddle::pytorch::error_of_group, pybind11::arg("group"));
  module.def(
      "check_health",
      [](const c10::intrusive_ptr<heddle::pytorch::BackendBase>& group, double timeout_seconds) {
        heddle::pytorch::PeersThatAnswer found = [&] {
          const pybind11::gil_scoped_release unlocked;
          return heddle::pytorch::peers_that_answer(group, timeout_seconds);
        }();
        return pybind11::make_tuple(found.answered, found.silent);
      },
      pybind11::arg("group"), pybind11::arg("timeout_seconds"));
  module.def("leave_all_groups", &heddle::pytorch::leave_all_groups,
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def(
      "mark",
      [](const std::string& name, uint64_t step) { return heddle::engine::mark(name, step); },
      pybind11::arg("name"), pybind11::arg("step"));
  module.attr("torch_version") = TORCH_VERSION;
  module.attr("heddle_version") = heddle::pytorch::heddle_version();
}
