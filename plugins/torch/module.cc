// The Python module heddle_torch._backend: what heddle_torch/__init__.py registers with torch.
#include "plugins/torch/module.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <string>

#include "engine/process_recording.h"

namespace {

// Other threads go on while `change` waits for the other ranks.
template <typename F>
pybind11::tuple without_lock(const F& change) {
  const heddle::pytorch::ChangedGroup changed = [&] {
    const pybind11::gil_scoped_release unlocked;
    return change();
  }();
  return pybind11::make_tuple(changed.group, changed.former_ranks);
}

// Ctrl-C ends a wait that may be for ever: Python raises it when the call returns.
bool interrupted() {
  const pybind11::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() == 0) return false;
  PyErr_Clear();
  PyErr_SetInterrupt();
  return true;
}

}  // namespace

PYBIND11_MODULE(_backend, module) {
  module.doc() = "torch.distributed over heddle";
  // Other threads go on while this one waits for the other ranks.
  module.def("create", &heddle::pytorch::create_group, pybind11::arg("store"),
             pybind11::arg("rank"), pybind11::arg("size"), pybind11::arg("timeout_seconds"),
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("create_without_members", &heddle::pytorch::create_group_without_members,
             pybind11::arg("rank"), pybind11::arg("size"), pybind11::arg("timeout_seconds"),
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def(
      "reconfigure",
      [](const c10::intrusive_ptr<heddle::pytorch::BackendBase>& group, double join_within) {
        return without_lock([&] { return heddle::pytorch::reconfigure_group(group, join_within); });
      },
      pybind11::arg("group"), pybind11::arg("join_within"));
  module.def(
      "grow",
      [](const c10::intrusive_ptr<heddle::pytorch::BackendBase>& group,
         const c10::intrusive_ptr<c10d::Store>& store, double find_within) {
        return without_lock([&] { return heddle::pytorch::grow_group(group, store, find_within); });
      },
      pybind11::arg("group"), pybind11::arg("store"), pybind11::arg("find_within"));
  module.def(
      "join",
      [](const c10::intrusive_ptr<c10d::Store>& store, double join, double find, double calls) {
        return heddle::pytorch::join_group(store, {join, find, calls}, &interrupted);
      },
      pybind11::arg("store"), pybind11::arg("timeout"), pybind11::arg("find_within"),
      pybind11::arg("call_timeout"), pybind11::call_guard<pybind11::gil_scoped_release>());
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
  module.def("communicator_of", &heddle::pytorch::communicator_of_group, pybind11::arg("group"));
  module.def("leave_all_groups", &heddle::pytorch::leave_all_groups,
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def(
      "mark",
      [](const std::string& name, uint64_t step) { return heddle::engine::mark(name, step); },
      pybind11::arg("name"), pybind11::arg("step"));
  module.attr("torch_version") = TORCH_VERSION;
  module.attr("heddle_version") = heddle::pytorch::heddle_version();
}
