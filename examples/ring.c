/* ring.c: collectives from C. Each rank sends its number to the next one; then all ranks add up what
 * they have received.
 *
 *     cc -std=c99 ring.c $(pkg-config --cflags --libs heddle) -o ring
 *     heddle run -n 3 -- ./ring
 */
#include <heddle.h>
#include <stdio.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, heddle_error());
  return 1;
}

int main(void) {
  heddle_comm* world = NULL;
  heddle_request* request = NULL;
  uint32_t rank = 0;
  uint32_t size = 0;
  int64_t mine = 0;
  int64_t from_before = -1;
  int64_t sum = 0;

  if (heddle_init(&world) != HEDDLE_OK) return failed("heddle_init");
  rank = heddle_rank(world);
  size = heddle_size(world);
  mine = (int64_t)rank;

  /* A group begins together, so the send does not wait for the receive behind it. */
  heddle_group_start();
  heddle_send(world, &mine, 1, HEDDLE_INT64, (rank + 1) % size, NULL);
  heddle_receive(world, &from_before, 1, HEDDLE_INT64, (rank + size - 1) % size, NULL);
  if (heddle_group_end(NULL) != HEDDLE_OK) return failed("send and receive");

  /* With a request the call goes on while the program does something else. */
  if (heddle_all_reduce(world, &from_before, &sum, 1, HEDDLE_INT64, HEDDLE_SUM, &request) !=
      HEDDLE_OK) {
    return failed("heddle_all_reduce");
  }
  if (heddle_wait(&request, 30000) != HEDDLE_OK) return failed("heddle_wait");

  printf("rank %u of %u: heard %lld, all together %lld\n", (unsigned)rank, (unsigned)size,
         (long long)from_before, (long long)sum);
  heddle_destroy(world);
  return 0;
}
