#include "weft/arguments.hpp"

#include <algorithm>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "weft/main.hpp"

namespace weft {
namespace {

enum class Fruit { apple, pear };

struct Everything {
  std::string text;
  std::vector<std::string> many;
  std::int32_t small = -1;
  std::uint32_t count = 1;
  std::int64_t large = 0;
  std::uint64_t bytes = 7;
  double share = 0.5;
  bool flag = false;
  Fruit fruit = Fruit::apple;
};

/// The complaint about a command line; empty when it is accepted.
class ArgumentsTest : public ::testing::Test {
 protected:
  std::string parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  }
  CLI::App app_;
  Arguments arguments_{app_};
  Everything values_;
};

TEST_F(ArgumentsTest, AreReadIntoVariablesOfEveryType) {
  arguments_.option("mode", values_.text, "What to do");
  arguments_.option("--many", values_.many, "Several");
  arguments_.option("--small", values_.small, "A number");
  arguments_.option("--count", values_.count, "A number");
  arguments_.option("--large", values_.large, "A number");
  arguments_.option("--bytes", values_.bytes, "A number");
  arguments_.option("--share", values_.share, "A number");
  arguments_.flag("--flag", values_.flag, "Whether");
  arguments_.choice<Fruit>("--fruit", values_.fruit, {{"apple", Fruit::apple}, {"pear", Fruit::pear}}, "Which");
  ASSERT_EQ(parse({"run", "--many", "a", "--many", "b", "--small=-3", "--count=4", "--large=-5000000000",
                   "--bytes=18446744073709551615", "--share=0.25", "--flag", "--fruit", "pear"}),
            "");
  EXPECT_EQ(values_.text, "run");
  EXPECT_EQ(values_.many, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(values_.small, -3);
  EXPECT_EQ(values_.count, 4u);
  EXPECT_EQ(values_.large, -5'000'000'000);
  EXPECT_EQ(values_.bytes, UINT64_MAX);
  EXPECT_EQ(values_.share, 0.25);
  EXPECT_TRUE(values_.flag);
  EXPECT_EQ(values_.fruit, Fruit::pear);
}

TEST_F(ArgumentsTest, KeepTheirValuesWhenTheyAreNotGiven) {
  arguments_.option("--bytes", values_.bytes, "A number").show_default();
  arguments_.choice<Fruit>("--fruit", values_.fruit, {{"pear", Fruit::pear}}, "Which");
  ASSERT_EQ(parse({}), "");
  EXPECT_EQ(values_.bytes, 7u);
  EXPECT_EQ(values_.fruit, Fruit::apple);
  EXPECT_NE(app_.help().find("=7"), std::string::npos) << app_.help();
}

TEST_F(ArgumentsTest, WhoseConditionsDoNotHoldAreRefusedByName) {
  arguments_.option("--text", values_.text, "Some").required();
  EXPECT_NE(parse({}).find("--text"), std::string::npos);
  arguments_.option("--bytes", values_.bytes, "A number").positive();
  EXPECT_NE(parse({"--text", "x", "--bytes", "0"}).find("--bytes"), std::string::npos);
  arguments_.option("--small", values_.small, "A number").between(-2, 2);
  EXPECT_NE(parse({"--text", "x", "--small", "3"}).find("--small"), std::string::npos);
  EXPECT_EQ(parse({"--text", "x", "--small", "-2"}), "");
  arguments_.option("--share", values_.share, "A part").between(0.0, 0.5);
  EXPECT_NE(parse({"--text", "x", "--share", "0.75"}).find("--share"), std::string::npos);
  EXPECT_EQ(parse({"--text", "x", "--share", "0.5"}), "");
  arguments_.choice<Fruit>("--fruit", values_.fruit, {{"pear", Fruit::pear}}, "Which");
  EXPECT_NE(parse({"--text", "x", "--fruit", "plum"}).find("--fruit"), std::string::npos);
  const Argument count = arguments_.option("--count", values_.count, "A number");
  arguments_.flag("--flag", values_.flag, "Whether").needs(count);
  EXPECT_NE(parse({"--text", "x", "--flag"}).find("--count"), std::string::npos);
  EXPECT_EQ(parse({"--text", "x", "--flag", "--count", "2"}), "");
}

// What weft::main accepts: either kind of declaration, and the concepts that say so.
using DeclareArguments = void (*)(Arguments&, Everything&);
using DeclareWithParser = void (*)(CLI::App&, Everything&);
using DefineNothing = void (*)(Flow&, const Everything&);
static_assert(DeclareFunction<DeclareArguments, Everything>);
static_assert(DeclareFunction<DeclareWithParser, Everything>);
static_assert(!DeclareFunction<DefineNothing, Everything>);
static_assert(DefineFunction<DefineNothing, Everything>);
static_assert(!DefineFunction<DefineNothing, InputOutput>);

/// Runs a program; the words do not include its name.
template <class Main>
int exit_code(Main main, std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  return main(static_cast<int>(pointers.size()), pointers.data());
}

TEST(Main, TakesInputAndOutputWhereAJobHasNoOptionsOfItsOwn) {
  InputOutput seen;
  const auto job = [&](int argc, char** argv) {
    return weft::main(argc, argv, "Nothing", [&](Flow&, const InputOutput& options) { seen = options; });
  };
  EXPECT_EQ(exit_code(job, {"--quiet", "--input", "a", "--input", "b", "--output", "c"}), 0);
  EXPECT_EQ(seen.input, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(seen.output, "c");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(exit_code(job, {"--quiet", "--input", "a"}), 2);
  EXPECT_EQ(exit_code(job, {"--quiet", "--inptu", "a", "--output", "c"}), 2);
  const std::string complaints = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(complaints.find("--output is required"), std::string::npos) << complaints;
  EXPECT_NE(complaints.find("unknown option --inptu, did you mean --input?"), std::string::npos) << complaints;
}

struct Turns {
  int turns = 3;
};
void declare(Arguments& arguments, Turns& options) { arguments.option("--turns", options.turns, "How often"); }

TEST(Main, TakesTheOptionsOfALambdaOrNone) {
  int seen = 0, runs = 0;
  const auto with = [&](int argc, char** argv) {
    return weft::main(argc, argv, "Turns", [&](Flow&, const Turns& options) { seen = options.turns; });
  };
  EXPECT_EQ(exit_code(with, {"--quiet", "--turns", "7"}), 0);
  EXPECT_EQ(seen, 7);
  const auto without = [&](int argc, char** argv) { return weft::main(argc, argv, "Nothing", [&](Flow&) { ++runs; }); };
  EXPECT_EQ(exit_code(without, {"--quiet"}), 0);
  EXPECT_EQ(runs, 1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(exit_code(without, {"--quiet", "--input", "a"}), 2);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("unknown option --input"), std::string::npos);
}

TEST(Main, SaysOnceThatAProgramIsNotOptimisedUnlessItIsToBeQuiet) {
  Programs program("Nothing");
  program.add<InputOutput>(
      "", "Nothing", [](Arguments& arguments, InputOutput& options) { declare(arguments, options); },
      [](Flow&, const InputOutput&) {});
  const auto said = [&](std::vector<std::string> words, bool optimized) {
    words.insert(words.end(), {"--input", "a", "--output", "b"});
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(exit_code([&](int argc, char** argv) { return program.main(argc, argv, optimized); }, words), 0);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(said({}, false).find("program: built without optimisation, which takes about eight times the time"), std::string::npos);
  EXPECT_EQ(said({}, true).find("optimisation"), std::string::npos);
  EXPECT_EQ(said({"--quiet"}, false), "");
}

TEST(Main, RunsTheSubcommandThatWasAskedForAndReportsItsFailure) {
  std::string ran;
  const auto programs = [&](int argc, char** argv) {
    Programs all("Two jobs");
    all.add<Everything>(
        "one", "The first", [](Arguments& arguments, Everything& options) { arguments.option("--text", options.text, "Some"); },
        [&](Flow&, const Everything& options) { ran = "one " + options.text; });
    all.add<Everything>(
        "two", "The second", [](CLI::App& app, Everything& options) { app.add_option("--count", options.count, "A number"); },
        [&](Flow&, const Everything& options) { throw std::runtime_error("two " + std::to_string(options.count)); });
    return all.main(argc, argv);
  };
  EXPECT_EQ(exit_code(programs, {"one", "--quiet", "--text", "x"}), 0);
  EXPECT_EQ(ran, "one x");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(exit_code(programs, {"two", "--quiet", "--count", "3"}), 1);
  EXPECT_EQ(exit_code(programs, {"--quiet"}), 2);
  EXPECT_EQ(exit_code(programs, {"one", "--quiet", "--memory", "1MiB"}), 2);
  EXPECT_EQ(exit_code(programs, {"one", "--quiet", "--partitions", "0"}), 2);
  EXPECT_EQ(exit_code(programs, {"one", "--quiet", "--deadline", "0s"}), 2);
  for (const char* weight : {"0", "-1", "nan", "2e6", "2x"})
    EXPECT_EQ(exit_code(programs, {"one", "--quiet", "--weight", weight}), 2);
  EXPECT_EQ(exit_code(programs, {"one", "--quiet", "--weight", "0.5"}), 0);
  const std::string complaints = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(complaints.find("program: two 3\n"), std::string::npos) << complaints;
  EXPECT_NE(complaints.find("--memory: at least 8MiB"), std::string::npos) << complaints;
  EXPECT_NE(complaints.find("--partitions: not a number from 1 to 100000, and not auto"), std::string::npos) << complaints;
  EXPECT_NE(complaints.find("is not a number above 0, at most 1000000"), std::string::npos) << complaints;
  EXPECT_NE(complaints.find("--deadline: '0s' is not more than 0"), std::string::npos) << complaints;
}

}  // namespace
}  // namespace weft
