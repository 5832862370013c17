/* A collective by MPI, timed: mpi_peer TEST BYTES:CALLS… Rank 0 prints [{"bytes": …, "us": …}, …].
   In place; each call ends on this rank before the next begins; the mean over calls and ranks, as in `heddle bench`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ranks;

static void call(const char* test, float* data, float* other, long bytes) {
  const int elements = (int)(bytes / 4);
  if (strcmp(test, "allreduce") == 0) {
    MPI_Allreduce(MPI_IN_PLACE, data, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(test, "reducescatter") == 0) {
    MPI_Reduce_scatter_block(MPI_IN_PLACE, data, elements / ranks, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else {
    MPI_Alltoall(data, elements / ranks, MPI_FLOAT, other, elements / ranks, MPI_FLOAT, MPI_COMM_WORLD);
  }
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count < 3) {
    fprintf(stderr, "usage: mpi_peer allreduce|reducescatter|alltoall BYTES:CALLS ...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (rank == 0) printf("[");
  for (int i = 2; i < count; ++i) {
    long bytes = 0, calls = 0;
    if (sscanf(words[i], "%ld:%ld", &bytes, &calls) != 2 || bytes < 4 || calls < 1) MPI_Abort(MPI_COMM_WORLD, 2);
    float* data = calloc(1, (size_t)bytes);
    float* other = calloc(1, (size_t)bytes);
    for (long warm = 0; warm < 1 + calls / 10; ++warm) call(words[1], data, other, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    for (long done = 0; done < calls; ++done) call(words[1], data, other, bytes);
    double took = (MPI_Wtime() - began) / (double)calls, sum = 0;
    MPI_Reduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s{\"bytes\": %ld, \"us\": %.3f}", i > 2 ? ", " : "", bytes, sum / ranks * 1e6);
    free(data);
    free(other);
  }
  if (rank == 0) printf("]\n");
  MPI_Finalize();
  return 0;
}
