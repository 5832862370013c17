"""Tests that PyTorch ships, which Gloo passes and heddle does not, and why: docs/reference/pytorch.md."""

DIFFERENCES = {
    "test_ddp_logging_data_cpu": "it wants Gloo's settings in DistributedDataParallel's logging data",
}
