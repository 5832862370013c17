"""Tests that PyTorch ships, which Gloo passes and heddle does not, and why: docs/reference/pytorch.md."""

ANY_SOURCE = "receives name their source"
DIFFERENCES = {
    "test_ddp_logging_data_cpu": "it wants Gloo's settings in DistributedDataParallel's logging data",
    "test_send_recv_any_source": ANY_SOURCE,
    "test_send_recv_any_source_autograd_profiler": ANY_SOURCE,
    "test_send_recv_any_source_torch_profiler": ANY_SOURCE,
    "test_sparse_all_reduce_sum": "tensors are dense",
}
