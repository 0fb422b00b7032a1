// The example applications as programs, against serial references, embedded and on private worker processes.
#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/sanitized.hpp"
#include "tests/reference/reference.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

std::string program(const std::string& name) { return std::string(WEFT_BIN_DIR) + "/" + name; }

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Text with everything that makes line and word splitting go wrong.
std::vector<std::string> awkward_texts() {
  std::string long_line;
  for (int i = 0; i < 150'000; ++i) long_line += "token" + std::to_string(i % 1000) + " ";
  std::string one_word(1'200'000, 'x');
  return {
      "the quick brown fox\njumps over the lazy dog\n",
      "",                                         // empty file
      "no final newline",                         //
      "\n\n\n",                                   // only empty lines
      "windows line\r\nanother\r\n\r\nlast\r\n",  //
      "lone\rcarriage return \r\n",               //
      "bad \xff\xfe utf8 \xc3\x28 \x80\n" + std::string("nul\0inside word\n", 16),
      long_line + "\nshort\n",  // over 1 MiB
      one_word,                 // a word over 1 MiB, no newline at all
      "\t tabs\vand\fothers  \n   \n",
  };
}

/// Many words over few kinds of length, long enough for several splits.
std::string random_text(unsigned seed, int words) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < words; ++i) {
    text += "w" + std::to_string(static_cast<int>(std::exponential_distribution<>(0.003)(random)));
    text += random() % 9 == 0 ? '\n' : ' ';
  }
  return text;
}

/// One line on standard error that mentions all of `words`, and a non-zero exit.
void expect_one_line_error(const ProcessResult& result, const std::vector<std::string>& words) {
  EXPECT_NE(result.exit_code, 0);
  std::vector<std::string> errors;
  std::istringstream all(result.err);
  for (std::string line; std::getline(all, line);)
    if (line.find(": ") != std::string::npos && line.rfind("weft: ", 0) != 0 && line.rfind("  ", 0) != 0) errors.push_back(line);
  ASSERT_FALSE(errors.empty()) << result.err;
  for (const std::string& word : words) EXPECT_NE(errors.back().find(word), std::string::npos) << word << " in: " << result.err;
}

class AppsTest : public testing::TestWithParam<std::string> {
 protected:
  ProcessResult launch(std::vector<std::string> command) {
    command[0] = program(command[0]);
    std::istringstream mode(GetParam());
    for (std::string word; mode >> word;) command.push_back(word);
    return run(command);
  }

  /// Writes the texts as input/text-NN and returns their paths.
  std::vector<std::string> write_inputs(const std::vector<std::string>& texts) {
    fs::create_directory(scratch_ / "input");
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string number = std::to_string(i);
      paths.push_back(scratch_ / ("input/text-" + std::string(2 - number.size(), '0') + number));
      write_file(paths.back(), texts[i]);
    }
    return paths;
  }

  ScratchDirectory scratch_;
};

TEST_P(AppsTest, WordcountOfAwkwardTextEqualsTheReference) {
  const auto texts = awkward_texts();
  write_inputs(texts);
  const auto result = launch({"wordcount", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), reference::wordcount(texts));
  EXPECT_TRUE(fs::exists(scratch_ / "out/_SUCCESS"));
  EXPECT_EQ(entries(scratch_.path()), (std::vector<std::string>{"input", "out"}));
}

TEST_P(AppsTest, WordcountOfSeveralSplitsEqualsTheReference) {
  const std::vector<std::string> texts{random_text(1, 300'000), random_text(2, 300'000)};
  const auto paths = write_inputs(texts);
  const auto result = launch({"wordcount", "--input", paths[0], "--input", scratch_ / "input/*1", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), reference::wordcount(texts));
}

TEST_P(AppsTest, NoFilesGiveAnEmptyResult) {
  fs::create_directory(scratch_ / "input");
  const auto result = launch({"wordcount", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(part_lines(scratch_ / "out").empty());
  EXPECT_TRUE(fs::exists(scratch_ / "out/_SUCCESS"));
}

TEST_P(AppsTest, GrepKeepsTheMatchingLines) {
  const auto texts = awkward_texts();
  write_inputs(texts);
  const auto result = launch({"grep", "--fixed", "--pattern", "an", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), sorted(reference::grep_fixed(texts, "an")));
}

TEST_P(AppsTest, GrepMatchesExpressionsOnLinesOfAnyLength) {
  const std::string long_match = "a" + std::string(300'000, 'x') + "b";
  write_inputs({long_match + "\nab\nba\n\n" + std::string(100'000, 'a') + "\n"});
  const auto result = launch({"grep", "--pattern", "^a.*b$", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(part_lines(scratch_ / "out"), (std::vector<std::string>{long_match, "ab"}));
  const auto refused = launch({"grep", "--pattern", "(", "--input", scratch_ / "input", "--output", scratch_ / "none"});
  expect_one_line_error(refused, {"--pattern"});
}

TEST_P(AppsTest, AnOutputThatHoldsTheInputIsRefused) {
  write_inputs({"a b a\n"});
  const auto result = launch({"wordcount", "--overwrite", "--input", scratch_ / "input", "--output", scratch_ / "input"});
  expect_one_line_error(result, {"input", "write somewhere else"});
  EXPECT_EQ(read_file(scratch_ / "input/text-00"), "a b a\n");
}

TEST_P(AppsTest, ParentsOfLinkedDirectoriesAreThoseOfTheTarget) {
  fs::create_directories(scratch_ / "real/dir");
  fs::create_directories(scratch_ / "other");
  write_file(scratch_ / "real/f", "right\n");
  write_file(scratch_ / "other/f", "wrong\n");
  fs::create_symlink(scratch_ / "real/dir", scratch_ / "other/link");
  const auto result = launch({"wordcount", "--input", scratch_ / "other/link/../f", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(part_lines(scratch_ / "out"), (std::vector<std::string>{"right\t1"}));
}

TEST_P(AppsTest, InvertedIndexListsTheFilesOfEachWord) {
  const auto texts = awkward_texts();
  const auto paths = write_inputs(texts);
  const auto result = launch({"invertedindex", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), reference::inverted_index(paths, texts));
}

TEST_P(AppsTest, JoinsOfEveryKindEqualTheReference) {
  std::mt19937 random(7);
  std::string left, right;
  for (int i = 0; i < 700; ++i) left += "k" + std::to_string(random() % 300) + "\tl" + std::to_string(i) + "\n";
  for (int i = 0; i < 500; ++i) right += "k" + std::to_string(random() % 400) + "\tr" + std::to_string(i) + "\tx\n";
  left += "only-a-key\n";
  write_file(scratch_ / "left", left);
  write_file(scratch_ / "right", right);
  for (const std::string how : {"inner", "left", "right", "full", "semi", "anti"}) {
    SCOPED_TRACE(how);
    const auto result = launch(
        {"join", "--left", scratch_ / "left", "--right", scratch_ / "right", "--output", scratch_ / (how + "-join"), "--how", how});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(sorted(part_lines(scratch_ / (how + "-join"))), reference::join(left, right, how));
  }
  const auto counted = launch({"join", "--left", scratch_ / "left", "--right", scratch_ / "right", "--output", scratch_ / "counts",
                               "--aggregate", "count", "--broadcast"});
  ASSERT_EQ(counted.exit_code, 0) << counted.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "counts")), reference::join_count(left, right));
}

TEST_P(AppsTest, TerasortSortsWhatItGeneratedAndValidates) {
  const auto generated = launch({"terasort", "gen", "--records", "30000", "--output", scratch_ / "unsorted"});
  ASSERT_EQ(generated.exit_code, 0) << generated.err;
  const std::string records = part_bytes(scratch_ / "unsorted");
  ASSERT_EQ(records.size(), 3'000'000U);
  const auto before = launch({"terasort", "validate", "--input", scratch_ / "unsorted"});
  EXPECT_NE(before.exit_code, 0);

  const auto result = launch({"terasort", "sort", "--input", scratch_ / "unsorted", "--output", scratch_ / "sorted"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(part_bytes(scratch_ / "sorted") == reference::terasort(records));

  const auto after = launch({"terasort", "validate", "--input", scratch_ / "sorted"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_NE(after.out.find("records 30000\n"), std::string::npos) << after.out;
  EXPECT_NE(before.out.find("checksum"), std::string::npos);
  EXPECT_EQ(before.out, after.out);
}

TEST_P(AppsTest, PagerankEqualsTheReference) {
  std::mt19937 random(11);
  std::string edges;
  for (int i = 0; i < 2000; ++i) edges += "n" + std::to_string(random() % 200) + "\tn" + std::to_string(random() % 220) + "\n";
  write_file(scratch_ / "edges", edges);
  const auto result = launch(
      {"pagerank", "--input", scratch_ / "edges", "--output", scratch_ / "ranks", "--iterations", "5", "--tolerance", "1e-12"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto expected = reference::pagerank(edges, 5, 0.85);
  const auto lines = sorted(part_lines(scratch_ / "ranks"));
  ASSERT_EQ(lines.size(), expected.nodes.size());
  std::vector<std::pair<std::string, double>> ranks;
  for (const std::string& line : lines)
    ranks.emplace_back(line.substr(0, line.find('\t')), std::stod(line.substr(line.find('\t') + 1)));
  std::sort(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(ranks[i].first, expected.nodes[i]);
    EXPECT_NEAR(ranks[i].second, expected.ranks[i], 1e-4 * expected.ranks[i]);
  }
}

TEST_P(AppsTest, RankedIndexListsTheFilesOfEachWordByCount) {
  std::vector<std::string> texts = awkward_texts();
  for (unsigned seed = 1; seed <= 3; ++seed) texts.push_back(random_text(seed, 5'000));
  const auto paths = write_inputs(texts);
  const auto result = launch({"rankedindex", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), reference::ranked_index(paths, texts));
}

TEST_P(AppsTest, SelfJoinMakesLargerSets) {
  std::mt19937 random(5);
  std::string rows = "single\nother\n";
  for (int i = 0; i < 400; ++i) {
    const auto first = random() % 12, second = first + 1 + random() % 9;
    rows += "i" + std::to_string(10 + first) + "\ti" + std::to_string(10 + second);
    if (i % 4 == 0) rows += "\ti" + std::to_string(40 + random() % 9);
    rows += "\n";
  }
  write_inputs({rows});
  const auto result = launch({"selfjoin", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), reference::self_join(rows));
}

TEST_P(AppsTest, ReturnsFindsTheCustomersOfTheReference) {
  std::mt19937 random(17);
  reference::Returns of{.year = "2000", .state = "TN", .limit = 40};
  for (int i = 0; i < 3000; ++i)
    of.returns += std::string(random() % 3 == 0 ? "1999" : "2000") + "-0" + std::to_string(1 + random() % 9) + "-11\ts" +
                  std::to_string(random() % 12) + "\tc" + std::to_string(random() % 90) + "\t" + std::to_string(random() % 5000) +
                  "\n";
  for (int i = 0; i < 11; ++i) of.stores += "s" + std::to_string(i) + "\t" + (i % 3 == 0 ? "CA" : "TN") + "\n";
  for (int i = 0; i < 85; ++i) of.customers += "c" + std::to_string(i) + "\tname " + std::to_string(i) + "\n";
  write_file(scratch_ / "returns", of.returns);
  write_file(scratch_ / "stores", of.stores);
  write_file(scratch_ / "customers", of.customers);
  const auto result = launch({"returns", "--returns", scratch_ / "returns", "--stores", scratch_ / "stores", "--customers",
                              scratch_ / "customers", "--output", scratch_ / "out", "--limit", "40"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(part_lines(scratch_ / "out").size(), 40u);
  EXPECT_EQ(part_lines(scratch_ / "out"), reference::large_returns(of));
}

TEST_P(AppsTest, JoinTreeSumsTheRevenueOfTheReference) {
  std::mt19937 random(19);
  const auto number = [&](unsigned below) { return std::to_string(random() % below); };
  std::string orders, customers, order_lines, products;
  for (int i = 0; i < 300; ++i) orders += "o" + std::to_string(i) + "\tc" + number(60) + "\n";
  for (int i = 0; i < 55; ++i) customers += "c" + std::to_string(i) + "\tn" + number(6) + "\n";
  for (int i = 0; i < 2000; ++i) order_lines += "o" + number(320) + "\tp" + number(45) + "\t" + number(1000) + "\n";
  for (int i = 0; i < 40; ++i) products += "p" + std::to_string(i) + "\tk" + number(5) + "\n";
  write_file(scratch_ / "orders", orders);
  write_file(scratch_ / "customers", customers);
  write_file(scratch_ / "lines", order_lines);
  write_file(scratch_ / "products", products);
  const auto result = launch({"jointree", "--orders", scratch_ / "orders", "--customers", scratch_ / "customers", "--lines",
                              scratch_ / "lines", "--products", scratch_ / "products", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), reference::revenue(orders, customers, order_lines, products));
}

TEST_P(AppsTest, GridmixSortsCombinesAndSelects) {
  const auto generated = launch({"gridmix", "gen", "--rows", "20000", "--keys", "500", "--output", scratch_ / "rows"});
  ASSERT_EQ(generated.exit_code, 0) << generated.err;
  const std::string rows = part_bytes(scratch_ / "rows");
  ASSERT_GE(rows.size(), 2'000'000u);
  for (std::vector<std::string> command : {std::vector<std::string>{"sort"}, {"combine"}, {"select", "--below", "05"}}) {
    const std::string output = scratch_ / command.front();
    command.insert(command.begin(), "gridmix");
    command.insert(command.end(), {"--input", scratch_ / "rows", "--output", output});
    const auto result = launch(command);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(part_lines(scratch_ / "sort"), reference::sort_lines(rows));
  EXPECT_EQ(sorted(part_lines(scratch_ / "combine")), reference::combine_lines(rows));
  std::vector<std::string> low = part_lines(scratch_ / "rows");
  std::erase_if(low, [](const std::string& line) { return line >= "05"; });
  EXPECT_EQ(sorted(part_lines(scratch_ / "select")), sorted(low));
}

TEST_P(AppsTest, MontecarloCountsThePointsOfTheReference) {
  const auto result = launch({"montecarlo", "--points", "1000000", "--seed", "3", "--check-variants"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string inside = std::to_string(reference::points_inside(1'048'576, 3));
  EXPECT_EQ(result.out.substr(0, result.out.find("pi")), "points 1048576\ninside " + inside + "\n");
  EXPECT_NE(result.out.find("pi 3.14"), std::string::npos) << result.out;
}

TEST_P(AppsTest, KmeansFindsTheCentresOfASerialRun) {
  const auto result =
      launch({"kmeans", "--points", "3000", "--clusters", "12", "--iterations", "20", "--seed", "7", "--tasks", "5"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, reference::kmeans(3000, 12, 20, 7));
  const auto few = launch({"kmeans", "--points", "9", "--clusters", "12", "--iterations", "1"});
  EXPECT_EQ(few.out, reference::kmeans(9, 12, 1, 1)) << "centres without points";
}

/// The example of FIPS 197, C.1, and random bytes behind it.
struct Secret {
  explicit Secret(int bytes) {
    for (int i = 0; i < 16; ++i) {
      plain += static_cast<char>(i * 17);
      key += static_cast<char>(i);
      digits += "0" + std::string(1, "0123456789abcdef"[i]);
    }
    std::mt19937 random(23);
    for (int i = 16; i < bytes; ++i) plain += static_cast<char>(random());
  }
  std::string plain{}, key{}, digits{};
};

TEST_P(AppsTest, CryptEncryptsAsTheStandardSays) {
  const auto [plain, key, digits] = Secret(64 * 1024);
  ASSERT_EQ(reference::encrypt(plain.substr(0, 16), key).substr(0, 4), "\x69\xc4\xe0\xd8");
  write_inputs({plain});
  const auto result = launch({"crypt", "--input", scratch_ / "input", "--output", scratch_ / "out", "--key", digits,
                              "--record-bytes", "256", "--check-variants"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(part_bytes(scratch_ / "out") == reference::encrypt(plain, key));
  const auto refused = launch({"crypt", "--input", scratch_ / "input", "--output", scratch_ / "none", "--key", "12"});
  expect_one_line_error(refused, {"--key", "32 hexadecimal digits"});
}

// ---- bad input ----------------------------------------------------------------------------------------------------

TEST_P(AppsTest, MissingInputIsNamed) {
  const auto result = launch({"wordcount", "--input", scratch_ / "nowhere.txt", "--output", scratch_ / "out"});
  expect_one_line_error(result, {"nowhere.txt"});
  EXPECT_TRUE(entries(scratch_.path()).empty());
}

TEST_P(AppsTest, ExistingOutputIsKeptUnlessOverwriteIsGiven) {
  write_inputs({"a b a\n"});
  fs::create_directory(scratch_ / "out");
  write_file(scratch_ / "out/precious", "data");
  const auto refused = launch({"wordcount", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  expect_one_line_error(refused, {"out", "--overwrite"});
  const auto not_ours = launch({"wordcount", "--overwrite", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  expect_one_line_error(not_ours, {"out", "no _SUCCESS", "remove it"});
  EXPECT_EQ(read_file(scratch_ / "out/precious"), "data");

  write_file(scratch_ / "out/_SUCCESS", "");
  const auto result = launch({"wordcount", "--overwrite", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), (std::vector<std::string>{"a\t2", "b\t1"}));
  EXPECT_FALSE(fs::exists(scratch_ / "out/precious"));
}

TEST_P(AppsTest, StatsSayWhatEachStageReadAndShuffled) {
  write_inputs({"a b a\n", "b\n"});  // 8 bytes
  const std::string stats = scratch_ / "stats.json";
  const auto result = launch({"wordcount", "--stats", stats, "--input", scratch_ / "input", "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string json = read_file(stats);
  EXPECT_NE(json.find("\"input_bytes\":8,\"shuffle_bytes\":"), std::string::npos) << json;
  EXPECT_EQ(json.find("\"input_bytes\":8,\"shuffle_bytes\":0}"), std::string::npos) << json;
  EXPECT_NE(json.find("\"input_bytes\":0,\"shuffle_bytes\":0}"), std::string::npos) << json;
}

TEST_P(AppsTest, StatsThatCannotBeWrittenEndWithStatus1AndTheOutputIsThere) {
  write_inputs({"a b a\n", "b\n"});
  const auto result =
      launch({"wordcount", "--quiet", "--stats", "/dev/full", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_NE(result.err.find("--stats: cannot write "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("; the job has finished, and its outputs are published"), std::string::npos) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), (std::vector<std::string>{"a\t2", "b\t2"}));
}

TEST_P(AppsTest, WhatIsNoTextIsRefusedByName) {
  write_inputs({"plain text\n"});
  write_file(scratch_ / "input/lines.gz", std::string("PK\3\4\0\0\0\0\0\3lines\n", 16));
  const auto zipped = launch({"wordcount", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  expect_one_line_error(zipped, {scratch_ / "input/lines.gz is a zip archive", "extract the files in it first"});
  const auto program_file = launch({"grep", "--pattern", "a", "--input", program("grep"), "--output", scratch_ / "out"});
  expect_one_line_error(program_file, {program("grep") + " is a program or library (ELF)", "leave it out"});
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

TEST_P(AppsTest, FilesThatClaimToHaveNoBytesAreReadUntilTheyEnd) {
  std::string text = "BIG=";
  while (text.size() < 100'000) text += "line of " + std::to_string(text.size() % 977) + "\n";
  Process other({"sleep", "600"}, {.environment = {{"BIG", text.substr(4)}, {"MORE", text}}});
  const std::string environment = "/proc/" + std::to_string(other.pid()) + "/environ";
  ASSERT_TRUE(eventually([&] { return read_file(environment).size() > 200'000; }));
  ASSERT_EQ(fs::file_size(environment), 0U);
  const auto result = launch({"wordcount", "--input", environment, "--output", scratch_ / "out"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), reference::wordcount({read_file(environment)}));
}

TEST_P(AppsTest, WhatCanBeReadOnlyOnceIsRefused) {
  ASSERT_EQ(::mkfifo((scratch_ / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {scratch_ / "fifo", std::string("/dev/zero"), std::string("/dev/stdin")}) {
    const auto refused = launch({"wordcount", "--input", path, "--output", scratch_ / "out"});
    expect_one_line_error(refused, {"input " + path + " is a", "save it to a file first"});
  }
}

TEST_P(AppsTest, StandardInputThatIsAFileIsThatFileEverywhere) {
  write_file(scratch_ / "text", "a b a\n");
  const auto result = run({"sh", "-c",
                           program("wordcount") + " " + GetParam() + " --input /dev/stdin --output " + (scratch_ / "out") + " < " +
                               (scratch_ / "text")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), (std::vector<std::string>{"a\t2", "b\t1"}));
}

TEST_P(AppsTest, SkippedNamesAreSaidAtTheEndAndInTheStats) {
  write_inputs({"a b a\n"});
  write_file(scratch_ / "input/_SUCCESS", "");
  write_file(scratch_ / "input/.hidden", "c\n");
  const std::string stats = scratch_ / "stats.json";
  std::vector<std::string> command{program("wordcount"), "--stats",  stats,           "--input",
                                   scratch_ / "input",   "--output", scratch_ / "out"};
  if (GetParam() != "--quiet") command.insert(command.end(), {"--workers", "2"});
  const auto result = run(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(
      result.err.find("skipped 2 names that begin with '.' or '_' in input directories, such as " + (scratch_ / "input/.hidden")),
      std::string::npos)
      << result.err;
  EXPECT_NE(read_file(stats).find("\"skipped_inputs\":{\"count\":2,\"example\":\"" + (scratch_ / "input/.hidden") + "\"}"),
            std::string::npos)
      << read_file(stats);
}

TEST_P(AppsTest, LinksToWhatIsReadAnywayAreSaidAtTheEnd) {
  write_inputs({"a b a\n"});
  fs::create_directory(scratch_ / "input/day");
  write_file(scratch_ / "input/day/log", "c\n");
  fs::create_directory_symlink("day", scratch_ / "input/current");
  fs::create_directory_symlink(".", scratch_ / "input/day/around");
  std::vector<std::string> command{program("wordcount"), "--input", scratch_ / "input", "--output", scratch_ / "out"};
  if (GetParam() != "--quiet") command.insert(command.end(), {"--workers", "2"});
  const auto result = run(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("2 files or directories are more than once in the inputs, such as " + (scratch_ / "input/current") +
                            "; each was read once"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), (std::vector<std::string>{"a\t2", "b\t1", "c\t1"}));
}

TEST_P(AppsTest, UnknownOptionIsNamed) {
  const auto result = launch({"wordcount", "--inptu", "x", "--output", "y"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE((result.err + result.out).find("--in"), std::string::npos);
}

TEST_P(AppsTest, PartitionsAreANumberOrAuto) {
  write_file(scratch_ / "input", "a b\n");
  for (const char* wrong : {"0", "-1", "3x", "many", "100001"}) {
    const auto refused =
        launch({"wordcount", "--input", scratch_ / "input", "--output", scratch_ / "out", std::string("--partitions=") + wrong});
    expect_one_line_error(refused, {"--partitions", "1 to 100000", "auto"});
  }
  EXPECT_EQ(launch({"wordcount", "--input", scratch_ / "input", "--output", scratch_ / "out", "--partitions", "auto"}).exit_code,
            0);
}

TEST_P(AppsTest, ManyEmptyPartitionsAreEmptyFiles) {
  write_file(scratch_ / "input", "a b a\n");
  const auto result = launch({"wordcount", "--input", scratch_ / "input", "--output", scratch_ / "out", "--partitions", "1000"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(entries(scratch_ / "out").size(), 1001U);
  EXPECT_EQ(sorted(part_lines(scratch_ / "out")), (std::vector<std::string>{"a\t2", "b\t1"}));
}

TEST_P(AppsTest, RecordsThatDoNotFitTheFileAreRefused) {
  write_inputs({std::string(150, 'x')});
  const auto result = launch({"terasort", "sort", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  expect_one_line_error(result, {"text-00", "100"});
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

TEST_P(AppsTest, AUserExceptionNamesTaskPositionAndMessage) {
  write_inputs({"a\tb\nno tab here\n"});
  const auto result = launch({"pagerank", "--input", scratch_ / "input", "--output", scratch_ / "out"});
  expect_one_line_error(result, {"expected from<TAB>to", "text-00"});
  EXPECT_EQ(entries(scratch_.path()), (std::vector<std::string>{"input"}));
}

INSTANTIATE_TEST_SUITE_P(Modes, AppsTest, testing::Values("--quiet", "--quiet --workers 2"),
                         [](const auto& mode) { return mode.param == "--quiet" ? "Embedded" : "TwoWorkers"; });

/// On a device, if there is one (POCL's is the processor): the kernels' records, compared with those of the functions, and then
/// with the reference.
TEST(Kernels, ComputeWhatTheReferencesDo) {
  if (kSanitized) GTEST_SKIP() << "the driver is not built for sanitizers";
  if (run({program("weft"), "worker", "--list-devices"}).out.rfind("0.0 ", 0) != 0) GTEST_SKIP() << "there is no OpenCL device";
  const auto launch = [](std::vector<std::string> command) {
    command[0] = program(command[0]);
    command.insert(command.end(), {"--quiet", "--check-variants"});
    auto result = run(command, {.environment = {{"WEFT_DEVICE", "0.0"}}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "") << "a kernel that was not used says so";
    return result.out;
  };
  const std::string counts = launch({"montecarlo", "--points", "1000000", "--seed", "3"});
  EXPECT_EQ(counts.find("inside " + std::to_string(reference::points_inside(1'048'576, 3)) + "\n"), counts.find("inside"));
  EXPECT_EQ(launch({"kmeans", "--points", "3000", "--clusters", "12", "--iterations", "20", "--seed", "7", "--tasks", "2"}),
            reference::kmeans(3000, 12, 20, 7));
  ScratchDirectory scratch;
  const Secret secret(200'000);
  write_file(scratch / "plain", secret.plain);
  launch({"crypt", "--input", scratch / "plain", "--output", scratch / "out", "--key", secret.digits, "--record-bytes", "80"});
  EXPECT_TRUE(part_bytes(scratch / "out") == reference::encrypt(secret.plain, secret.key));
}

TEST(Cluster, NoMasterAtTheAddressIsAOneLineError) {
  ScratchDirectory scratch;
  write_file(scratch / "text", "a b\n");
  const auto result = run({program("wordcount"), "--cluster", "127.0.0.1:1", "--patience", "0s", "--input", scratch / "text",
                           "--output", scratch / "out"});
  expect_one_line_error(result, {"127.0.0.1:1"});
}

}  // namespace
}  // namespace weft::test
