// Compressed inputs and outputs of jobs, and what is said of them.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "storage/text_reader.hpp"
#include "tests/storage/compressed_files.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using storage::Format;

std::string numbers(int from, int to) {
  std::string text;
  for (int i = from; i < to; ++i) text += std::to_string(i) + '\n';
  return text;
}

std::int64_t sum_of(const std::string& path, InputFormat format = InputFormat::detect) {
  std::int64_t sum = 0;
  const auto report = run_locally(
      [&](Flow& flow) {
        sum = flow.read_text(path, format)
                  .map([](std::string_view line) { return std::stoll(std::string(line)); })
                  .reduce(0, std::plus<>());
      },
      {.threads = 3});
  EXPECT_TRUE(report) << report.error().to_string();
  return sum;
}

TEST(CompressedInput, OfAllFormatsIsReadBesidePlainText) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "in");
  write_file(scratch / "in/plain", numbers(0, 1000));
  int from = 1000;
  for (const Format format : storage::kCompressedFormats) {
    write_file(scratch / ("in/" + std::string(storage::name_of(format))), storage::compressed(format, numbers(from, from + 1000)));
    from += 1000;
  }
  EXPECT_EQ(sum_of(scratch / "in"), 7000LL * 6999 / 2);
}

TEST(CompressedInput, IsSortedByASampleOfAllOfIt) {
  const ScratchDirectory scratch;
  std::string file;
  for (int i = 0; i < 40; ++i) file += storage::zstd_frame(numbers(1'000'000 - 10'000 * (i + 1), 1'000'000 - 10'000 * i));
  write_file(scratch / "in", file);
  std::vector<std::string> first;
  const auto report = run_locally(
      [&](Flow& flow) {
        first = flow.read_text(scratch / "in").sort_by([](std::string_view line) { return std::string(line); }).first(2);
      },
      {.threads = 2});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(first, (std::vector<std::string>{"600000", "600001"}));
}

TEST(CompressedInput, ThatIsDamagedFailsTheJobAtOnceWithItsByte) {
  const ScratchDirectory scratch;
  const std::string file = storage::gzipped(numbers(0, 10'000));
  write_file(scratch / "in.gz", file.substr(0, file.size() / 2));
  const auto report = run_locally([&](Flow& flow) { (void)flow.read_text(scratch / "in.gz").count(); }, {.threads = 2});
  ASSERT_FALSE(report);
  const std::string message = report.error().to_string();
  EXPECT_NE(message.find("in.gz is truncated: it ends at byte " + std::to_string(file.size() / 2) +
                         ", inside of the gzip member that begins at byte 0"),
            std::string::npos)
      << message;
  EXPECT_EQ(message.find(" times"), std::string::npos) << "it was tried again: " << message;
}

TEST(CompressedInput, ThatIsReadRawIsTheBytesOfTheFile) {
  const ScratchDirectory scratch;
  write_file(scratch / "in", "PK\3\4\nsome lines\n");
  std::vector<std::string> lines;
  const auto report =
      run_locally([&](Flow& flow) { lines = flow.read_text(scratch / "in", InputFormat::raw).collect(); }, {.threads = 2});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(lines, (std::vector<std::string>{"PK\3\4", "some lines"}));
}

TEST(CompressedOutput, HasTheSuffixOfItsFormatAndIsReadAgain) {
  const ScratchDirectory scratch;
  write_file(scratch / "in", numbers(0, 50'000));
  for (const auto& [compression, suffix, format] :
       {std::tuple(Compression::gzip, ".gz", Format::bgzip), std::tuple(Compression::zstd, ".zst", Format::zstd),
        std::tuple(Compression::lz4, ".lz4", Format::lz4)}) {
    const std::string out = scratch / (std::string("out") + suffix);
    const auto report = run_locally(
        [&, compression = compression](Flow& flow) {
          flow.read_text(scratch / "in")
              .map([](std::string_view line) { return std::pair(std::stoi(std::string(line)) % 2, 1); })
              .reduce_by_key(std::plus<>(), 5)
              .write_text(out, compression);
          flow.read_text(scratch / "in").write_text(out + "-all", compression);
        },
        {.threads = 2});
    ASSERT_TRUE(report) << report.error().to_string();
    const std::vector<std::string> names = entries(out);
    EXPECT_EQ(std::count_if(names.begin(), names.end(), [&s = suffix](const std::string& name) { return name.ends_with(s); }), 5)
        << "also of partitions without records";
    for (const std::string& name : names) {
      if (name == "_SUCCESS") continue;
      EXPECT_EQ(storage::compression_of(read_file(out + "/" + name)), format) << name;
    }
    EXPECT_EQ(sum_of(out + "-all"), 50'000LL * 49'999 / 2);
  }
}

}  // namespace
}  // namespace weft::test
