"""A model small enough to be trained with real packets on one machine, as `heddle size` and a workload describe it."""

SEQUENCE = 1024
LAYERS = 4
WIDTH = 4  # bytes of gradients, parameters and activations
STEPS = 2
TEXT = f'name = "small"\nlayers = {LAYERS}\nhidden = 256\nheads = 4\nffn = 1024\nvocabulary = 512\n'
_ACTIVATIONS = SEQUENCE * 256 * WIDTH


def options(path, gpus, keys):
    """Of `heddle size traffic`: the model at `path` on GPUs that each have a NIC; `keys` are of the workload."""
    replicas = gpus // keys.get("tensor", 1) // keys.get("pipeline", 1)
    return ("--model", path, "--gpus", gpus, "--gpus-per-node", 1, "--sequence", SEQUENCE,
            *(word for kind in ("gradient", "parameter", "activation") for word in (f"--{kind}-bytes", WIDTH)),
            "--batch", replicas * keys.get("microbatches", 1))


def workload(gpus, keys, parameters, bucket=None):
    """STEPS steps of this model in a workload file, with `keys` beside the model's own; a bucket in bytes or a layer.
    """
    layer_bytes = round(parameters * WIDTH / LAYERS / keys.get("tensor", 1))
    given = {"layers": LAYERS, "layer_bytes": f'"{layer_bytes}B"', "activation_bytes": f'"{_ACTIVATIONS}B"',
             "bucket": f'"{bucket or layer_bytes}B"', "forward": '"1ms"', "algorithm": '"ring"', "steps": STEPS,
             "hosts": f'["h0..h{gpus - 1}"]', **keys}
    lines = [f"{key} = {value}" for key, value in given.items()]
    return "version = 1\n[[job]]\nkind = \"training\"\n" + "\n".join(lines) + "\n"
