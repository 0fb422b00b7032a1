"""Parquet files that are wrong, or large, in ways that weft's own writer cannot make: what parquet_probe says of them."""
import base64
import pathlib
import struct
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

MEBIBYTE = 1 << 20


class Probe:
    def __init__(self, scratch, program):
        self.program, self.file, self.output = program, f"{scratch}/wrong.parquet", f"{scratch}/wrong-output"

    def run(self, kind, *arguments):
        return subprocess.run([self.program, "--input", self.file, "--output", self.output, "--quiet", "--overwrite", "--kind", kind, *arguments],
                              capture_output=True, text=True, timeout=120)

    def refused(self, name, words, kind="numbers"):
        """In one line that names the file, and nothing is published."""
        done = self.run(kind, "--max-attempts", "1")
        lines = done.stderr.strip().splitlines()
        if done.returncode != 1 or len(lines) != 1 or self.file not in lines[0] or not any(word in lines[0] for word in words):
            sys.exit(f"{name}: weft ends with {done.returncode} and says {done.stderr}")
        if pathlib.Path(self.output).exists():
            sys.exit(f"{name}: there is an output")
        print(f"passed: {name}: {lines[0].replace(self.file, 'FILE')}")

    def sum(self, name, expected, *arguments):
        done = self.run("numbers", *arguments)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr}")
        found = "".join(part.read_text() for part in sorted(pathlib.Path(self.output).glob("part-*"))).strip()
        if found != str(expected):
            sys.exit(f"{name}: weft has the sum {found}, not {expected}")
        subprocess.run(["rm", "-r", self.output], check=True)
        print(f"passed: {name}")


def patched(path, before, after):
    """Replaces bytes of the file's footer: what the file says of its columns."""
    content = pathlib.Path(path).read_bytes()
    length = struct.unpack("<I", content[-8:-4])[0]
    begin = len(content) - 8 - length
    if before not in content[begin:]:
        sys.exit(f"the file does not have {before!r}")
    pathlib.Path(path).write_bytes(content[:begin] + content[begin:].replace(before, after))


def check_codecs(probe):
    """In the footer: the path of the column, then the codec, zigzag."""
    for name, number in (("LZO", 3), ("of a number that nobody has", 21)):
        pq.write_table(pa.table({"x": pa.array(range(1000), pa.int64())}), probe.file, compression="none")
        patched(probe.file, b"\x19\x18\x01x\x15\x00", b"\x19\x18\x01x\x15" + bytes([2 * number]))
        probe.refused(f"a codec {name}", ["codec", "ompression", "LZO"])


def check_encrypted_columns(probe):
    """The footer is plain, so that the file ends like any other."""
    import pyarrow.parquet.encryption as pe

    class Keys(pe.KmsClient):
        def __init__(self, _):
            pe.KmsClient.__init__(self)

        def wrap_key(self, key, name):
            return base64.b64encode(name.encode() + b":" + key)

        def unwrap_key(self, wrapped, name):
            return base64.b64decode(wrapped)[len(name) + 1:]
    for plain_footer in (True, False):
        factory = pe.CryptoFactory(Keys)
        how = pe.EncryptionConfiguration(footer_key="footer", column_keys={"column": ["x"]}, plaintext_footer=plain_footer)
        with pq.ParquetWriter(probe.file, pa.schema([("x", pa.int64())]),
                              encryption_properties=factory.file_encryption_properties(pe.KmsConnectionConfig(), how)) as writer:
            writer.write_table(pa.table({"x": pa.array(range(1000), pa.int64())}))
        probe.refused("encrypted columns" if plain_footer else "an encrypted footer", ["file is encrypted", "has encrypted columns"])


def check_nan_statistics(probe):
    """Least and greatest are NaN, as old writers have left them: they exclude nothing."""
    for which in ((1.5,), (2.5,), (1.5, 2.5)):
        pq.write_table(pa.table({"x": [1, 2, 3, 4], "real": [1.5, 2.5, 1.5, 2.5]}), probe.file, compression="none", use_dictionary=False,
                       write_page_index=False)
        for value in which:
            patched(probe.file, struct.pack("<d", value), struct.pack("<d", float("nan")))
        probe.sum(f"NaN in place of {which} as the least or greatest", 6, "--real", "2")
    # Signed zeros are equal; a filter's least value may be the other one.
    pq.write_table(pa.table({"x": [1, 2], "real": [0.0, -0.0]}), probe.file)
    probe.sum("both zeros", 3, "--real", "0")


def check_decimal_statistics(probe):
    """The row groups in the middle are damaged: who reads one fails."""
    import decimal
    for name, as_number in (("bytes", False), ("numbers", True)):
        values = pa.array([decimal.Decimal(i - 500) / 100 for i in range(1000)], pa.decimal128(12, 2))
        pq.write_table(pa.table({"x": pa.array(range(1000), pa.int64()), "real": values}), probe.file, row_group_size=100, compression="none",
                       store_decimal_as_integer=as_number, use_dictionary=False)
        metadata = pq.ParquetFile(probe.file).metadata
        first, last = (metadata.row_group(group).column(0).data_page_offset for group in (1, 9))
        content = bytearray(pathlib.Path(probe.file).read_bytes())
        content[first:last] = b"\xff" * (last - first)
        pathlib.Path(probe.file).write_bytes(content)
        probe.refused(f"damage between decimals as {name}", ["header", "read", "Thrift", "thrift"])
        probe.sum(f"row groups that statistics of decimals as {name} exclude", sum(range(950, 1000)), "--real", "4.5")


def check_many_columns(probe):
    columns = {f"c{i}": pa.array([i, 2 * i], pa.int32()) for i in range(10_000)}
    columns["x"] = pa.array([20, 22], pa.int64())
    pq.write_table(pa.table(columns), probe.file)
    probe.sum("10,001 columns", 42)
    del columns["x"]
    pq.write_table(pa.table(columns), probe.file)
    probe.refused("no such column among 10,000", ["there is no column 'x' among 'c0', 'c1'"])


def check_large_row_group(probe):
    """One row group of 400 MB in a budget of 48 MiB."""
    rows, batch = 4_000_000, 100_000
    with pq.ParquetWriter(probe.file, pa.schema([("x", pa.int64()), ("text", pa.string())]), compression="none", use_dictionary=False) as writer:
        numbers = range(rows)
        table = pa.table({"x": pa.array(numbers, pa.int64()), "text": pa.array([f"{i:092}" for i in range(batch)] * (rows // batch))})
        writer.write_table(table, row_group_size=rows)
        del table
    if pq.ParquetFile(probe.file).metadata.num_row_groups != 1:
        sys.exit("pyarrow has made more than one row group")
    child = ("import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)")
    done = subprocess.run([sys.executable, "-c", child, probe.program, "--input", probe.file, "--output", probe.output, "--quiet", "--kind", "texts of numbers",
                           "--memory", "48MiB"], capture_output=True, text=True)
    most = int(done.stdout.split()[-1]) * 1024
    if done.returncode != 0 or most > 200 * MEBIBYTE:
        sys.exit(f"a row group larger than memory: {done.returncode}, {most >> 20} MiB, {done.stderr}")
    print(f"passed: a row group of {pathlib.Path(probe.file).stat().st_size >> 20} MiB, in {most >> 20} MiB")
    subprocess.run(["rm", "-r", probe.output], check=True)


def check_all(scratch, program):
    probe = Probe(scratch, program)
    check_codecs(probe)
    check_encrypted_columns(probe)
    check_nan_statistics(probe)
    check_decimal_statistics(probe)
    check_many_columns(probe)
    check_large_row_group(probe)
    pathlib.Path(probe.file).unlink()
