"""HostCpu: the CPU time of all cores of this machine so far, from /proc/stat."""

import os

_TICKS = os.sysconf("SC_CLK_TCK")


class HostCpu:
    def __init__(self, programs_s, interrupts_s, stolen_s):
        self.programs_s = programs_s      # in programs and their system calls
        self.interrupts_s = interrupts_s  # handling interrupts
        self.stolen_s = stolen_s          # by a hypervisor

    @property
    def busy_s(self):
        return self.programs_s + self.interrupts_s + self.stolen_s

    def __sub__(self, earlier):
        return HostCpu(self.programs_s - earlier.programs_s, self.interrupts_s - earlier.interrupts_s,
                       self.stolen_s - earlier.stolen_s)

    @staticmethod
    def now():
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _idle, _wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
        return HostCpu((user + nice + system) / _TICKS, (irq + softirq) / _TICKS, steal / _TICKS)
