// CSV and JSON in and out.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"
#include "weft/detail/csv_scanner.hpp"

namespace weft::test {
namespace {

struct Sale {
  std::uint64_t id = 0;
  std::string item;
  std::optional<double> price;
  bool paid = false;
  friend bool operator==(const Sale&, const Sale&) = default;
};
using Sales = std::vector<Sale>;

LocalReport run_rows(const std::function<void(Flow&)>& define, std::uint64_t memory = 64u << 20) {
  auto report = run_locally(define, {.threads = 2, .memory_bytes = memory, .job = {{"max-bad-records", "100%"}}});
  EXPECT_TRUE(report) << report.error().to_string();
  return report ? *report : LocalReport();
}
std::string failure_of(const std::function<void(Flow&)>& define) {
  const auto report = run_locally(define, {.threads = 2});
  EXPECT_FALSE(report);
  return report ? "" : report.error().to_string();
}
std::uint64_t bad_records(const LocalReport& report) { return report.bad_records; }

std::vector<std::vector<std::string>> scanned(std::string_view text, bool multiline = false) {
  detail::CsvScanner scanner(',', multiline);
  std::vector<std::vector<std::string>> rows;
  scanner.start(text);
  for (auto found = scanner.next(); found != detail::CsvScanner::Found::end; found = scanner.next()) {
    if (found == detail::CsvScanner::Found::partial) {
      scanner.end_partial();
      found = detail::CsvScanner::Found::malformed;
    }
    if (found == detail::CsvScanner::Found::record) {
      rows.emplace_back(scanner.fields().begin(), scanner.fields().end());
    } else {
      rows.push_back({"!", scanner.why()});
    }
  }
  return rows;
}
using Texts = std::vector<std::vector<std::string>>;

TEST(CsvScanner, CutsRecordsAndFields) {
  EXPECT_EQ(scanned("a,b\n,\r\n\n\r\n1"), (Texts{{"a", "b"}, {"", ""}, {"1"}}));
  EXPECT_EQ(scanned("\"a\",\"b,\"\"c\"\"\"\n\"\"\n"), (Texts{{"a", "b,\"c\""}, {""}}));
  EXPECT_EQ(scanned("a\"b,c\"\n"), (Texts{{"a\"b", "c\""}})) << "quotes inside of a field are text";
  EXPECT_EQ(scanned("\"a\"\r\n\"b\"\r"), (Texts{{"a"}, {"b"}}));
  EXPECT_EQ(scanned(""), Texts());
  const std::string longer(200, 'x');
  EXPECT_EQ(scanned(longer + ",\"" + longer + "\"\n" + longer), (Texts{{longer, longer}, {longer}}));
}

TEST(CsvScanner, SaysWhatIsNoRecordAndGoesOnWithTheNextLine) {
  EXPECT_EQ(scanned("\"a\"b,c\nd\n"), (Texts{{"!", "there is text behind a closing quote"}, {"d"}}));
  EXPECT_EQ(scanned("\"a\nb\",c\nd\n"), (Texts{{"!", "a quoted field does not end on its line"}, {"b\"", "c"}, {"d"}}));
  EXPECT_EQ(scanned("\"a\nb\",c\nd\n", true), (Texts{{"a\nb", "c"}, {"d"}}));
  EXPECT_EQ(scanned("x\n\"a\nb\n", true), (Texts{{"x"}, {"!", "a quoted field does not end"}, {"b"}}));
}

TEST(Csv, FindsColumnsByNameAndCountsWhatDoesNotFit) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "in");
  write_file(scratch / "in/a.csv", "item,note,paid,id,price\napple,\"x,y\",true,1,1.5\n\"pe\"\"ar\",,0,2,\nplum,,TRUE,3,1e3\n");
  write_file(scratch / "in/b.csv",
             "\xef\xbb\xbfid,price,item,paid\r\n4,-0.25,fig,false\r\nfive,1,x,1\r\n-6,1,x,1\r\n7,1,x\r\n8,1x,x,1\r\n9,1,x,maybe\r\n"
             "10,+2,,1\r\n99999999999999999999,1,x,1\r\n");
  write_file(scratch / "in/empty.csv", "");
  write_file(scratch / "in/header.csv", "id,item,price,paid");
  const auto report = run_rows([&](Flow& flow) {
    auto sales = flow.read_csv<Sale>(scratch / "in").collect();
    std::sort(sales.begin(), sales.end(), [](const Sale& a, const Sale& b) { return a.id < b.id; });
    EXPECT_EQ(sales, (Sales{{1, "apple", 1.5, true},
                            {2, "pe\"ar", std::nullopt, false},
                            {3, "plum", 1000, true},
                            {4, "fig", -0.25, false},
                            {10, "", 2, true}}));
  });
  EXPECT_EQ(bad_records(report), 6u);
}

TEST(Csv, TakesOtherNamesDelimitersAndNoHeader) {
  const ScratchDirectory scratch;
  write_file(scratch / "a", "1; NA ;x\n 2 ;3.5;y\n");
  struct Item {
    std::int16_t id;
    std::optional<float> price;
    std::string name;
  };
  struct Name {
    std::string_view name;
    std::string_view id;
  };
  const auto report = run_rows([&](Flow& flow) {
    const auto rows =
        flow.read_csv<Item>(scratch / "a", {.delimiter = ';', .header = false, .missing = {"NA", "-"}, .trim = true}).collect();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_FALSE(rows[0].price);
    EXPECT_EQ(rows[1].id, 2);
    EXPECT_EQ(rows[1].price, 3.5F);
    const auto names =
        flow.read_csv<Name>(scratch / "a",
                            {.delimiter = ';', .header = false, .columns = {"a", "b", "c"}, .names = {{"id", "a"}, {"name", "c"}}})
            .map([](const Name& row) { return std::string(row.name) + std::string(row.id); })
            .collect();
    EXPECT_EQ(names, (std::vector<std::string>{"x1", "y 2 "}));
  });
  EXPECT_EQ(bad_records(report), 0u);
  const std::string error = failure_of([&](Flow& flow) { (void)flow.read_csv<Item>(scratch / "a").count(); });
  EXPECT_NE(error.find("have no 'id' among '1; NA ;x'"), std::string::npos) << error;
}

/// Texts with quoted line ends at any place, also where splits begin.
TEST(Csv, ReadsQuotedLineEndsWhenTold) {
  const ScratchDirectory scratch;
  std::string text = "id,item,price,paid\n";
  Sales wanted;
  Random random(11);
  for (std::uint64_t i = 0; i < 30'000; ++i) {
    Sale sale{i, std::string(random.below(40), 'x'), std::nullopt, false};
    std::string quoted = sale.item;
    if (random.below(3) == 0) {
      sale.item += "\n,\"" + std::to_string(i) + "\r\n";
      quoted += "\n,\"\"" + std::to_string(i) + "\r\n";
    }
    text += std::to_string(i) + ",\"" + quoted + "\",,0\n";
    wanted.push_back(sale);
  }
  write_file(scratch / "rows", text);
  const auto whole = run_rows([&](Flow& flow) {
    EXPECT_TRUE(flow.read_csv<Sale>(scratch / "rows", {.multiline = true}).collect() == wanted);
    EXPECT_EQ(flow.read_csv<Sale>({scratch / "rows", scratch / "rows"}, {.multiline = true}).count(), 30'000u);
  });
  EXPECT_EQ(bad_records(whole), 0u);
}

/// Wherever splits begin: in the line that opens the quotes, in one of those within, or behind them.
TEST(Csv, WithoutMultilineAQuotedLineEndFailsTheJobAndMakesNoRows) {
  const ScratchDirectory scratch;
  struct Text {
    std::string a, b;
  };
  write_file(scratch / "small", "a,b\n\"1\n2\",3\n");
  const std::string small = failure_of([&](Flow& flow) { (void)flow.read_csv<Text>(scratch / "small").collect(); });
  EXPECT_NE(small.find("multiline"), std::string::npos) << small;
  EXPECT_NE(small.find(scratch / "small" + " at byte 4"), std::string::npos) << small;
  Random random(3);
  for (int run = 0; run < 12; ++run) {
    std::string text = "a,b\n";
    const std::uint64_t place = random.below(20'000);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      text += std::to_string(i) + ",";
      if (i == place) {
        text += '"';
        for (std::uint64_t k = random.below(60'000); k > 0; --k) text += "x,y\n";
        text += '"';
      }
      text += "y\n";
    }
    write_file(scratch / "large", text);
    const auto report = run_locally([&](Flow& flow) { flow.read_csv<Text>(scratch / "large").write_csv(scratch / "out"); },
                                    {.threads = 4, .job = {{"max-bad-records", "100%"}}});
    if (text.find("\"x") == std::string::npos) continue;  // it has no line end
    ASSERT_FALSE(report) << run;
    EXPECT_NE(report.error().to_string().find("multiline"), std::string::npos) << report.error().to_string();
    EXPECT_FALSE(std::filesystem::exists(scratch / "out"));
  }
  write_file(scratch / "cut", "a,b\n1,2\n3,\"4");
  EXPECT_EQ(bad_records(run_rows([&](Flow& flow) { EXPECT_EQ(flow.read_csv<Text>(scratch / "cut").count(), 1u); })), 1u)
      << "a file that was cut off: nothing follows";
  write_file(scratch / "header", "a,\"b\n1\",2\n");
  EXPECT_NE(failure_of([&](Flow& flow) { (void)flow.read_csv<Text>(scratch / "header").count(); }).find("multiline"),
            std::string::npos);
  write_file(scratch / "header", "a,\"b\"x\n1,2\n");
  EXPECT_NE(failure_of([&](Flow& flow) {
              (void)flow.read_csv<Text>(scratch / "header").count();
            }).find("are no CSV: there is text behind a closing quote"),
            std::string::npos);
}

TEST(Csv, AQuotedFieldWithoutAnEndInSightFailsTheJobAndMakesNoRows) {
  const ScratchDirectory scratch;
  struct Text {
    std::string a, b;
  };
  const std::string before = "a,b\n1,2\n", row = "3,\"\n";
  const auto report_of = [&](std::size_t lines) {
    std::string text = before + row;
    for (std::size_t i = 0; i < lines; ++i) text += "x,y\n";
    write_file(scratch / "rows", text + "\"\n4,5\n");
    return run_locally(
        [&](Flow& flow) { flow.read_csv<Text>(scratch / "rows", {.multiline = true}).write_csv(scratch / std::to_string(lines)); },
        {.threads = 1, .job = {{"max-bad-records", "100%"}, {"max-attempts", "1"}}});
  };
  const auto long_enough = report_of((16u << 20) / 4 - 2);
  EXPECT_TRUE(long_enough) << long_enough.error().to_string();
  const auto endless = report_of((20u << 20) / 4);
  ASSERT_FALSE(endless);
  const std::string said = endless.error().to_string();
  EXPECT_NE(said.find("a quoted field does not end within 16 MiB"), std::string::npos) << said;
  EXPECT_NE(said.find(scratch / "rows" + " at byte " + std::to_string(before.size())), std::string::npos) << said;
}

/// Bad rows in every piece that a reader gets, and in records that lie in two: the places are those of a serial scan.
TEST(Csv, PlacesOfBadRowsAreThoseInTheFile) {
  const ScratchDirectory scratch;
  struct Number {
    std::uint64_t id = 0;
    std::string item;
  };
  for (const bool multiline : {true, false}) {
    for (const std::uint64_t bad_at : {0u, 1u, 7'777u, 33'333u, 59'999u}) {
      std::string text = "\xef\xbb\xbfid,item\n";
      std::size_t place = 0;
      for (std::uint64_t i = 0; i < 60'000; ++i) {
        if (i == bad_at) place = text.size();
        text += (i == bad_at ? "x" : std::to_string(i)) + ",\"" + std::string(i % 97, 'y') + (multiline ? "\n" : "") + "\"\n";
      }
      write_file(scratch / "rows", text);
      const auto report = run_rows(
          [&](Flow& flow) { EXPECT_EQ(flow.read_csv<Number>(scratch / "rows", {.multiline = multiline}).count(), 59'999u); });
      ASSERT_EQ(report.bad_record_examples.size(), 1u);
      EXPECT_NE(report.bad_record_examples[0].find(" at byte " + std::to_string(place) + ")"), std::string::npos)
          << report.bad_record_examples[0] << ", expected " << place;
    }
  }
}

/// Also for tasks that read a later part of the file.
TEST(Csv, EmptyLinesBeforeTheNamesOfTheColumnsAreSkipped) {
  const ScratchDirectory scratch;
  std::string text = "\n\r\n\nid,item,price,paid\n";
  for (std::uint64_t i = 0; i < 200'000; ++i) text += std::to_string(i) + ",x,1,0\n";
  write_file(scratch / "rows", text);
  EXPECT_EQ(bad_records(run_rows([&](Flow& flow) { EXPECT_EQ(flow.read_csv<Sale>(scratch / "rows").count(), 200'000u); })), 0u);
}

TEST(Csv, ComesOutAsItWentIn) {
  const ScratchDirectory scratch;
  Sales sales;
  Random random(5);
  const std::string characters = "ab,\"\n\r x";
  for (std::uint64_t i = 0; i < 500; ++i) {
    std::string item;
    for (std::uint64_t n = random.below(6); n > 0; --n) item += characters[random.below(characters.size())];
    sales.push_back({i, item, random.below(2) == 0 ? std::optional<double>() : static_cast<double>(random.below(1000)) / 7,
                     random.below(2) == 0});
  }
  run_rows([&](Flow& flow) {
    flow.from_vector(sales, 3).write_csv(scratch / "out", {.names = {{"item", "what, exactly"}}});
    flow.from_vector(sales, 3).write_json(scratch / "json");
  });
  EXPECT_EQ(read_file(scratch / "out/part-00000").substr(0, 29), "id,\"what, exactly\",price,paid");
  run_rows([&](Flow& flow) {
    EXPECT_TRUE(flow.read_csv<Sale>(scratch / "out", {.names = {{"item", "what, exactly"}}, .multiline = true}).collect() == sales);
    EXPECT_TRUE(flow.read_json<Sale>(scratch / "json").collect() == sales);
  });
}

struct Point {
  int x = 0;
  std::optional<double> y;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Shape {
  std::string name;
  std::vector<Point> points;
  std::optional<Point> center;
  bool closed = false;
  friend bool operator==(const Shape&, const Shape&) = default;
};

TEST(Json, ReadsWhatFitsAndCountsTheRest) {
  const ScratchDirectory scratch;
  write_file(
      scratch / "a",
      "{\"name\":\"a\\u00e9\\n\",\"points\":[{\"x\":1,\"y\":2},{\"y\":null,\"x\":-3}],\"closed\":true,\"more\":[1,{}]}\r\n\n  \n"
      " { \"closed\" : false , \"name\" : \"b\", \"points\" : [], \"center\": {\"x\": 7} }\n"
      "{\"name\":\"no points\",\"closed\":true}\n{\"name\":1,\"points\":[],\"closed\":true}\n[]\nnonsense\n"
      "{\"name\":\"c\",\"points\":[{\"x\":1.5}],\"closed\":true}\n{\"name\":\"d\",\"points\":[{\"x\":3000000000}],\"closed\":true}"
      "\n"
      "{\"name\":\"e\",\"points\":[],\"closed\":true} {}\n{\"name\":\"f\",\"points\":[],\"closed\":true}");
  const auto report = run_rows([&](Flow& flow) {
    const auto shapes = flow.read_json<Shape>(scratch / "a").collect();
    ASSERT_EQ(shapes.size(), 3u);
    EXPECT_EQ(shapes[0], (Shape{"a\xc3\xa9\n", {{1, 2}, {-3, std::nullopt}}, std::nullopt, true}));
    EXPECT_EQ(shapes[1], (Shape{"b", {}, Point{7, std::nullopt}, false}));
    EXPECT_EQ(shapes[2].name, "f");
    EXPECT_EQ(flow.read_json<Point>(scratch / "a", {.names = {{"x", "z"}}}).count(), 0u);
  });
  EXPECT_EQ(bad_records(report), 17u);
}

struct Narrow {
  float f = 0;
  friend bool operator==(const Narrow&, const Narrow&) = default;
};
struct Wide {
  double d = 0;
  friend bool operator==(const Wide&, const Wide&) = default;
};
struct Whole {
  std::uint64_t n = 0;
  friend bool operator==(const Whole&, const Whole&) = default;
};

TEST(Rows, NumbersThatNoFieldHoldsAreBadRecordsInCsvAndJsonAlike) {
  const ScratchDirectory scratch;
  const std::vector<std::string> numbers{"1e39", "-1e39", "1e-50", "0.1", "0", "-0.0", "3.4e38"};
  std::string csv = "f\n", json;
  for (const std::string& number : numbers) csv += number + "\n", json += "{\"f\":" + number + "}\n";
  write_file(scratch / "n.csv", csv), write_file(scratch / "n.json", json);
  const std::vector<Narrow> expected{{0.1F}, {0}, {-0.0F}, {3.4e38F}};
  EXPECT_EQ(bad_records(run_rows([&](Flow& flow) { EXPECT_EQ(flow.read_csv<Narrow>(scratch / "n.csv").collect(), expected); })),
            3u);
  const auto report = run_rows([&](Flow& flow) { EXPECT_EQ(flow.read_json<Narrow>(scratch / "n.json").collect(), expected); });
  EXPECT_EQ(bad_records(report), 3u);
  EXPECT_TRUE(has(report.bad_record_examples.at(0), "member 'f' is not a number that fits its field"))
      << report.bad_record_examples[0];
  write_file(scratch / "tiny.json", "{\"d\":1e-400}\n{\"d\":0e-400}\n{\"d\":4e-320}\n{\"d\":0.0,\"t\":\"1e-400\"}\n");
  const auto tiny = run_rows([&](Flow& flow) {
    EXPECT_EQ(flow.read_json<Wide>(scratch / "tiny.json").collect(), (std::vector<Wide>{{0}, {4e-320}, {0}}));
  });
  EXPECT_TRUE(has(tiny.bad_record_examples.at(0), "a double has it only as 0")) << tiny.bad_record_examples[0];
  write_file(scratch / "beyond.csv", "d\n1e400\nx\n");
  const auto beyond = run_rows([&](Flow& flow) { EXPECT_EQ(flow.read_csv<Wide>(scratch / "beyond.csv").count(), 0u); });
  EXPECT_TRUE(has(beyond.bad_record_examples.at(0), "'1e400' is not a number that fits its field"))
      << beyond.bad_record_examples[0];
}

TEST(Rows, IntegersOfJsonMayBeLongerThan64Bits) {
  const ScratchDirectory scratch;
  write_file(scratch / "d",
             "{\"d\":123456789012345678901234567890,\"t\":\"\\\"99999999999999999999999\"}\n{\"d\":1e400}\n"
             "{\"d\":-18446744073709551616}\n");
  EXPECT_EQ(bad_records(run_rows([&](Flow& flow) {
              EXPECT_EQ(flow.read_json<Wide>(scratch / "d").collect(),
                        (std::vector<Wide>{{123456789012345678901234567890.0}, {-18446744073709551616.0}}));
            })),
            1u);
  write_file(scratch / "n", "{\"n\":18446744073709551615}\n{\"n\":18446744073709551616}\n");
  const auto report = run_rows([&](Flow& flow) {
    EXPECT_EQ(flow.read_json<Whole>(scratch / "n").collect(), (std::vector<Whole>{{18446744073709551615U}}));
  });
  EXPECT_TRUE(has(report.bad_record_examples.at(0), "member 'n' is not a whole number")) << report.bad_record_examples[0];
}

TEST(Rows, NumbersAreWrittenWithTheShortestDigitsOfTheirOwnType) {
  const ScratchDirectory scratch;
  const std::vector<Narrow> narrow{{0.1F}, {1e20F}, {-0.0F}, {16777216}};
  const std::vector<Wide> wide{{0.1}, {1e22}};
  run_rows([&](Flow& flow) {
    flow.from_vector(narrow, 1).write_json(scratch / "narrow");
    flow.from_vector(wide, 1).write_json(scratch / "wide");
    flow.from_vector(narrow, 1).write_csv(scratch / "csv");
  });
  EXPECT_EQ(part_lines(scratch / "narrow"),
            (std::vector<std::string>{"{\"f\":0.1}", "{\"f\":1e+20}", "{\"f\":-0.0}", "{\"f\":16777216}"}));
  EXPECT_EQ(part_lines(scratch / "wide"), (std::vector<std::string>{"{\"d\":0.1}", "{\"d\":1e+22}"}));
  run_rows([&](Flow& flow) {
    EXPECT_EQ(flow.read_json<Narrow>(scratch / "narrow").collect(), narrow);
    EXPECT_EQ(flow.read_csv<Narrow>(scratch / "csv").collect(), narrow);
  });
}

TEST(Json, WritesWhatPythonReads) {
  const ScratchDirectory scratch;
  run_rows([&](Flow& flow) {
    flow.from_vector(std::vector<Shape>{{"q\"\\\t\x01\xff\xc3\xa9", {{1, 0.5}}, std::nullopt, true}}, 1)
        .write_json(scratch / "out", {.names = {{"name", "the name"}}});
  });
  EXPECT_EQ(
      part_lines(scratch / "out"),
      (std::vector<std::string>{
          "{\"the "
          "name\":\"q\\\"\\\\\\t\\u0001\xef\xbf\xbd\xc3\xa9\",\"points\":[{\"x\":1,\"y\":0.5}],\"center\":null,\"closed\":true}"}));
}

TEST(Csv, AnEmptyResultHasItsHeader) {
  const ScratchDirectory scratch;
  run_rows([&](Flow& flow) {
    const auto none = flow.from_vector(std::vector<Point>{{1, 2.0}}, 3).filter([](const Point&) { return false; });
    none.write_csv(scratch / "csv");
    none.write_csv(scratch / "bare", {.header = false});
  });
  EXPECT_EQ(part_lines(scratch / "csv"), (std::vector<std::string>{"x,y"}));
  EXPECT_TRUE(part_lines(scratch / "bare").empty());
}

TEST(Csv, PairsAndTuplesAreRowsWhoseColumnsTheFormatNames) {
  const ScratchDirectory scratch;
  run_rows([&](Flow& flow) {
    const auto totals = flow.from_vector(std::vector<std::pair<std::string, double>>{{"a, b", 1.5}, {"a, b", 2}, {"c", 3}}, 1)
                            .aggregate_by_key(weft::count(), weft::sum(), 1);
    totals.write_csv_file(scratch / "totals", {.columns = {"name", "how many", "sum"}});
    totals.write_csv_by(scratch / "by", [](const auto& total) { return "n=" + std::to_string(std::get<0>(total.second)); },
                        {.delimiter = ';', .columns = {"name", "how many", "sum"}});
    totals.write_csv(scratch / "bare", {.header = false});
    flow.from_vector(std::vector<std::tuple<Date, std::optional<std::int32_t>>>{{Date{0}, std::nullopt}, {Date{1}, 7}}, 1)
        .write_csv(scratch / "days", {.columns = {"day", "n"}, .times = {{"day", "%d.%m.%Y"}}});
  });
  EXPECT_EQ(part_lines(scratch / "totals"), (std::vector<std::string>{"name,how many,sum", "\"a, b\",2,3.5", "c,1,3"}));
  EXPECT_EQ(part_lines(scratch / "by/n=2"), (std::vector<std::string>{"name;how many;sum", "a, b;2;3.5"}));
  EXPECT_EQ(part_lines(scratch / "bare"), (std::vector<std::string>{"\"a, b\",2,3.5", "c,1,3"}));
  EXPECT_EQ(part_lines(scratch / "days"), (std::vector<std::string>{"day,n", "01.01.1970,", "02.01.1970,7"}));
  const auto failure = [&](const CsvFormat& format) {
    return failure_of([&](Flow& flow) {
      flow.from_vector(std::vector<std::pair<int, int>>{{1, 2}}).write_csv(scratch / "no", format);
    });
  };
  EXPECT_NE(failure({}).find("tuples of 2 parts, so CsvFormat::columns must name as many columns, and names 0"), std::string::npos);
  EXPECT_NE(failure({.columns = {"a", "b", "c"}}).find("and names 3"), std::string::npos);
}

struct Event {
  Date day;
  std::optional<Timestamp> at;
  friend bool operator==(const Event&, const Event&) = default;
};

TEST(Times, AreReadAndWrittenAsRowsAndOrdered) {
  const ScratchDirectory scratch;
  write_file(scratch / "in.csv",
             "day,at\n2026-11-28,2026-11-28T04:40:27.5Z\n1969-12-31,\n0001-01-01,1969-12-31 23:59:59.999999\n2024-02-29,2026-11-28 "
             "04:40+01:30\n2023-02-29,\n2026-11-28T00:00,\n2026-1-28,\n9999-12-31,2026-11-28T24:00:00Z\n");
  const std::vector<Event> wanted{{Date::of(2026, 11, 28), Timestamp{1'795'840'827'500'000}},
                                  {Date{-1}, std::nullopt},
                                  {Date::of(1, 1, 1), Timestamp{-1}},
                                  {Date::of(2024, 2, 29), Timestamp::of(Date::of(2026, 11, 28), (3 * 60 + 10) * 60)}};
  const auto report = run_locally(
      [&](Flow& flow) {
        const auto events = flow.read_csv<Event>(scratch / "in.csv");
        EXPECT_EQ(events.collect(), wanted);
        events.write_csv(scratch / "csv");
        events.write_json(scratch / "json");
        events.map([](const Event& event) { return std::pair(event.day, event.at); })
            .sort_by([](const auto& pair) { return pair.first; })
            .write_text(scratch / "text");
        EXPECT_EQ(events.aggregate(max(&Event::day)), Date::of(2026, 11, 28));
      },
      {.job = {{"max-bad-records", "100%"}}});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(part_lines(scratch / "csv"),
            (std::vector<std::string>{"day,at", "2026-11-28,2026-11-28T04:40:27.5Z", "1969-12-31,",
                                      "0001-01-01,1969-12-31T23:59:59.999999Z", "2024-02-29,2026-11-28T03:10:00Z"}));
  EXPECT_EQ(part_lines(scratch / "text").front(), "0001-01-01\t1969-12-31T23:59:59.999999Z");
  run_rows([&](Flow& flow) {
    EXPECT_EQ(flow.read_csv<Event>(scratch / "csv").collect(), wanted);
    EXPECT_EQ(flow.read_json<Event>(scratch / "json").collect(), wanted);
  });
  EXPECT_EQ(to_json(wanted[0]), "{\"day\":\"2026-11-28\",\"at\":\"2026-11-28T04:40:27.5Z\"}");
  EXPECT_EQ(to_json(std::vector<std::optional<std::string>>{"a\"b", std::nullopt}), "[\"a\\\"b\",null]");
}

TEST(Times, KnowTheCalendar) {
  for (std::int32_t days = -800'000; days < 3'000'000; days += 997) {
    const Date date{days};
    if (date.year() < 1 || date.year() > 9999) continue;
    EXPECT_EQ(Date::of(date.year(), date.month(), date.day()), date);
    std::string text;
    LineFormat<Date>::append(text, date);
    Date read;
    EXPECT_TRUE(parse_time(text, read)) << text;
    EXPECT_EQ(read, date);
  }
  EXPECT_EQ(Timestamp{-1}.date(), Date{-1});
  EXPECT_EQ(Timestamp{-1}.microseconds_of_day(), 86'399'999'999);
  EXPECT_THROW((void)Date::of(2026, 2, 29), std::invalid_argument);
  for (const char* text :
       {"", "2026", "2026-11-28 ", " 2026-11-28", "2026-11-28T", "2026-11-28T04", "2026-11-28T04:40:60", "2026-11-28T04:40:27.",
        "2026-11-28T04:40:27.1234567890", "2026-11-28T04:40Zx", "2026-11-28T04:40+", "2026-11-28T04:40+1",
        "2026-11-28T04:40+01:", "2026-11-28T04:40+01:60", "2026-13-01", "2026-00-01", "+026-11-28", "2026-11-31"}) {
    Timestamp time{77};
    EXPECT_FALSE(parse_time(text, time)) << text;
    EXPECT_EQ(time, Timestamp{77});
  }
}

}  // namespace
}  // namespace weft::test
