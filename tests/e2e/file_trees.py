"""Trees of files for tests of copies: one with all that a copy must carry, and the comparison of two."""

import filecmp
import os
import time

import program


def write_tree(folder):
    """Large, small and empty files, links, a folder without write permission, a name that is no text."""
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/large").write_bytes(os.urandom(5_000_001))
    (folder / "empty").write_bytes(b"")
    for i in range(300):
        (folder / f"deep/{i}").write_bytes(os.urandom(i * 7))
    os.symlink("er/large", folder / "deep/link")
    with open(os.fsencode(folder) + b"/a\nb\xff", "wb") as file:
        file.write(b"odd")
    os.chmod(folder / "empty", 0o640)
    os.utime(folder / "deep/er", ns=(1, 1_234_567_890_123_456_789))


def expect_same(test, left, right):
    """Fails the test where names or contents differ."""
    compared = filecmp.dircmp(left, right, hide=[], ignore=[])
    test.assertEqual((compared.left_only, compared.right_only, compared.funny_files), ([], [], []))
    _, differ, wrong = filecmp.cmpfiles(compared.left, compared.right, compared.common_files, shallow=False)
    test.assertEqual((differ, wrong), ([], []))
    for name in compared.common_dirs:
        expect_same(test, os.path.join(compared.left, name), os.path.join(compared.right, name))


def wait_for_part(test, folder, least=20_000_000):
    """The incomplete file "large" of a copy into this folder, once it has that size."""
    part = folder / ".large.heddle-part"
    until = time.monotonic() + program.PATIENCE_S
    while not part.exists() or part.stat().st_size < least:
        test.assertLess(time.monotonic(), until, "no incomplete file")
        time.sleep(0.005)
    return part
