"""What tests/kept has of a release: files that its program wrote, and what it read from them as JSON."""

import contextlib
import json
import lzma
import pathlib
import subprocess
import tarfile
import tempfile

import program

KEPT = pathlib.Path(__file__).resolve().parents[1] / "kept"
PROGRAM = "program.xz"  # of the release, without symbols
# With the jumps of x86 made absolute, code takes a tenth less. Other processors read it, too.
PROGRAM_FILTERS = ({"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME})
# Commands that read a kept file and print facts of it. Later programs may print more; these fields they keep.
READERS = {"record info": ("record", "info", "recording", "--json"), "matrix": ("matrix", "recording", "--json"),
           "diagnose": ("diagnose", "recording", "--json"), "size": ("size", "size.toml", "--json"),
           "key show": ("key", "show", "keys", "--json"),
           "config show": ("config", "show", "--config", "heddle.toml", "--json"),
           "sim": ("sim", "--topology", "fabric.toml", "--workload", "job.toml", "--plan", "plan.json", "--json")}
# Those whose values are facts of the file; of the others a later version may find other values, in the same fields.
FACTS = ("record info", "key show")


def numbers_of(version):
    return tuple(int(number) for number in version.split("."))


def versions():
    """From the oldest on."""
    kept = [path.name for path in KEPT.iterdir() if path.is_dir()] if KEPT.is_dir() else []
    return sorted(kept, key=numbers_of)


def release_before(version):
    """The last release that is kept; before there is one, this very version as it was kept."""
    earlier = [each for each in versions() if numbers_of(each) < numbers_of(version)]
    return earlier[-1] if earlier else version


def facts(version):
    """The numbers of a version's formats."""
    return json.loads((KEPT / version / "kept.json").read_text(encoding="utf-8"))


def unpack_program(version, folder):
    """The program of a version in a folder, and why it does not start on this machine, or an empty text."""
    path = pathlib.Path(folder) / "heddle"
    path.write_bytes(lzma.decompress((KEPT / version / PROGRAM).read_bytes()))
    path.chmod(0o755)
    try:
        done = subprocess.run([path, "--version"], env=program.environment(), capture_output=True, text=True,
                              timeout=program.PATIENCE_S, check=False)
    except OSError as failure:  # of another processor
        return path, str(failure)
    return path, "" if done.returncode == 0 else done.stderr.strip()


@contextlib.contextmanager
def opened(version):
    """A folder with the files of a version, for as long as it is entered."""
    with tempfile.TemporaryDirectory(prefix="heddle-kept-") as folder:
        yield unpack(version, pathlib.Path(folder))


def unpack(version, folder):
    for path in (KEPT / version).iterdir():
        if path.name == PROGRAM:
            continue
        if path.name.endswith(".tar.xz"):
            with tarfile.open(path) as archive:
                archive.extractall(folder)
        else:
            (folder / path.name).write_bytes(path.read_bytes())
    (folder / "keys").chmod(0o600)  # which git does not keep
    return folder


def said(folder):
    """What the program under test reads from the files, a reader each."""
    found = {}
    for name, words in READERS.items():
        done = program.run(*words, cwd=folder)
        if done.returncode not in (0, 1):
            raise AssertionError(f"heddle {name} ended with {done.returncode}: {done.stderr}")
        found[name] = json.loads(done.stdout)
    return found


def differences(old, new, place="", values=True):
    """What a newer document lacks of an older one: fields, and with `values` their values too."""
    if isinstance(old, dict) and isinstance(new, dict):
        lacking = [f"{place}.{name} is gone" for name in old if name not in new]
        return lacking + [each for name in old if name in new
                          for each in differences(old[name], new[name], f"{place}.{name}", values)]
    if isinstance(old, list) and isinstance(new, list):
        if not values and old and all(isinstance(each, dict) and "name" in each for each in old + new):
            old, new = ({each["name"]: each for each in entries} for entries in (old, new))
            return differences(old, new, place, values)
        if values and len(old) != len(new):
            return [f"{place} has {len(new)} entries instead of {len(old)}"]
        return [each for number, pair in enumerate(zip(old, new))
                for each in differences(*pair, f"{place}[{number}]", values)]
    if values:
        return [] if old == new else [f"{place} is {new!r} instead of {old!r}"]
    numbers = isinstance(old, (int, float)) and isinstance(new, (int, float))
    alike = numbers or isinstance(new, type(old)) or old is None or new is None
    return [] if alike else [f"{place} is {new!r}, of another type than {old!r}"]
