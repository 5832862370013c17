// heddle.h: heddle's collectives for programs in C and in languages that call C. C99.
//
// A process is one rank. It creates communicators, posts collectives on them and waits for their
// end; a progress thread of heddle moves the data. All functions are thread-safe. All ranks must
// post the calls of a communicator in the same order. The memory of a call must stay valid, and
// unchanged by the caller, until the call has ended.
//
// Each function returns a status; heddle_error() describes the last error of this thread: what
// failed, the reason, a remedy. The library throws nothing, handles no signals and prints nothing
// (but see the setting `log`). After fork() a child must create its own communicators; those of its
// parent return HEDDLE_CLOSED there.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this header describes; see heddle_version(). */
enum { HEDDLE_VERSION_MAJOR = 0, HEDDLE_VERSION_MINOR = 1 };

typedef enum heddle_status {
  HEDDLE_OK = 0,
  HEDDLE_INVALID = 1,     /* the call makes no sense */
  HEDDLE_UNAVAILABLE = 2, /* temporarily unavailable */
  HEDDLE_PERMISSION = 3,  /* denied by the system */
  HEDDLE_IN_USE = 4,      /* used by another process */
  HEDDLE_TIMEOUT = 5,     /* timed out; a request that is waited for continues */
  HEDDLE_PEER_DEAD = 6,   /* a rank died */
  HEDDLE_CANCELLED = 7,   /* a rank cancelled, or ended the communicator */
  HEDDLE_TRUNCATED = 8,   /* a message was larger than its receive */
  HEDDLE_CLOSED = 9,      /* the communicator has ended, or is a parent's */
  HEDDLE_VERSION = 10,    /* two versions that do not understand each other */
  HEDDLE_EXHAUSTED = 11,  /* a bound is reached, or memory */
  HEDDLE_SYSTEM = 12      /* the operating system failed */
} heddle_status;

typedef enum heddle_type {
  HEDDLE_INT8 = 0,
  HEDDLE_UINT8 = 1,
  HEDDLE_INT32 = 2,
  HEDDLE_UINT32 = 3,
  HEDDLE_INT64 = 4,
  HEDDLE_UINT64 = 5,
  HEDDLE_FLOAT16 = 6,
  HEDDLE_BFLOAT16 = 7,
  HEDDLE_FLOAT32 = 8,
  HEDDLE_FLOAT64 = 9,
  HEDDLE_INT16 = 10,
  HEDDLE_UINT16 = 11
} heddle_type;

typedef enum heddle_op {
  HEDDLE_SUM = 0,
  HEDDLE_PRODUCT = 1,
  HEDDLE_MIN = 2,
  HEDDLE_MAX = 3,
  HEDDLE_AVERAGE = 4
} heddle_op;

typedef struct heddle_comm heddle_comm;       /* a communicator */
typedef struct heddle_request heddle_request; /* a running call, or a group of them */

enum { HEDDLE_FOREVER = -1 }; /* as a timeout in milliseconds */

/* "0.1.0"; what the library is, where the numbers above say what a program was compiled for. */
const char* heddle_version(void);
/* Why the last call of this thread that was not HEDDLE_OK failed, in one line; "" before. It stays
 * until the next such call of this thread. */
const char* heddle_error(void);
/* "timeout"; "?" for what is no status. */
const char* heddle_status_name(heddle_status status);

/* --- communicators --- */

/* All ranks of the run: who they are says the launcher's environment (`heddle run`, torchrun, Open
 * MPI, Slurm, or HEDDLE_RANK, HEDDLE_SIZE and HEDDLE_STORE by hand), how they speak the settings of
 * heddle (HEDDLE_*, heddle.toml). Waits until all have come, `rendezvous_timeout_ms` at most. */
heddle_status heddle_init(heddle_comm** world);
/* The same with explicit values: `store` is "udp://HOST:PORT" or "file:///PATH". */
heddle_status heddle_create(uint32_t rank, uint32_t size, const char* store, heddle_comm** world);
/* Ranks that name the same colour make a communicator, in the order of `key` and then of their
 * ranks. All ranks call it, and it waits for all. *part is NULL for a negative colour. */
heddle_status heddle_split(heddle_comm* comm, int32_t colour, int32_t key, heddle_comm** part);
/* Ends the running calls of the communicator, on all ranks. NULL is ignored. The last communicator
 * of those split from one waits until its connections are closed, 3 s at most. */
void heddle_destroy(heddle_comm* comm);
uint32_t heddle_rank(const heddle_comm* comm);
uint32_t heddle_size(const heddle_comm* comm);
/* Ends all calls, here and on all other ranks; the communicator is of no more use. */
heddle_status heddle_abort(heddle_comm* comm);
/* HEDDLE_OK while it works, otherwise why it has failed. */
heddle_status heddle_failure(const heddle_comm* comm);
/* As heddle_abort(), for a rank that is to go on with the others by heddle_shrink(). */
heddle_status heddle_revoke(heddle_comm* comm);
/* The communicator of the ranks that are left after one was lost. Their order and the connections
 * between them are kept. Revokes `comm`, if it still works; every rank that is left calls it, and
 * it waits for them: one that lives and has not called it within `join_within_ms` (0: 5 s) is left
 * out. The larger part of the ranks goes on: more than half of them, or half of them with rank 0;
 * others get HEDDLE_UNAVAILABLE, one that the others left out HEDDLE_PEER_DEAD. */
heddle_status heddle_shrink(heddle_comm* comm, int64_t join_within_ms, heddle_comm** left);
/* Takes the processes that wait in heddle_join() with the same store into the job: *grown has them
 * behind the ranks of `comm`, which is of no more use. It is NULL where none waits; then `comm`
 * works on, and the call takes as long as a broadcast. All ranks call it, in the same order as
 * their other calls. `store` is "file:///PATH", a folder that all share and no other user may
 * write to, and for one job; NULL: that of the run, under `heddle run`. After an error of the calls
 * in it, heddle_shrink() makes one of the ranks that are left; HEDDLE_UNAVAILABLE and
 * HEDDLE_PEER_DEAD mean that this rank cannot go on. */
heddle_status heddle_grow(heddle_comm* comm, const char* store, heddle_comm** grown);
/* Instead of heddle_init(), for a process that joins a job whose ranks call heddle_grow(). Waits
 * until they have taken it in, `timeout_ms` at most. */
heddle_status heddle_join(const char* store, int64_t timeout_ms, heddle_comm** world);
/* The rank that `rank` of a communicator made by heddle_shrink() or heddle_grow() had before; of
 * others and of newcomers the same. */
uint32_t heddle_former_rank(const heddle_comm* comm, uint32_t rank);

/* --- calls: with a request they return at once, with NULL they wait for their end ---
 *
 * `count` is in elements: of the whole (all_reduce, broadcast, reduce, send, receive), or of one
 * rank's block (the others), so that the larger buffer has count times the number of ranks. In
 * place: both buffers are the same memory, or the smaller one lies where its rank's block is in the
 * larger. Buffers that a rank has no part in (the output of reduce on all but the root) may be
 * NULL. */

heddle_status heddle_all_reduce(heddle_comm* comm, const void* input, void* output, uint64_t count,
                                heddle_type type, heddle_op op, heddle_request** request);
heddle_status heddle_reduce_scatter(heddle_comm* comm, const void* input, void* output,
                                    uint64_t count, heddle_type type, heddle_op op,
                                    heddle_request** request);
heddle_status heddle_reduce(heddle_comm* comm, const void* input, void* output, uint64_t count,
                            heddle_type type, heddle_op op, uint32_t root,
                            heddle_request** request);
heddle_status heddle_all_gather(heddle_comm* comm, const void* input, void* output, uint64_t count,
                                heddle_type type, heddle_request** request);
heddle_status heddle_broadcast(heddle_comm* comm, const void* input, void* output, uint64_t count,
                               heddle_type type, uint32_t root, heddle_request** request);
heddle_status heddle_gather(heddle_comm* comm, const void* input, void* output, uint64_t count,
                            heddle_type type, uint32_t root, heddle_request** request);
heddle_status heddle_scatter(heddle_comm* comm, const void* input, void* output, uint64_t count,
                             heddle_type type, uint32_t root, heddle_request** request);
heddle_status heddle_all_to_all(heddle_comm* comm, const void* input, void* output, uint64_t count,
                                heddle_type type, heddle_request** request);
/* Counts and offsets in elements, one for each rank; read before it returns. */
heddle_status heddle_all_to_all_v(heddle_comm* comm, const void* input, const uint64_t* send_counts,
                                  const uint64_t* send_offsets, void* output,
                                  const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                  heddle_type type, heddle_request** request);
heddle_status heddle_barrier(heddle_comm* comm, heddle_request** request);
/* Messages between two ranks meet in the order of their calls there. A send ends when its receive
 * is there. */
heddle_status heddle_send(heddle_comm* comm, const void* input, uint64_t count, heddle_type type,
                          uint32_t to, heddle_request** request);
heddle_status heddle_receive(heddle_comm* comm, void* output, uint64_t count, heddle_type type,
                             uint32_t from, heddle_request** request);

/* Calls of this thread from here to heddle_group_end() begin together there. They are given NULL
 * for their requests and return at once; the request of the group is done when all are. */
heddle_status heddle_group_start(void);
heddle_status heddle_group_end(heddle_request** request);

/* --- ends of calls --- */

/* Whether it has ended, without waiting. */
heddle_status heddle_test(heddle_request** request, int* done);
/* Waits for `timeout_ms` at most. On HEDDLE_TIMEOUT heddle_error() names the ranks that are
 * missing; the call continues, and may be waited for again. Both: when the call has ended, in
 * success or error, the request is freed and set to NULL. NULL counts as ended in success. */
heddle_status heddle_wait(heddle_request** request, int64_t timeout_ms);
/* Discards the request. The call continues, so its memory must stay valid. */
void heddle_forget(heddle_request** request);

/* --- recordings --- */

/* Says where the program is: from here on in phase `name` (its first 32 bytes), for the `step`-th
 * time. What is recorded (HEDDLE_RECORD, `heddle record`) shows it. HEDDLE_OK also where nothing
 * is; HEDDLE_INVALID without a name. */
heddle_status heddle_mark(const char* name, uint64_t step);

#ifdef __cplusplus
}
#endif
