"""Writes onnx_operators.inc: the operators of the installed onnx package, with
the numbers of inputs and outputs and the types of attributes.

    build/venv/bin/python tests/fuzz/write_operators.py
"""

import pathlib

from onnx import defs

LETTERS = {
    "FLOAT": "f",
    "INT": "i",
    "STRING": "s",
    "SPARSE_TENSOR": "T",
    "TENSOR": "t",
    "GRAPH": "g",
    "FLOATS": "F",
    "INTS": "I",
    "STRINGS": "S",
}
DOMAINS = {"", "ai.onnx.preview", "ai.onnx.preview.training"}
OTHERS = [
    '{"Tokenizer", "com.microsoft", 1, 1, 1, 1, '
    '"mark:i mincharnum:i pad_value:s separators:S tokenexp:s"},\n'
]
MOST = 8  # inputs or outputs if any number is allowed


def attributes(op):
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.name != op.name or schema.domain != op.domain:
            continue
        for name, attribute in schema.attributes.items():
            letter = LETTERS.get(attribute.type.name)
            if letter is not None:
                found[name] = letter
    return " ".join(
        f"{name}:{letter}" for name, letter in sorted(found.items())
    )


def main():
    rows = list(OTHERS)
    for op in defs.get_all_schemas():
        if op.domain not in DOMAINS:
            continue
        counts = (op.min_input, op.max_input, op.min_output, op.max_output)
        counts = ", ".join(str(min(count, MOST)) for count in counts)
        rows.append(
            f'{{"{op.name}", "{op.domain}", {counts}, "{attributes(op)}"}},\n'
        )
    path = pathlib.Path(__file__).with_name("onnx_operators.inc")
    header = "// Written by write_operators.py.\n"
    path.write_text(header + "".join(sorted(rows)))


if __name__ == "__main__":
    main()
