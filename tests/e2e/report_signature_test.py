#!/usr/bin/env python3
"""heddle verify check-signature and --sign: what it reports of one that was signed, changed, or signed by another.

Signatures are also made and checked by the openssl program and sha256sum, as a customer does it without heddle."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import json_reference_test
import program


def openssl(*words):
    return subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)


@unittest.skipUnless(shutil.which("openssl"), "there is no program openssl")
class Signature(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rp")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        for name in ("one", "two"):
            openssl("genpkey", "-algorithm", "ed25519", "-out", self.place / f"{name}.key")
            openssl("pkey", "-in", self.place / f"{name}.key", "-pubout", "-out", self.place / f"{name}.pub")
        self.report = self.place / "report"

    def sign_by_hand(self):
        """As anyone can without heddle: the files of a report, their sums, and the signature."""
        self.report.mkdir()
        (self.report / "report.html").write_text("<p>passed</p>", encoding="utf-8")
        sums = subprocess.run("sha256sum report.html > SHA256SUMS", shell=True, cwd=self.report, check=False)
        self.assertEqual(sums.returncode, 0)
        done = openssl("pkeyutl", "-sign", "-inkey", self.place / "one.key", "-rawin", "-in",
                       self.report / "SHA256SUMS", "-out", self.report / "SHA256SUMS.sig")
        self.assertEqual(done.returncode, 0, done.stderr)

    def check(self, *words, key="one.pub"):
        return program.run("verify", "check-signature", self.report, "--key", self.place / key, *words)

    def test_a_signature_of_openssl_is_good_and_changes_are_named(self):
        self.sign_by_hand()
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("every file is as it was signed", done.stdout)
        (self.report / "report.html").write_text("<p>Passed</p>", encoding="utf-8")
        (self.report / "more").write_text("", encoding="utf-8")
        done = self.check("--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["good"], found["changed"], found["added"], found["missing"]),
                         (False, ["report.html"], ["more"], []))
        known = json_reference_test.listed("heddle verify check-signature")
        self.assertEqual([field for field in sorted(json_reference_test.fields(found))
                          if not any(each.fullmatch(field) for each in known)], [])
        (self.report / "report.html").unlink()
        self.assertIn("missing  report.html", self.check().stdout)

    def test_other_keys_and_no_signature_have_a_clear_answer(self):
        self.sign_by_hand()
        done = self.check(key="two.pub")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no signature by the key", done.stdout)
        (self.report / "SHA256SUMS.sig").unlink()
        for key, answer in (("one.pub", "it was not signed"), ("one.key", "it is a private key"), ("none", "none")):
            done = self.check(key=key)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(answer, done.stderr)

    def test_links_and_odd_names_are_listed_and_printed_without_control_characters(self):
        self.sign_by_hand()
        (self.report / "more").symlink_to("/etc/passwd")
        (self.report / "a\x1b[2J\u202efdp.exe").write_text("", encoding="utf-8")
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("added    more", done.stdout)
        self.assertIn("added    a?[2J???fdp.exe", done.stdout)
        self.assertEqual(json.loads(self.check("--json").stdout)["added"], ["a\x1b[2J\u202efdp.exe", "more"])

    def test_a_pipe_in_place_of_the_manifest_and_an_empty_name_are_refused_at_once(self):
        self.sign_by_hand()
        (self.report / "SHA256SUMS").unlink()
        os.mkfifo(self.report / "SHA256SUMS")
        done = self.check()
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("it is no file", done.stderr)
        done = program.run("verify", "check-signature", "", "--key", self.place / "one.pub")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("name is empty", done.stderr)

    def test_a_folder_that_cannot_be_signed_is_refused_before_anything_is_measured(self):
        self.report.mkdir()
        (self.report / "more").symlink_to("/etc/passwd")
        for words, answer in ((("--quick", "--report", self.report), "the folder is not empty"),
                              (("report", self.report), "a signature covers files alone")):
            done = program.run("verify", *words, "--sign", self.place / "one.key")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(answer, done.stderr)
        (self.report / "more").unlink()
        inside = shutil.copy(self.place / "one.key", self.report)
        (self.place / "link.key").symlink_to(inside)
        for words, answer in ((("--report", self.report), "the folder is not empty"),
                              (("report", self.report), "it is in the folder of the report")):
            for key in (inside, self.place / "link.key"):
                done = program.run("verify", *words, "--sign", key)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertIn(answer, done.stderr)
        self.assertEqual([path.name for path in self.report.iterdir()], ["one.key"])

    def test_a_report_that_cannot_be_signed_in_the_end_keeps_its_verdict_and_says_how_to_sign_it(self):
        words = [program.HEDDLE, "verify", "--quick", "--stage", "inventory", "--stage", "reach", "--report",
                 self.report, "--sign", self.place / "one.key"]
        with subprocess.Popen(words, env=program.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            while not (self.report / "report.json").exists() and run.poll() is None:
                time.sleep(0.01)
            if (self.report / "report.json").exists():  # after its first stage
                (self.report / "more").symlink_to("/etc/passwd")
            shown, errors = run.communicate(timeout=120)
        if run.returncode == 2 and "network namespaces" in errors:
            self.skipTest(errors)
        self.assertEqual(run.returncode, 2, errors)
        self.assertIn("PASS: 2 of 2 stages passed", shown)
        self.assertIn(f"report: {self.report}/report.html", shown)
        self.assertIn("the report is complete; sign it with `heddle verify report", errors)
        (self.report / "more").unlink()
        done = program.run("verify", "report", self.report, "--sign", self.place / "one.key")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.check().returncode, 0)
        self.assertEqual(list(self.report.glob("*.part")), [])

    def test_keys_are_refused_before_anything_is_measured(self):
        locked = self.place / "locked.key"
        openssl("pkey", "-in", self.place / "one.key", "-aes256", "-passout", "pass:secret", "-out", locked)
        for words, answer in ((("--report", self.report, "--sign", locked), "it has a passphrase"),
                              (("--report", self.report, "--sign", self.place / "one.pub"), "it is a public key"),
                              (("--sign", self.place / "one.key"), "give --report FOLDER")):
            done = program.run("verify", "--quick", *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(answer, done.stderr)
            self.assertFalse(self.report.exists())

    def test_openssl_and_sha256sum_accept_a_signed_report(self):
        done = program.run("verify", "--quick", "--stage", "inventory", "--report", self.report, "--sign",
                           self.place / "one.key", timeout=120)
        if done.returncode == 2 and "network namespaces" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        by_hand = openssl("pkeyutl", "-verify", "-pubin", "-inkey", self.place / "one.pub", "-rawin", "-in",
                          self.report / "SHA256SUMS", "-sigfile", self.report / "SHA256SUMS.sig")
        self.assertEqual(by_hand.returncode, 0, by_hand.stderr)
        sums = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=self.report, capture_output=True,
                              text=True, check=False)
        self.assertEqual(sums.returncode, 0, sums.stdout + sums.stderr)
        self.assertIn("report.html: OK", sums.stdout)
        self.assertEqual(self.check().returncode, 0)
        done = self.check(key="two.pub")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("but by another one", done.stdout)


if __name__ == "__main__":
    unittest.main()
