/* all_reduce.c: the average of a gradient over all ranks, in place, three times.
 *
 *     cc -std=c99 all_reduce.c $(pkg-config --cflags --libs heddle) -o all_reduce
 *     heddle run -n 4 -- ./all_reduce
 */
#include <heddle.h>
#include <stdio.h>

enum { kCount = 1000000 };

static float gradient[kCount];

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, heddle_error());
  return 1;
}

int main(void) {
  heddle_comm* world = NULL;
  int step = 0;
  int i = 0;

  if (heddle_init(&world) != HEDDLE_OK) return failed("heddle_init");
  for (step = 0; step < 3; ++step) {
    heddle_mark("step", (uint64_t)step); /* recordings show it */
    for (i = 0; i < kCount; ++i) gradient[i] = (float)heddle_rank(world);
    /* Without a request the call waits for its end. */
    if (heddle_all_reduce(world, gradient, gradient, kCount, HEDDLE_FLOAT32, HEDDLE_AVERAGE, NULL) != HEDDLE_OK) {
      return failed("heddle_all_reduce");
    }
  }
  if (heddle_rank(world) == 0) printf("average of %u ranks: %.1f\n", (unsigned)heddle_size(world), gradient[0]);
  heddle_destroy(world);
  return 0;
}
