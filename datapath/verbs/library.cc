// See library.h.
#include "datapath/verbs/library.h"

#include <dlfcn.h>

#include <memory>
#include <string>

namespace heddle::datapath {
namespace {

struct Loaded {
  VerbsLibrary table;
  std::string error;  // empty: loaded
};

template <typename Function>
void find(void* library, const char* name, Function*& to, std::string& error) {
  to = reinterpret_cast<Function*>(dlsym(library, name));
  if (to == nullptr && error.empty()) error = std::string("it has no function ") + name;
}

Loaded load_library() {
  Loaded made;
  // Never closed: drivers of NICs that it loads have threads and handlers of their own.
  void* const library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    made.error = why == nullptr ? "libibverbs.so.1 cannot be loaded" : why;
    return made;
  }
  VerbsLibrary& table = made.table;
  find(library, "ibv_get_device_list", table.get_device_list, made.error);
  find(library, "ibv_free_device_list", table.free_device_list, made.error);
  find(library, "ibv_get_device_name", table.get_device_name, made.error);
  find(library, "ibv_open_device", table.open_device, made.error);
  find(library, "ibv_close_device", table.close_device, made.error);
  find(library, "ibv_query_device", table.query_device, made.error);
  find(library, "ibv_query_port", table.query_port, made.error);
  find(library, "ibv_alloc_pd", table.alloc_pd, made.error);
  find(library, "ibv_dealloc_pd", table.dealloc_pd, made.error);
  find(library, "ibv_reg_mr", table.memory.reg_mr, made.error);
  find(library, "ibv_dereg_mr", table.memory.dereg_mr, made.error);
  std::string optional;
  find(library, "ibv_reg_dmabuf_mr", table.memory.reg_dmabuf_mr, optional);
  find(library, "ibv_create_comp_channel", table.create_comp_channel, made.error);
  find(library, "ibv_destroy_comp_channel", table.destroy_comp_channel, made.error);
  find(library, "ibv_create_cq", table.create_cq, made.error);
  find(library, "ibv_resize_cq", table.resize_cq, made.error);
  find(library, "ibv_destroy_cq", table.destroy_cq, made.error);
  find(library, "ibv_get_cq_event", table.get_cq_event, made.error);
  find(library, "ibv_ack_cq_events", table.ack_cq_events, made.error);
  find(library, "ibv_create_qp", table.create_qp, made.error);
  find(library, "ibv_modify_qp", table.modify_qp, made.error);
  find(library, "ibv_destroy_qp", table.destroy_qp, made.error);
  find(library, "ibv_create_ah", table.create_ah, made.error);
  find(library, "ibv_destroy_ah", table.destroy_ah, made.error);
  find(library, "ibv_get_async_event", table.get_async_event, made.error);
  find(library, "ibv_ack_async_event", table.ack_async_event, made.error);
  int (*fork_init)() = nullptr;
  find(library, "ibv_fork_init", fork_init, made.error);
  // Kernels from 5.12 on copy registered pages for a child; older ones need this call first.
  if (made.error.empty()) fork_init();
  return made;
}

}  // namespace

Result<const VerbsLibrary*> VerbsLibrary::load() {
  static const Loaded loaded = load_library();
  if (loaded.error.empty()) return &loaded.table;
  return fail(ErrorCode::kUnavailable, "cannot use RDMA verbs", loaded.error,
              "apt-get install libibverbs1 ibverbs-providers, or set datapath to udp");
}

}  // namespace heddle::datapath
