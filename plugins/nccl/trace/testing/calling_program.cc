// A program that links NCCL and CUDA, for tests: it makes calls with arguments of which no two are
// alike, and prints what it gets back.
//   every     each function
//   fails     some that fail
//   group     sends and receives in groups, one inside of another
//   threads   eight, each with a communicator
//   devices   one process with a rank on each of four devices
//   copies    between devices and not
//   fork      a child that goes on by itself
//   newer     a function that this NCCL does not have
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "plugins/nccl/trace/cuda_calls.h"
#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {
namespace {

// Results lie at the same address in every run.
struct Results {
  Comm comm, configured, scalable, split, none, shrunk, grown, joined;
  Comm all[4];
  UniqueId id, grow_id;
  UniqueId ids[2];
  void* memory;
  void* handle;
  Window window;
  int version;
  int op;
  Copy3DPeer copy;
};

Results* results() {
  static void* const at =
      mmap(reinterpret_cast<void*>(0x100000000000), sizeof(Results), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  return static_cast<Results*>(at);
}

void* place(uintptr_t number) { return reinterpret_cast<void*>(number << 12); }
Stream stream(uintptr_t number) { return reinterpret_cast<Stream>(number); }
void show(const char* what, int status) { std::printf("%s %d\n", what, status); }

Comm make_comm(int size, int rank) {
  Results& all = *results();
  ncclGetUniqueId(&all.id);
  ncclCommInitRank(&all.comm, size, all.id, rank);
  return all.comm;
}

void make_communicators() {
  Results& all = *results();
  show("version", ncclGetVersion(&all.version));
  show("id", ncclGetUniqueId(&all.id));
  show("init", ncclCommInitRank(&all.comm, 4, all.id, 1));
  all.id.bytes[127] = 'v';
  show("config", ncclCommInitRankConfig(&all.configured, 5, all.id, 2, place(1)));
  std::memset(all.ids, 'w', sizeof all.ids);
  all.ids[1].bytes[5] = 'W';
  show("scalable", ncclCommInitRankScalable(&all.scalable, 6, 3, 2, all.ids, place(2)));
  const int devices[] = {2, 0, 3, 1};
  std::memcpy(&all.copy, devices, sizeof devices);
  show("all", ncclCommInitAll(all.all, 4, reinterpret_cast<const int*>(&all.copy)));
  show("split", ncclCommSplit(all.comm, 7, 1, &all.split, place(3)));
  show("no color", ncclCommSplit(all.comm, -1, 1, &all.none, nullptr));
  show("shrink",
       ncclCommShrink(all.comm, static_cast<int*>(place(4)), 1, &all.shrunk, place(5), 1));
  show("grow id", ncclCommGetUniqueId(all.comm, &all.grow_id));
  show("grow", ncclCommGrow(all.comm, 8, nullptr, -1, &all.grown, place(6)));
  show("join", ncclCommGrow(nullptr, 8, &all.grow_id, 7, &all.joined, nullptr));
}

void move_data(Comm comm) {
  int s = 0;
  const auto next = [&s] { return stream(static_cast<uintptr_t>(++s)); };
  show("reduce", ncclReduce(place(11), place(12), 101, 7, 1, 3, comm, next()));
  show("bcast", ncclBcast(place(13), 102, 6, 2, comm, next()));
  show("broadcast", ncclBroadcast(place(14), place(15), 103, 9, 1, comm, next()));
  show("allreduce", ncclAllReduce(place(16), place(17), 104, 8, 4, comm, next()));
  show("reducescatter", ncclReduceScatter(place(18), place(19), 105, 2, 3, comm, next()));
  show("allgather", ncclAllGather(place(20), place(21), 106, 4, comm, next()));
  show("alltoall", ncclAlltoAll(place(22), place(23), 107, 10, comm, next()));
  show("gather", ncclGather(place(24), place(25), 108, 1, 2, comm, next()));
  show("scatter", ncclScatter(place(26), place(27), 109, 0, 3, comm, next()));
  show("send", ncclSend(place(28), 110, 7, 2, comm, next()));
  show("recv", ncclRecv(place(29), 111, 7, 3, comm, next()));
  show("put", ncclPutSignal(place(30), 112, 7, 0, place(31), 1ull << 40, 21, 22, 23, comm, next()));
  show("signal", ncclSignal(1, 24, 25, 26, comm, next()));
  show("wait", ncclWaitSignal(2, static_cast<SignalWait*>(place(32)), comm, next()));
  show("start", ncclGroupStart());
  show("simulate", ncclGroupSimulateEnd(place(33)));
}

void use_memory(Comm comm) {
  Results& all = *results();
  show("alloc", ncclMemAlloc(&all.memory, 1ull << 33));
  show("register", ncclCommRegister(comm, place(41), 4097, &all.handle));
  show("deregister", ncclCommDeregister(comm, all.handle));
  show("window", ncclCommWindowRegister(comm, place(42), 8192, &all.window, 3));
  show("no window", ncclCommWindowDeregister(comm, all.window));
  show("device comm", ncclDevCommCreate(comm, place(43), place(44)));
  show("no device comm", ncclDevCommDestroy(comm, place(45)));
  show("op", ncclRedOpCreatePreMulSum(&all.op, place(46), 7, 1, comm));
  show("no op", ncclRedOpDestroy(all.op, comm));
  show("free", ncclMemFree(all.memory));
}

void make_every_call() {
  Results& all = *results();
  make_communicators();
  move_data(all.comm);
  // Communicators whose rank NCCL is asked for.
  for (Comm comm : {all.split, all.shrunk, all.grown, all.joined}) {
    show("allreduce", ncclAllReduce(place(51), place(52), 1000, 7, 0, comm, nullptr));
  }
  use_memory(all.comm);
  show("suspend", ncclCommSuspend(all.comm, 1));
  show("resume", ncclCommResume(all.comm));
  show("finalize", ncclCommFinalize(all.comm));
  show("destroy", ncclCommDestroy(all.comm));
  show("revoke", ncclCommRevoke(all.split, 0));
  show("abort", ncclCommAbort(all.split));
  std::printf("%d %d %p %p %p\n", all.version, all.op, all.memory, all.handle, all.none);
}

void fail_calls() {
  Results& all = *results();
  show("id", ncclGetUniqueId(&all.id));
  show("init", ncclCommInitRank(&all.comm, 13, all.id, 1));
  make_comm(4, 1);
  show("allreduce", ncclAllReduce(place(1), place(2), 13, 7, 0, all.comm, nullptr));
  show("allreduce", ncclAllReduce(place(1), place(2), 16, 7, 0, all.comm, nullptr));
  show("send", ncclSend(place(1), 13, 7, 0, all.comm, nullptr));
  show("alloc", ncclMemAlloc(&all.memory, 13));
  show("peer", cudaMemcpyPeer(place(1), 1, place(2), 0, 13));
}

// Sends to the next rank and receives from the one before, as pipelines do.
void make_groups() {
  Comm const comm = make_comm(4, 1);
  for (int round = 0; round < 2; ++round) {
    ncclGroupStart();
    ncclGroupStart();
    show("send", ncclSend(place(1), 1000, 7, 2, comm, nullptr));
    show("inner end", ncclGroupEnd());
    show("recv", ncclRecv(place(2), 1000, 7, 0, comm, nullptr));
    show("end", ncclGroupEnd());
  }
  show("alone", ncclAllReduce(place(1), place(2), 52, 7, 0, comm, nullptr));
}

void start_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      UniqueId id{};
      id.bytes[0] = static_cast<char>(i + 1);
      Comm comm = nullptr;
      ncclCommInitRank(&comm, 8, id, 0);
      for (int call = 0; call < 1000; ++call) {
        ncclAllReduce(place(1), place(2), static_cast<size_t>(1000 + i), 7, 0, comm, nullptr);
      }
      ncclCommDestroy(comm);
    });
  }
  for (std::thread& each : threads) each.join();
}

void use_devices() {
  Results& all = *results();
  ncclGroupStart();
  ncclGetUniqueId(&all.id);
  for (int rank = 0; rank < 4; ++rank) {
    setenv("STANDIN_DEVICE", std::to_string(rank).c_str(), 1);  // cudaSetDevice
    ncclCommInitRank(&all.all[rank], 4, all.id, rank);
  }
  show("end", ncclGroupEnd());
  for (Comm comm : all.all) {
    show("allreduce", ncclAllReduce(place(1), place(2), 1 << 20, 7, 0, comm, nullptr));
  }
  show("peer", cudaMemcpyPeerAsync(place(1), 3, place(2), 1, 5000, nullptr));
}

void make_copies() {
  Results& all = *results();
  void* const there = reinterpret_cast<void*>(0x300100000);  // device 3
  void* const here = reinterpret_cast<void*>(0x100100000);   // device 1
  void* const host = place(3);
  show("peer", cudaMemcpyPeer(place(1), 3, place(2), 1, 1000));
  show("peer async", cudaMemcpyPeerAsync(place(3), 0, place(4), 2, 2000, stream(1)));
  show("same", cudaMemcpyPeerAsync(place(3), 2, place(4), 2, 4000, stream(1)));
  all.copy.from_device = 1;
  all.copy.to_device = 2;
  all.copy.width_bytes = 10;
  all.copy.height = 20;
  all.copy.depth = 30;
  show("volume", cudaMemcpy3DPeer(&all.copy));
  show("volume async", cudaMemcpy3DPeerAsync(&all.copy, stream(2)));
  show("plain", cudaMemcpy(there, here, 8000, kDeviceToDevice));
  show("plain async", cudaMemcpyAsync(there, here, 16'000, kCopyByAddresses, stream(3)));
  show("to host", cudaMemcpyAsync(host, here, 32'000, 2, stream(3)));
  show("by address", cudaMemcpyAsync(host, here, 64'000, kCopyByAddresses, stream(3)));
  show("driver",
       cuMemcpyPeerAsync(0x100100000, place(5), 0x300100000, place(6), 128'000, stream(4)));
  show("driver too", cuMemcpyPeer(0x100100000, place(7), 0x300100000, place(8), 256'000));
}

void fork_child() {
  Comm comm = make_comm(4, 1);
  ncclAllReduce(place(1), place(2), 1000, 7, 0, comm, nullptr);
  if (const pid_t child = fork(); child == 0) {
    comm = make_comm(4, 2);
    ncclAllReduce(place(1), place(2), 2000, 7, 0, comm, nullptr);
    std::exit(0);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    show("child", status);
  }
  ncclAllReduce(place(1), place(2), 3000, 7, 0, comm, nullptr);
}

int main_of(const char* what) {
  if (std::strcmp(what, "every") == 0) make_every_call();
  if (std::strcmp(what, "fails") == 0) fail_calls();
  if (std::strcmp(what, "group") == 0) make_groups();
  if (std::strcmp(what, "threads") == 0) start_threads();
  if (std::strcmp(what, "devices") == 0) use_devices();
  if (std::strcmp(what, "copies") == 0) make_copies();
  if (std::strcmp(what, "fork") == 0) fork_child();
  if (std::strcmp(what, "newer") == 0) {
    // The stand-in has none.
    const auto newer = reinterpret_cast<decltype(&ncclAllReduceConfig)>(
        dlsym(RTLD_DEFAULT, "ncclAllReduceConfig"));
    if (newer == nullptr) return 3;
    show("newer", newer(place(1), place(2), 10, 7, 0, nullptr, nullptr, nullptr));
  }
  return 0;
}

}  // namespace
}  // namespace heddle::nccl::trace

int main(int count, char** words) {
  return count == 2 ? heddle::nccl::trace::main_of(words[1]) : 2;
}
