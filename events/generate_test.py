"""Invalid schemas are rejected with the place of the error, and the output follows the schema."""

import copy
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import generate  # noqa: E402: in this folder

SMALL = {
    "schema_version": 1,
    "enum": [{"name": "DropReason", "doc": "Why.", "values": [["bad_length", "too short"]]}],
    "event": [{
        "name": "segment_dropped", "doc": "Dropped.", "emitter": "transport", "cost": "rare",
        "fields": [["connection", "u32", "-", "its id"], ["reason", "DropReason", "-", "why"],
                   ["rtt", "nanos", "ns", "round trip"], ["window_bytes", "u64", "bytes", "window"]],
    }],
}


def broken(change):
    """The error message for the small schema after `change`."""
    schema = copy.deepcopy(SMALL)
    change(schema)
    try:
        generate.check_schema(schema)
    except generate.SchemaError as error:
        return str(error)
    return "no error"


def add_field(*row):
    return lambda schema: schema["event"][0]["fields"].append(list(row))


class SchemaTest(unittest.TestCase):
    def test_valid_schemas_pass(self):
        self.assertEqual(broken(lambda schema: None), "no error")
        generate.load()

    def test_invalid_rows_are_rejected(self):
        self.assertIn("unknown type 'u33'", broken(add_field("x", "u33", "-", "doc")))
        self.assertIn("there twice", broken(add_field("reason", "u32", "-", "doc")))
        self.assertIn("not snake_case", broken(add_field("Reason", "u32", "-", "doc")))
        self.assertIn("not empty", broken(add_field("x", "u32", "-", "")))
        self.assertIn("4 texts", broken(add_field("x", "u32", "-")))
        self.assertIn("without being listed", broken(add_field("time", "nanos", "ns", "doc")))

    def test_a_field_name_must_end_in_its_unit(self):
        self.assertIn("must end in bytes", broken(add_field("size", "u64", "bytes", "doc")))
        self.assertIn("must end in bits_per_s", broken(add_field("rate", "u64", "bits/s", "doc")))
        self.assertIn("unit of nanos", broken(add_field("age", "nanos", "us", "doc")))

    def test_invalid_tables_are_rejected(self):
        def unknown_key(schema):
            schema["event"][0]["colour"] = "red"

        def missing_key(schema):
            del schema["event"][0]["cost"]

        def same_type_twice(schema):
            schema["enum"][0]["name"] = "SegmentDropped"
            schema["event"][0]["fields"].pop(1)

        self.assertIn("unknown key colour", broken(unknown_key))
        self.assertIn("missing key cost", broken(missing_key))
        self.assertIn("two types are called SegmentDropped", broken(same_type_twice))


class MadeTest(unittest.TestCase):
    def test_the_header_has_types_and_visitors(self):
        header = generate.make_header(SMALL)
        for part in ("enum class DropReason : uint8_t {\n  kBadLength,  // too short\n};",
                     "struct SegmentDropped {", "  DropReason reason{};  // why", "  Nanos rtt{};",
                     'visit(std::string_view("rtt_ns"), event.rtt);',
                     "virtual void on(const SegmentDropped&) {}"):
            self.assertIn(part, header)

    def test_the_page_lists_fields_with_types_and_units(self):
        page = generate.make_docs(SMALL)
        self.assertIn("| `rtt_ns` | `nanos` | ns | round trip |", page)
        self.assertIn("| `reason` | [DropReason](#dropreason) | - | why |", page)

    def test_an_outdated_page_is_reported_and_a_current_one_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "events.md"
            self.assertEqual(generate.main(["--check-docs", str(page)]), 1)
            self.assertEqual(generate.main(["--docs", str(page)]), 0)
            self.assertEqual(generate.main(["--check-docs", str(page)]), 0)
            before = page.stat().st_mtime_ns
            generate.main(["--docs", str(page)])
            self.assertEqual(page.stat().st_mtime_ns, before)
            page.write_text(page.read_text() + "more\n")
            self.assertEqual(generate.main(["--check-docs", str(page)]), 1)


if __name__ == "__main__":
    unittest.main(buffer=True)
