// The Python module heddle_torch._backend: what heddle_torch/__init__.py registers with torch.
#include "plugins/torch/module.h"

#include <torch/csrc/utils/pybind.h>

PYBIND11_MODULE(_backend, module) {
  module.doc() = "torch.distributed over heddle";
  // Other threads go on while this one waits for the other ranks.
  module.def("create", &heddle::pytorch::create_group, pybind11::arg("store"),
             pybind11::arg("rank"), pybind11::arg("size"), pybind11::arg("timeout_seconds"),
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.def("leave_all_groups", &heddle::pytorch::leave_all_groups,
             pybind11::call_guard<pybind11::gil_scoped_release>());
  module.attr("torch_version") = TORCH_VERSION;
  module.attr("heddle_version") = heddle::pytorch::heddle_version();
}
