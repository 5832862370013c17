"""Purity: that a library does no I/O, starts no thread, reads no clock, environment or entropy; and that what is
shipped downloads nothing.

By its undefined symbols (nm), and by what its sources include and call.
"""

import re
import subprocess

from tree import Violation, includes, strip_cxx

# Names of C functions, matched whole; and beginnings of C++ names.
FORBIDDEN_FUNCTIONS = {
    "sockets": """socket socketpair bind connect listen accept accept4 send sendto sendmsg sendmmsg
        recv recvfrom recvmsg recvmmsg setsockopt getsockopt getaddrinfo getnameinfo shutdown poll
        ppoll select pselect ioctl epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
        eventfd timerfd_create timerfd_settime if_nametoindex""",
    "threads": """pthread_create pthread_join pthread_mutex_lock pthread_mutex_trylock
        pthread_mutex_unlock pthread_cond_wait pthread_cond_signal pthread_once pthread_rwlock_wrlock
        pthread_rwlock_rdlock thrd_create sem_wait sem_post fork vfork clone sched_yield""",
    "clocks": """clock_gettime clock_nanosleep clock gettimeofday time nanosleep usleep sleep times
        localtime gmtime ftime timespec_get""",
    "environment": "getenv secure_getenv setenv putenv sysconf gethostname uname getpid",
    "entropy": """getrandom getentropy rand srand rand_r random srandom drand48 arc4random
        arc4random_buf RAND_bytes RAND_priv_bytes""",
    "files": """open open64 openat openat64 creat read pread pread64 write pwrite pwrite64 writev
        close fopen fopen64 fdopen fread fwrite fputs fputc putchar puts printf fprintf vfprintf
        vprintf fflush mmap mmap64 munmap stat fstat unlink rename syscall dlopen""",
}
FORBIDDEN_NAMES = {
    "threads": ("std::thread", "std::this_thread", "std::condition_variable", "std::mutex",
                "std::__future_base", "std::_V2::condition", "std::__atomic_futex"),
    "clocks": ("std::chrono::",),
    "entropy": ("std::random_device",),
    "files": ("std::cout", "std::cerr", "std::cin", "std::clog", "std::ios_base::Init",
              "std::basic_filebuf", "std::basic_ifstream", "std::basic_ofstream",
              "std::basic_fstream", "std::filesystem", "spdlog::", "heddle::log_",
              "heddle::set_log", "heddle::Config::", "heddle::config_"),
}
FORBIDDEN_HEADERS = re.compile(
    r"(chrono|ctime|time\.h|thread|mutex|shared_mutex|condition_variable|future|semaphore|latch"
    r"|barrier|iostream|fstream|cstdio|stdio\.h|filesystem|random|unistd\.h|fcntl\.h|pthread\.h"
    r"|poll\.h|(sys|net|netinet|arpa|linux|spdlog|toml\+\+)/.*|base/(log|config)\w*\.h)")
FORBIDDEN_CODE = re.compile(r"\bstd::(chrono|thread|random_device|mutex)\b|\bgetenv\s*\(")

# `sanitizers` put calls of their own into every library.
SANITIZER = re.compile(r"^__(asan|ubsan|tsan|sanitizer)")

# Sources that send by curl what their user asks for, to an address that the user gives; and what could fetch.
SENDERS = ("recordings/http_post.cc", "monitor/store.cc", "monitor/webhook.cc")
FETCHING_PROGRAM = re.compile(r'"(?:[\w/]*/)?(?:curl|wget|aria2c)"|\b(?:curl|wget|aria2c) +-|\bcurl_easy_\w+|[<"]curl/')
FETCHING_MODULE = re.compile(r"\b(?:import|from) +(urllib\.request|http\.client|ftplib|requests|httpx|aiohttp|urllib3"
                             r"|socket|subprocess)\b|\burlopen\b|\bos\.(?:system|popen|exec\w*|spawn\w*)\b"
                             r"|\btorch\.hub\b|\bload_state_dict_from_url\b")
SHIPPED_PYTHON = ("plugins/torch/heddle_torch/", "plugins/torch/examples/train.py")


def _function_table():
    return {name: why for why, names in FORBIDDEN_FUNCTIONS.items() for name in names.split()}


def check_symbols(symbols, library="the library"):
    """Violations among demangled undefined symbols, as undefined_symbols() gives their names."""
    functions = _function_table()
    violations = []
    for symbol in sorted(set(symbols)):
        bare = symbol.split("@", 1)[0]
        if SANITIZER.match(bare):
            continue
        why = functions.get(bare.removeprefix("__isoc99_").removesuffix("_chk").lstrip("_"))
        for group, names in FORBIDDEN_NAMES.items():
            if any(name in bare for name in names):
                why = group
        if why:
            violations.append(Violation("purity", library, 0, f"uses {symbol} ({why})", symbol))
    return violations


def undefined_symbols(library):
    """The undefined symbols of the machine code of an archive or object file. nm would list those of the link-time
    optimization data, if present, which lack the compiler's built-in functions (printf, fputs)."""
    output = subprocess.run(["objdump", "-tC", str(library)], capture_output=True, text=True,
                            check=True).stdout
    symbols = []
    for line in output.splitlines():
        match = re.match(r"[0-9a-f]+ .{7} \*UND\*\t[0-9a-f]+ (?:\.hidden )?(.+)$", line)
        if match:
            symbols.append(match.group(1))
    return symbols


def check_sources(files, room="transport"):
    """Violations in the room's own sources; its tests may do what they need."""
    violations = []
    for file in files:
        if not file.is_cxx or file.room != room or file.is_test:
            continue
        for line, _, path in includes(file):
            if FORBIDDEN_HEADERS.fullmatch(path):
                violations.append(Violation("purity", file.path, line, f"includes {path}"))
        for number, line in enumerate(strip_cxx(file.text).splitlines(), 1):
            match = FORBIDDEN_CODE.search(line)
            if match:
                violations.append(Violation("purity", file.path, number, f"uses {match.group(0)}"))
    return violations


def check_downloads(files):
    """Violations in sources of programs and libraries, and in shipped Python: what could fetch anything at run time."""
    violations = []
    for file in files:
        if file.is_cxx and not file.is_test and file.path not in SENDERS:
            pattern, lines = FETCHING_PROGRAM, strip_cxx(file.text, keep_strings=True).splitlines()
        elif file.path.startswith(SHIPPED_PYTHON) and file.name.endswith(".py"):
            pattern, lines = FETCHING_MODULE, file.lines
        else:
            continue
        for number, line in enumerate(lines, 1):
            match = pattern.search(line)
            if match:
                violations.append(Violation("download", file.path, number, f"fetches with {match.group(0).strip()}"))
    return violations
