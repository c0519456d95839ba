"""Small model files as Wapiti and CRF++ write them."""

import struct

import numpy as np

WAPITI = """#mdl#2#6
#rdr#3/1/0
9:u:%x[0,0],
1:b,
9:*:%x[0,1],
#qrk#2
1:N,
1:V,
#qrk#3
3:u:a,
1:b,
4:*:é,
0=0x1.8p+0
3=-0x1p-2
4=0x0p+0
7=0x1.999999999999ap-4
9=0x1p+1
11=-0x1p+3
"""


CRFPP = """version: 100
cost-factor: 0.5
maxid: 6
xsize: 2

N
V

U:%x[0,0]
B

0 B
4 U:a

0.0000000000000000
-1.5000000000000000
0.2500000000000000
0.0000000000000000
2.0000000000000000
0.0000000000000000
"""


def wapiti_of_bytes(line):
    """A model of one line with the attributes И, a letter of two bytes, and 0x99, the last byte of Й."""
    length = str(len(line)).encode()
    return (
        b"#mdl#2#3\n#rdr#1/1/0\n" + length + b":" + line + b",\n#qrk#2\n1:N,\n1:V,\n"
        b"#qrk#2\n4:u:\xd0\x98,\n3:u:\x99,\n0=0x1p+0\n2=-0x1p+0\n3=0x1p+0\n"
    )


def double_array(entries):
    """A trie as CRF++ keeps it: bytes of pairs (base, check). `entries`: numbers by name."""
    base, check = {0: 1}, {}
    free = 2

    def place(prefix, b):
        nonlocal free
        for name in (n for n in entries if n == prefix):
            base[b], check[b] = -entries[name] - 1, b
        codes = sorted({name[len(prefix)] for name in entries if name.startswith(prefix) and name != prefix})
        for c in codes:
            check[b + c + 1] = b
        for c in codes:
            base[b + c + 1] = free = free + 300  # children of different nodes never meet
            place(prefix + bytes([c]), free)

    free = 1
    place(b"", 1)
    units = [(base.get(p, 0), check.get(p, 0)) for p in range(free + 300)]
    return b"".join(struct.pack("<iI", *unit) for unit in units)


def crfpp_binary(cost_factor=0.5, entries=None, w=(0, -1.5, 0.25, 0, 2, 0), labels=b"N\0V\0", **wrong):
    """The model of CRFPP: U:é has the weights 4, 5; B 0-3."""
    lines = b"U:%x[0,0]\0B\0"
    lines += bytes(-(len(labels) + len(lines)) % 4)
    trie = wrong.get("trie") or double_array(entries or {b"B": 0, "U:é".encode(): 4})
    header = struct.pack("<IidIII", 100, 0, cost_factor, wrong.get("maxid", len(w)), 2, len(trie))
    strings = b"".join(struct.pack("<I", len(text)) + text for text in (labels, lines))
    return header + strings + trie + np.array(w, dtype="<f4").tobytes()
