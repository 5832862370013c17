#!/usr/bin/env python3
"""scripts/release: it passes a tree that can be released, and names what each other one lacks. On a small tree with a
repository of its own, which has the files that the script reads. scripts/same_bytes: likewise, with builds that only
write what a build could write of its surroundings. scripts/keep_release and try_packages: what they refuse."""

import pathlib
import re
import runpy
import shutil
import subprocess
import tempfile
import unittest

import kept_files
import program

ROOT = pathlib.Path(__file__).resolve().parents[2]
READ = ("CMakeLists.txt", "packaging/debian/libheddle0.1.install", "scripts/release",
        *runpy.run_path(str(ROOT / "scripts/release"))["NAMES"])
NOTES = "- **Transport**: messages over several paths, with losses repaired.\n" * 3


class Release(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-release-")
        self.addCleanup(held.cleanup)
        self.tree = pathlib.Path(held.name) / "tree"
        self.made = self.tree.parent / "dist"
        for name in READ:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        self.version = re.search(r"heddle VERSION (\d\S+)", self.read("CMakeLists.txt")).group(1)
        kept = self.tree / "tests/kept" / self.version
        kept.mkdir(parents=True)
        shutil.copy(kept_files.KEPT / self.version / "kept.json", kept)
        (kept / kept_files.PROGRAM).touch()
        self.git("init", "--quiet", ".")
        # Made ready for a release.
        (self.tree / "CHANGELOG.md").write_text(f"# Changelog\n\n## [{self.version}] - 2026-12-01\n\n{NOTES}",
                                                encoding="utf-8")
        self.commit()
        self.make_packages()

    def read(self, name):
        return (self.tree / name).read_text(encoding="utf-8")

    def edit(self, name, pattern, text):
        changed, count = re.subn(pattern, text, self.read(name), count=1)
        self.assertEqual(count, 1, pattern)
        (self.tree / name).write_text(changed, encoding="utf-8")

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words], cwd=self.tree,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a tree")

    def make_packages(self, version=None, revision=None):
        """What make packages makes of this commit, or of another one; without a revision: what has the bare number."""
        revision = self.git("rev-parse", "--short=12", "HEAD") if revision is None else revision
        debian = python = version or self.version
        if revision:
            debian, python = f"{debian}~git20261201000000.{revision}", f"{python}.dev20261201000000+g{revision}"
        shutil.rmtree(self.made, ignore_errors=True)
        self.made.mkdir()
        with_code = ("heddle", "libheddle0.1", "heddle-nccl", "heddle-torch")
        names = [f"{name}_{debian}_amd64.deb" for name in (*with_code, "heddle-agent", "libheddle-dev",
                                                           *(f"{name}-dbgsym" for name in with_code))]
        names += [f"heddle_torch-{python}-cp311-cp311-linux_x86_64.whl", f"heddle-{debian}-linux-x86_64.tar.xz",
                  f"heddle_{debian}.spdx.json"]
        for name in names:
            (self.made / name).write_text(name)
        sums = subprocess.run(["sha256sum", *names], cwd=self.made, capture_output=True, text=True, check=True).stdout
        (self.made / "SHA256SUMS").write_text(sums)

    def check(self, *words):
        return subprocess.run(["/usr/bin/python3", "-B", self.tree / "scripts/release", "--packages",
                               self.made, *words], env=program.environment(), capture_output=True,
                              text=True, timeout=200, check=False)

    def expect_refused(self, line):
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"(?m)^no   .*{line}")
        self.assertIn("cannot be released yet: 1 of 6 checks failed", done.stdout)

    def test_a_tree_that_is_ready_passes_and_gets_no_tag(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"git tag -a v{self.version}", done.stdout)
        self.assertEqual(self.git("tag"), "")
        self.assertEqual(self.check("--notes").stdout, NOTES)

    def test_what_is_missing_is_named(self):
        (self.tree / "new").touch()
        self.expect_refused("1 files are changed or new, as new: commit them")
        (self.tree / "new").unlink()
        self.git("tag", f"v{self.version}")
        self.expect_refused(f"there is a tag v{self.version} already")
        self.git("tag", "--delete", f"v{self.version}")
        self.make_packages(revision="000000000000")
        self.expect_refused("heddle in .* is heddle_.*, not .* of commit .*: make packages")
        self.make_packages(version="0.0.1")
        self.expect_refused("heddle in .* is heddle_0.0.1.*, not")
        self.make_packages(revision="")
        self.expect_refused("heddle in .* is heddle_.*, not .* of commit")

    def test_a_version_whose_program_is_not_kept_is_no_release(self):
        self.git("rm", "--quiet", f"tests/kept/{self.version}/{kept_files.PROGRAM}")
        self.commit()
        self.make_packages()
        self.expect_refused("tests/kept has no program of")

    def test_each_part_is_asked_for_and_is_the_one_that_was_made(self):
        """Three packages were looked at: a release without the wheel, or with a stale archive, passed."""
        self.make_packages()
        for part in sorted(self.made.iterdir()):
            if part.name == "SHA256SUMS":
                continue
            what = part.read_text()
            part.unlink()
            self.expect_refused("dist has no .*: make packages")
            (self.made / part.name.replace(self.version, "0.0.9")).write_text("")
            self.expect_refused(f"is .*0.0.9.*, not {self.version} of commit")
            part.write_text(what)
            self.expect_refused(f"is .*0.0.9.*, .*{self.version}.*, not {self.version} of commit")
            self.make_packages()
            part.write_text("other")
            self.expect_refused(f"{re.escape(part.name)} is not the file that .*SHA256SUMS names")
            part.write_text(what)
        self.assertEqual(self.check().returncode, 0)

    def test_a_file_that_the_sums_do_not_name_is_refused(self):
        """What lies beside the parts is published with them."""
        (self.made / "heddle-image_0.1.oci.tar").write_text("of another commit")
        self.expect_refused("heddle-image_0.1.oci.tar is not the file that .*SHA256SUMS names")

    def test_kept_facts_that_cannot_be_read_are_named(self):
        (self.tree / "tests/kept" / self.version / "kept.json").write_text("{", encoding="utf-8")
        self.commit()
        self.make_packages()
        self.expect_refused("kept.json cannot be read .*: scripts/keep_release")

    def test_a_tree_that_cannot_be_checked_is_not_one_that_failed(self):
        (self.tree / "CHANGELOG.md").write_text("# Changelog\n", encoding="utf-8")
        done = self.check("--notes")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        (self.tree / "SECURITY.md").unlink()
        done = self.check()
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("error: cannot check the release", done.stderr)

    def test_files_that_name_another_version_are_named(self):
        for name, pattern, text, line in (
                ("CHANGELOG.md", r" - 2026-12-01", "", "is not '## .* - YEAR-MONTH-DAY'"),
                ("CHANGELOG.md", r"## \[\d", "## [Unreleased]\n\nmore\n\n## [0", "still has text below .Unreleased"),
                ("packaging/debian/control", r"libheddle\d\.\d \(", "libheddle7.7 (", "control do not"),
                ("packaging/kubernetes/agent.yaml", r"heddle:0\.1", "heddle:7.7", "agent.yaml do not name 0.1"),
                ("packaging/ansible/roles/heddle/defaults/main.yml", r"libheddle0\.1", "libheddle7.7", "main.yml do "),
                ("docs/reference/compatibility.md", r"\| plans \| \d", "| plans | 77", "version . of plans, which"),
                ("README.md", "^", "heddle is unreleased. ", "README.md still says 'unreleased'"),
                ("SECURITY.md", "^", "Releases: there are none yet. ", "SECURITY.md still says 'there are none yet'"),
                ("SECURITY.md", r"\| 0\.1 \|", "| 7.7 |", "SECURITY.md do not name 0.1"),
                ("README.md", r"version 0\.1", "version 7.7", "README.md do not name 0.1"),
                ("docs/reference/compatibility.md", "of heddle 0.1", "of heddle 7.7", "compatibility.md do not name"),
                ("docs/reference/compatibility.md", "^", "heddle is unreleased. ", "still says")):
            self.edit(name, pattern, text)
            self.commit()
            self.make_packages()
            self.expect_refused(line)
            self.git("reset", "--quiet", "--hard", "HEAD^")


class KeepRelease(unittest.TestCase):
    def test_what_is_no_program_of_heddle_is_refused_at_once(self):
        """Another name was taken, and the heddle found by PATH was kept."""
        for words, status, line in ((("/bin/true",), 1, "is no program with the name heddle"),
                                    (("/nowhere/heddle",), 1, "is no program with the name heddle"),
                                    (("--nothing",), 2, "usage: keep_release")):
            done = subprocess.run(["/usr/bin/python3", "-B", ROOT / "scripts/keep_release", *words],
                                  env=program.environment(), capture_output=True, text=True, timeout=200, check=False)
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertIn(line, done.stderr)


class TryPackages(unittest.TestCase):
    def test_arguments_with_which_nothing_can_be_tried_are_refused(self):
        """Without both the archive and all else it said that they work."""
        for words, line in ((("--only-archive", "--without-archive"), "usage: "), (("--apart",), "usage: "),
                            (("--root",), "--root '' is no folder"), (("--before", "/nowhere"), "is no folder")):
            done = subprocess.run([ROOT / "scripts/try_packages", *words], env=program.environment(),
                                  capture_output=True, text=True, timeout=200, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(line, done.stderr)


class UpToTheArchive(unittest.TestCase):
    """scripts/packages up to the archive, whose maker keeps the version that it is given."""

    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="heddle-version-")
        self.addCleanup(held.cleanup)
        self.tree = pathlib.Path(held.name) / "tree"
        self.put("scripts/packages", (ROOT / "scripts/packages").read_text(encoding="utf-8"))
        self.put("packaging/archive", '#!/bin/sh\necho "$2" >"$3/../version"\nexit 1\n')
        self.put(".gitignore", "/build/\n")
        for tool in ("dh", "dpkg-buildpackage", "dh_python3", "patchelf", "lintian"):
            self.put(f"../tools/{tool}", "#!/bin/sh\n")
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "a tree")):
            self.git(*words)
        self.head = self.git("rev-parse", "--short=12", "HEAD")

    def put(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words], cwd=self.tree,
                              capture_output=True, text=True, check=True).stdout.strip()

    def make_packages(self, revision, *options):
        self.put("build/release/bin/heddle", f'#!/bin/sh\necho "heddle 0.1.0 ({revision}, release)"\n')
        tools = f"{self.tree.parent / 'tools'}:/usr/bin:/bin"
        return subprocess.run([self.tree / "scripts/packages", "--from", "build/release", *options], timeout=200,
                              env={"PATH": tools}, capture_output=True, text=True, check=False)

    def version_of(self, revision):
        """The version of packages of a build of this revision."""
        self.make_packages(revision)
        return (self.tree / "build/version").read_text().strip()

    def test_a_build_of_another_commit_or_with_changes_is_no_release(self):
        """It had the release's number wherever the tree was at the tag, whichever commit the build was of."""
        self.assertRegex(self.version_of(self.head), rf"^0\.1\.0~git\d{{14}}\.{self.head}$")
        self.git("tag", "another")
        self.git("tag", "v0.1.0")
        self.assertEqual(self.version_of(self.head), "0.1.0")
        self.assertRegex(self.version_of(f"{self.head}+changes"), rf"^0\.1\.0~git\d{{14}}\.{self.head}\+changes$")
        self.put("CHANGELOG.md", "# Changelog\n")
        self.assertRegex(self.version_of("0123456789ab"), r"^0\.1\.0~git\d{14}\.0123456789ab$")

    def test_an_archive_whose_parts_cannot_be_listed_is_refused(self):
        """The SBOM said that this system's libraries are inside, and nothing of those that are."""
        self.put("packaging/archive", "#!/bin/sh\n")
        done = self.make_packages(self.head, "--archive-from", "build/release")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"error: cannot list what is inside the archive of build/release\n"
                                      r"  why: there is no build/sysroot/\w+-bullseye/versions\n")

    def test_packages_that_nothing_checks_are_refused_before_they_are_built(self):
        """Without lintian they were made unchecked, and nothing was said."""
        tools = self.tree.parent / "tools"
        for name in ("dirname", "nproc"):
            (tools / name).symlink_to(shutil.which(name))
        (tools / "lintian").unlink()
        for options, why in (((), "there is no lintian"), (("--fast",), "it has no bin/heddle")):
            done = subprocess.run(["/bin/bash", self.tree / "scripts/packages", "--from", "build", *options],
                                  env={"PATH": str(tools)}, capture_output=True, text=True, timeout=200, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"\n  why: {why}\n", done.stderr)


class SameBytes(unittest.TestCase):
    def compared(self, content):
        """What scripts/same_bytes finds where a build of packages writes `content`, which a shell expands."""
        held = tempfile.TemporaryDirectory(prefix="heddle-same-")
        self.addCleanup(held.cleanup)
        tree = pathlib.Path(held.name)
        (tree / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/same_bytes", tree / "scripts")
        (tree / "scripts/packages").write_text(
            f'#!/bin/sh\ncd "$(dirname "$0")/.." && mkdir -p build/dist && cd build/dist\necho {content} >one.deb\n'
            'echo 1 >two.deb\necho "$PWD" >h.buildinfo\nsha256sum one.deb two.deb h.buildinfo >SHA256SUMS\n')
        (tree / "scripts/packages").chmod(0o755)
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "a tree")):
            subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words], cwd=tree, check=True)
        return tree, subprocess.run([tree / "scripts/same_bytes", "--jobs", "3"], capture_output=True, text=True,
                                    env=program.environment(), timeout=200, check=False)

    def test_builds_that_write_the_same_are_the_same(self):
        tree, done = self.compared("same")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the same: all files of two builds", done.stdout)
        self.assertFalse((tree / "build/same_bytes").exists())

    def test_builds_that_list_no_files_could_not_be_compared(self):
        """Two lists without a line were the same."""
        tree, done = self.compared("same; exit 0 #")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("it has no SHA256SUMS", done.stderr)
        self.assertFalse((tree / "build/same_bytes").exists())

    def test_wrong_arguments_are_no_difference(self):
        """A missing value ended with 1, as where files differ."""
        for words in (("--commit",), ("--folder", ""), ("--jobs",), ("--jobs", "0"), ("--jobs", "a[0]"), ("--other",)):
            done = subprocess.run([ROOT / "scripts/same_bytes", *words], capture_output=True, text=True,
                                  env=program.environment(), timeout=200, check=False)
            self.assertEqual(done.returncode, 2, (words, done.stdout, done.stderr))
            self.assertRegex(done.stderr, r"^(usage|error): ")

    def test_what_a_build_takes_from_its_surroundings_is_found(self):
        for content in ("$PWD", "$(umask)", '"$*"', "$TZ", "$CCACHE_DISABLE"):
            tree, done = self.compared(content)
            self.assertEqual(done.returncode, 1, (content, done.stdout, done.stderr))
            self.assertIn("differs: one.deb\n", done.stdout)
            self.assertNotIn("two.deb", done.stdout)
            self.assertTrue((tree / "build/same_bytes/one/heddle/build/dist/one.deb").exists())


if __name__ == "__main__":
    unittest.main()
