"""A description of the machine of a comparison."""

import os
import platform


def describe():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "load_average": os.getloadavg()[0]}
