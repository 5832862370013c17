// WithoutInterpreterLock: see interpreter_lock.h.
#include "plugins/torch/interpreter_lock.h"

#include <Python.h>

namespace heddle::pytorch {

WithoutInterpreterLock::WithoutInterpreterLock() {
  if (Py_IsInitialized() != 0 && PyGILState_Check() != 0) state_ = PyEval_SaveThread();
}

WithoutInterpreterLock::~WithoutInterpreterLock() {
  if (state_ != nullptr) PyEval_RestoreThread(static_cast<PyThreadState*>(state_));
}

}  // namespace heddle::pytorch
