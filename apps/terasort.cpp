// Sorts 100-byte records by their 10-byte key: the TeraSort benchmark.
//
//   terasort gen --records 10000000 --output unsorted
//   terasort sort --input unsorted --output sorted
//   terasort validate --input sorted
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <weft/weft.h>

namespace {

constexpr std::size_t kRecordBytes = 100;
constexpr std::size_t kKeyBytes = 10;
using Record = std::array<char, kRecordBytes>;

/// A lambda, because calls through a pointer to a function are not inlined.
constexpr auto key_of = [](std::string_view record) { return record.substr(0, kKeyBytes); };

// ---- gen ----------------------------------------------------------------------------------------------------------

struct Generate {
  std::uint64_t records = 0;
  std::uint64_t seed = 1;
  std::string output;
};

void declare_gen(weft::Arguments& arguments, Generate& options) {
  arguments.option("--records", options.records, "Records to write").required();
  arguments.option("--output", options.output, "Directory for the records").required();
  arguments.option("--seed", options.seed, "Other seeds give other records").show_default();
}

/// Record number `index`: ten pseudo-random key bytes (printable, as in the benchmark's ASCII mode), the number in hexadecimal,
/// filler.
Record make_record(std::uint64_t seed, std::uint64_t index) {
  Record record;
  weft::Random random(seed, index);
  for (std::size_t i = 0; i < kKeyBytes; ++i) record[i] = static_cast<char>(' ' + random.below(95));
  std::array<char, 33> number{};
  std::snprintf(number.data(), number.size(), "%032" PRIX64, index);
  std::memcpy(&record[kKeyBytes], number.data(), 32);
  for (std::size_t i = kKeyBytes + 32; i < kRecordBytes; ++i) record[i] = static_cast<char>('A' + (index + i) % 26);
  return record;
}

void gen(weft::Flow& flow, const Generate& options) {
  flow.generate(options.records, [seed = options.seed](std::uint64_t index) { return make_record(seed, index); })
      .write_records(options.output);
}

// ---- sort ---------------------------------------------------------------------------------------------------------

void sort(weft::Flow& flow, const weft::InputOutput& job) {
  flow.read_records<kRecordBytes>(job.input).sort_by(key_of).write_records(job.output);  // part files are in global order
}

// ---- validate -----------------------------------------------------------------------------------------------------

struct Validate {
  std::vector<std::string> input;
};

void declare_validate(weft::Arguments& arguments, Validate& options) {
  arguments.option("--input", options.input, "Directory of part files in order").required();
}

/// What one task saw of the part files; neighbours are compared by the driver. The checksum is a sum of record hashes: independent
/// of order, so that the input of a sort has the same.
struct Piece {
  std::uint64_t records = 0;
  std::uint64_t checksum = 0;
  std::uint64_t disorders = 0;
  std::string first, last;
};

void validate(weft::Flow& flow, const Validate& options) {
  const auto pieces = flow.read_records<kRecordBytes>(options.input)
                          .map_partitions<Piece>([](auto&& records, auto&& emit) {
                            Piece piece;
                            records([&](std::string_view record) {
                              const std::string_view key = key_of(record);
                              if (piece.records == 0) piece.first = key;
                              if (piece.records > 0 && key < piece.last) ++piece.disorders;
                              piece.last = key;
                              piece.checksum += weft::hash_bytes(record);
                              ++piece.records;
                            });
                            emit(piece);
                          })
                          .collect();
  Piece total;
  for (const Piece& piece : pieces) {
    if (piece.records == 0) continue;
    if (total.records > 0 && piece.first < total.last) ++total.disorders;
    total.disorders += piece.disorders;
    total.records += piece.records;
    total.checksum += piece.checksum;
    total.last = piece.last;
  }
  flow.on_driver([&] { std::printf("records %" PRIu64 "\nchecksum %016" PRIx64 "\n", total.records, total.checksum); });
  if (total.disorders > 0)
    throw std::runtime_error("not sorted: " + std::to_string(total.disorders) +
                             " records are smaller than the one before; run terasort sort");
}

}  // namespace

int main(int argc, char** argv) {
  weft::Programs programs("Sorts 100-byte records");
  programs.add<Generate>("gen", "Writes pseudo-random records", declare_gen, gen);
  programs.add("sort", "Sorts records by key", sort);
  programs.add<Validate>("validate", "Checks the order; prints record count and checksum", declare_validate, validate);
  return programs.main(argc, argv);
}
