/* every_call.c: run by three ranks of c_test.py. Each function of heddle.h with what it must give,
 * and with what a program can get wrong; a difference is told and ends the program with status 1.
 */
#include <heddle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 3

static uint32_t rank;
static heddle_comm* world;

static void expect(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %u: %s is wrong (%s)\n", (unsigned)rank, what, heddle_error());
  exit(1);
}

static void well(heddle_status status, const char* what) { expect(status == HEDDLE_OK, what); }

static void refused(heddle_status status, heddle_status wanted, const char* text) {
  if (status == wanted && strstr(heddle_error(), text) != NULL) return;
  fprintf(stderr, "rank %u: %s, '%s' does not say '%s'\n", (unsigned)rank,
          heddle_status_name(status), heddle_error(), text);
  exit(1);
}

static void whole_tensors(void) {
  float in[4];
  float out[4];
  int i = 0;
  for (i = 0; i < 4; ++i) in[i] = (float)(rank + 1) * (float)i;
  well(heddle_all_reduce(world, in, out, 4, HEDDLE_FLOAT32, HEDDLE_SUM, NULL), "all_reduce");
  for (i = 0; i < 4; ++i) expect(out[i] == 6.0f * (float)i, "the sum");
  well(heddle_all_reduce(world, in, in, 4, HEDDLE_FLOAT32, HEDDLE_AVERAGE, NULL), "in place");
  for (i = 0; i < 4; ++i) expect(in[i] == 2.0f * (float)i, "the average");
  well(heddle_reduce(world, out, rank == 1 ? in : NULL, 4, HEDDLE_FLOAT32, HEDDLE_MAX, 1, NULL),
       "reduce");
  if (rank == 1) expect(in[3] == 18.0f, "the maximum");
  out[0] = (float)rank;
  well(heddle_broadcast(world, out, out, 1, HEDDLE_FLOAT32, 2, NULL), "broadcast");
  expect(out[0] == 2.0f, "what was broadcast");
  well(heddle_barrier(world, NULL), "barrier");
}

static void blocks(void) {
  const int32_t mine = (int32_t)rank;
  int32_t all[SIZE] = {-1, -1, -1};
  int32_t one = -1;
  int i = 0;
  well(heddle_all_gather(world, &mine, all, 1, HEDDLE_INT32, NULL), "all_gather");
  for (i = 0; i < SIZE; ++i) expect(all[i] == i, "what was gathered");
  well(heddle_reduce_scatter(world, all, &one, 1, HEDDLE_INT32, HEDDLE_SUM, NULL),
       "reduce_scatter");
  expect(one == SIZE * mine, "what was reduced");
  well(heddle_gather(world, &mine, rank == 0 ? all : NULL, 1, HEDDLE_INT32, 0, NULL), "gather");
  well(heddle_scatter(world, rank == 0 ? all : NULL, &one, 1, HEDDLE_INT32, 0, NULL), "scatter");
  expect(one == mine, "what was scattered");
}

static void exchanges(void) {
  const uint64_t counts[SIZE] = {1, 1, 1};
  const uint64_t offsets[SIZE] = {2, 1, 0};
  const uint64_t in_order[SIZE] = {0, 1, 2};
  int32_t to[SIZE];
  int32_t from[SIZE];
  int i = 0;
  for (i = 0; i < SIZE; ++i) to[i] = (int32_t)rank * 10 + i;
  well(heddle_all_to_all(world, to, from, 1, HEDDLE_INT32, NULL), "all_to_all");
  for (i = 0; i < SIZE; ++i) expect(from[i] == i * 10 + (int32_t)rank, "what was exchanged");
  well(heddle_all_to_all_v(world, to, counts, offsets, from, counts, in_order, HEDDLE_INT32, NULL),
       "all_to_all_v");
  for (i = 0; i < SIZE; ++i) {
    expect(from[i] == i * 10 + 2 - (int32_t)rank, "what was exchanged backwards");
  }
}

static void requests(void) {
  int64_t value = 1;
  int done = 0;
  heddle_request* request = NULL;
  heddle_request* group = NULL;
  int8_t word[SIZE] = {0, 0, 0};
  int i = 0;
  well(heddle_all_reduce(world, &value, &value, 1, HEDDLE_INT64, HEDDLE_SUM, &request),
       "a request");
  while (!done) well(heddle_test(&request, &done), "test");
  expect(request == NULL && value == SIZE, "a tested call");
  well(heddle_wait(&request, HEDDLE_FOREVER), "waiting for nothing");
  well(heddle_group_start(), "group_start");
  for (i = 0; i < SIZE; ++i) {
    well(heddle_send(world, &word[rank], 1, HEDDLE_INT8, (uint32_t)i, NULL), "send");
    well(heddle_receive(world, &word[i], 0, HEDDLE_INT8, (uint32_t)i, NULL), "receive");
  }
  /* A receive of 0 elements meets a send of 1: all ranks hear of it, perhaps before they call. */
  if (heddle_group_end(&group) == HEDDLE_OK) {
    expect(heddle_wait(&group, HEDDLE_FOREVER) != HEDDLE_OK, "messages of two lengths");
  }
  expect(group == NULL, "a request that failed");
}

static void mistakes(void) {
  heddle_request* request = NULL;
  int value = 0;
  refused(heddle_init(NULL), HEDDLE_INVALID, "no place for it");
  refused(heddle_create(0, 1, NULL, &world), HEDDLE_INVALID, "no store");
  refused(heddle_barrier(NULL, NULL), HEDDLE_INVALID, "no communicator");
  refused(heddle_test(&request, NULL), HEDDLE_INVALID, "no place for the answer");
  refused(heddle_group_end(NULL), HEDDLE_INVALID, "none was started");
  expect(value == 0 && heddle_rank(NULL) == 0 && heddle_size(NULL) == 0, "nothing's rank");
  heddle_destroy(NULL);
  heddle_forget(NULL);
}

static void refusals(void) {
  int value = 0;
  heddle_request* request = NULL;
  refused(heddle_broadcast(world, &value, &value, 1, HEDDLE_INT32, 7, NULL), HEDDLE_INVALID,
          "there is no rank 7");
  refused(heddle_all_reduce(world, &value, &value, 1, (heddle_type)99, HEDDLE_SUM, NULL),
          HEDDLE_INVALID, "no such type");
  refused(heddle_all_reduce(world, &value, &value, 1, HEDDLE_INT32, (heddle_op)99, NULL),
          HEDDLE_INVALID, "no such reduction");
  refused(heddle_all_reduce(world, NULL, &value, 1, HEDDLE_INT32, HEDDLE_SUM, NULL), HEDDLE_INVALID,
          "no input");
  well(heddle_group_start(), "group_start");
  refused(heddle_barrier(world, &request), HEDDLE_INVALID, "give NULL");
  well(heddle_group_end(NULL), "an empty group");
  well(heddle_failure(world), "a communicator that works");
}

static void parts(void) {
  heddle_comm* part = NULL;
  int32_t value = 1;
  well(heddle_split(world, rank == 1 ? -1 : 4, 0, &part), "split");
  expect((part == NULL) == (rank == 1), "who is in the part");
  if (part == NULL) return;
  expect(heddle_size(part) == 2 && heddle_rank(part) == rank / 2, "the part's ranks");
  well(heddle_all_reduce(part, &value, &value, 1, HEDDLE_INT32, HEDDLE_SUM, NULL), "in a part");
  expect(value == 2, "the part's sum");
  heddle_destroy(part);
}

static void times(void) {
  heddle_comm* pair = NULL;
  heddle_request* request = NULL;
  int32_t value = 1;
  /* Rank 0 and 1; rank 1 comes late, and then goes for good. */
  well(heddle_split(world, rank == 2 ? -1 : 0, 0, &pair), "split");
  if (pair != NULL) well(heddle_barrier(pair, NULL), "a barrier of the pair");
  if (rank == 0) {
    well(heddle_receive(pair, &value, 1, HEDDLE_INT32, 1, &request), "receive");
    refused(heddle_wait(&request, 20), HEDDLE_TIMEOUT, "waits for rank 1");
    expect(request != NULL, "a request that goes on");
  }
  well(heddle_barrier(world, NULL), "barrier");
  if (rank == 1) {
    value = 77;
    well(heddle_send(pair, &value, 1, HEDDLE_INT32, 0, NULL), "send");
    well(heddle_abort(pair), "abort");
  }
  if (rank == 0) {
    well(heddle_wait(&request, HEDDLE_FOREVER), "a late message");
    expect(value == 77, "the late message");
    heddle_receive(pair, &value, 1, HEDDLE_INT32, 1, &request);
    if (request != NULL) {
      refused(heddle_wait(&request, HEDDLE_FOREVER), HEDDLE_CANCELLED, "rank 1 aborted");
    }
    refused(heddle_failure(pair), HEDDLE_CANCELLED, "rank 1 aborted");
  }
  heddle_destroy(pair);
}

/* It is the last of three. */
static void together(heddle_comm* grown) {
  int32_t value = 1;
  well(heddle_all_reduce(grown, &value, &value, 1, HEDDLE_INT32, HEDDLE_SUM, NULL), "all_reduce");
  expect(value == 3, "the sum of all");
  heddle_destroy(grown);
}

static void joining(void) {
  heddle_comm* grown = NULL;
  refused(heddle_join("udp://127.0.0.1:1", 0, &grown), HEDDLE_INVALID, "it is no folder");
  well(heddle_join(NULL, 30000, &grown), "join"); /* the run's store */
  expect(heddle_size(grown) == 3 && heddle_rank(grown) == 2, "the newcomer's rank");
  together(grown);
}

static void growing(heddle_comm* left) {
  heddle_comm* grown = NULL;
  refused(heddle_grow(left, "", &grown), HEDDLE_INVALID, "it is no folder");
  while (grown == NULL) {
    well(heddle_grow(left, NULL, &grown), "grow");
  }
  expect(heddle_former_rank(grown, 1) == 1, "a rank that was there before");
  heddle_destroy(left);
  together(grown);
}

/* Rank 1 leaves while the others call; these go on without it, and it joins them. */
static void shrinking(void) {
  heddle_comm* whole = NULL;
  heddle_comm* left = NULL;
  int32_t value = 1;
  well(heddle_split(world, 0, 0, &whole), "split");
  well(heddle_barrier(whole, NULL), "barrier");
  well(heddle_barrier(world, NULL), "barrier"); /* before it ends all ranks have left the first */
  expect(heddle_former_rank(whole, 2) == 2, "a rank of one that was not shrunk");
  refused(heddle_shrink(whole, -1, &left), HEDDLE_INVALID, "negative");
  if (rank == 1) {
    well(heddle_revoke(whole), "revoke");
    refused(heddle_barrier(whole, NULL), HEDDLE_CANCELLED, "rank 1 revoked the communicator");
    heddle_destroy(whole);
    joining();
    return;
  }
  refused(heddle_barrier(whole, NULL), HEDDLE_CANCELLED, "rank 1 revoked the communicator");
  well(heddle_shrink(whole, 20000, &left), "shrink");
  heddle_destroy(whole);
  expect(heddle_size(left) == 2 && heddle_rank(left) == rank / 2, "the ranks that are left");
  expect(heddle_former_rank(left, 1) == 2, "a rank's former number");
  well(heddle_all_reduce(left, &value, &value, 1, HEDDLE_INT32, HEDDLE_SUM, NULL), "all_reduce");
  expect(value == 2, "the sum of those that are left");
  growing(left);
}

int main(void) {
  expect(strcmp(heddle_version(), "") != 0 && strcmp(heddle_error(), "") == 0, "before the start");
  mistakes();
  well(heddle_init(&world), "init");
  rank = heddle_rank(world);
  expect(heddle_size(world) == SIZE, "the number of ranks");
  well(heddle_mark("collectives, and what goes wrong, and more", rank), "mark");
  whole_tensors();
  blocks();
  exchanges();
  refusals();
  parts();
  shrinking();
  times();
  requests();
  expect(heddle_failure(world) != HEDDLE_OK, "a communicator that failed");
  heddle_destroy(world);
  printf("rank %u: all well\n", (unsigned)rank);
  return 0;
}
