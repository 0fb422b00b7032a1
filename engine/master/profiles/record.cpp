#include "engine/master/profiles/record.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace weft::profiles {

namespace {

constexpr std::string_view kHeader = R"({"weft_profiles":1})";
constexpr double kMostAmount = 1e300;
constexpr std::size_t kMostRecordClasses = 64;

/// In the order of an array of `classes`, after the size.
constexpr double SizeClass::*kSums[] = {&SizeClass::weight,  &SizeClass::seconds,       &SizeClass::seconds2, &SizeClass::bytes,
                                        &SizeClass::bytes2,  &SizeClass::bytes_seconds, &SizeClass::written,  &SizeClass::cpu,
                                        &SizeClass::read,    &SizeClass::shuffle,       &SizeClass::write,    &SizeClass::memory,
                                        &SizeClass::overhead};

/// With nine digits: what is lost is far below what durations differ.
double rounded(double value) { return parse_number<double>(fmt::format("{:.9g}", value)).value_or(0); }

void write_relative(JsonWriter& json, std::string_view key, const Relative& relative) {
  json.key(key).begin_array().value(rounded(relative.weight)).value(rounded(relative.sum)).end_array();
}

std::vector<double> numbers_of(const SizeClass& one) {
  std::vector<double> numbers{static_cast<double>(one.size)};
  for (const auto& sum : kSums) numbers.push_back(rounded(one.*sum));
  for (const auto& [bucket, weight] : one.histogram) {
    numbers.push_back(bucket);
    numbers.push_back(rounded(weight));
  }
  return numbers;
}

bool is_amount(double value) { return value >= 0 && value <= kMostAmount; }
bool is_small(double value) { return std::abs(value) <= 1e4 && std::floor(value) == value; }

class RecordReader {
 public:
  RecordReader(std::string_view text, std::string_view source, std::uint64_t line) : json_(text, source, line) {}

  Result<Record> read() {
    Record record;
    bool named = false;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      named = named || key == "program";
      return member(key, record.first, record.second);
    }));
    WEFT_TRY(json_.finish());
    StageHistory& stage = record.second;
    WEFT_TRY(add_alone(stage.classes));
    const bool ordered = std::is_sorted(stage.classes.begin(), stage.classes.end(),
                                        [](const SizeClass& a, const SizeClass& b) { return a.size <= b.size; });
    if (!named || stage.runs == 0 || stage.classes.empty() || !ordered || stage.classes.size() > kMostRecordClasses)
      return fail(json_.error("this is no profile of a stage"));
    return record;
  }

 private:
  Result<void> member(std::string_view key, StageKey& of, StageHistory& stage) {
    if (key == "program") return text(of.program);
    if (key == "stage") {
      WEFT_ASSIGN(const std::int64_t id, json_.integer());
      if (id < 0 || id > UINT32_MAX) return fail(json_.error("this is no number of a stage"));
      of.stage = StageId(static_cast<std::uint32_t>(id));
      return {};
    }
    if (key == "name") return text(stage.is.name);
    if (key == "fingerprint") return fingerprint(stage.is.fingerprint);
    if (key == "reads_shuffle") {
      WEFT_ASSIGN(stage.is.reads_shuffle, json_.flag());
      return {};
    }
    if (key == "runs") {
      WEFT_ASSIGN(const std::int64_t runs, json_.integer());
      stage.runs = static_cast<std::uint64_t>(std::max<std::int64_t>(0, runs));
      return {};
    }
    if (key == "learned") {
      WEFT_ASSIGN(stage.learned, json_.integer());
      return {};
    }
    for (const auto& [name, amount] :
         {std::pair("error", &StageHistory::error), std::pair("error_weight", &StageHistory::error_weight),
          std::pair("predicted", &StageHistory::predicted), std::pair("true", &StageHistory::truth)})
      if (key == name) return number(stage.*amount);
    if (key == "local") return relative(stage.local);
    if (key == "remote") return relative(stage.remote);
    if (key == "kinds") return json_.object([&](std::string_view kind) { return relative(stage.kinds[std::string(kind)]); });
    if (key == "classes") return json_.array([&] { return size_class(stage.classes.emplace_back()); });
    if (key == "alone") {
      WEFT_ASSIGN(alone_, numbers());
      return {};
    }
    return json_.skip();
  }
  Result<void> text(std::string& value) {
    WEFT_ASSIGN(value, json_.text());
    return {};
  }
  Result<void> number(double& value) {
    WEFT_ASSIGN(value, json_.number());
    return is_amount(value) ? Result<void>() : fail(json_.error("an amount must be finite and not negative"));
  }
  Result<void> fingerprint(std::uint64_t& value) {
    WEFT_ASSIGN(const std::string hex, json_.text());
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    return error == std::errc() && end == hex.data() + hex.size() ? Result<void>() : fail(json_.error("this is no fingerprint"));
  }
  Result<std::vector<double>> numbers() {
    std::vector<double> all;
    WEFT_TRY(json_.array([&]() -> Result<void> {
      WEFT_ASSIGN(const double one, json_.number());
      all.push_back(one);
      return {};
    }));
    return all;
  }
  Result<void> relative(Relative& of) {
    WEFT_ASSIGN(const std::vector<double> pair, numbers());
    if (pair.size() != 2 || !is_amount(pair[0]) || !is_amount(pair[1])) return fail(json_.error("this is no weight and sum"));
    of = {pair[0], pair[1]};
    return {};
  }
  Result<void> size_class(SizeClass& one) {
    constexpr std::size_t kFixed = 1 + std::size(kSums);
    WEFT_ASSIGN(const std::vector<double> all, numbers());
    const bool whole = all.size() >= kFixed && (all.size() - kFixed) % 2 == 0 && is_small(all[0]);
    if (!whole || !std::all_of(all.begin() + 1, all.begin() + kFixed, is_amount)) return fail(json_.error("this is no class"));
    one.size = static_cast<int>(all[0]);
    for (std::size_t i = 0; i < std::size(kSums); ++i) one.*kSums[i] = all[i + 1];
    for (std::size_t i = kFixed; i < all.size(); i += 2) {
      if (!is_small(all[i]) || !is_amount(all[i + 1])) return fail(json_.error("this is no histogram"));
      one.histogram[static_cast<int>(all[i])] = all[i + 1];
    }
    return one.weight > 0 ? Result<void>() : fail(json_.error("a class without tasks"));
  }

  Result<void> add_alone(std::vector<SizeClass>& classes) const {
    const bool there = alone_.size() == 2 * classes.size() && std::all_of(alone_.begin(), alone_.end(), is_amount);
    if (!there && !alone_.empty()) return fail(json_.error("this is not what the tasks of its classes take alone"));
    for (std::size_t i = 0; i < classes.size(); ++i) {
      SizeClass& one = classes[i];
      one.alone = there ? alone_[2 * i] : std::max(0.0, one.seconds - one.shuffle);
      one.disk = there ? alone_[2 * i + 1] : one.written;
    }
    return {};
  }

  JsonReader json_;
  std::vector<double> alone_;
};

}  // namespace

std::string to_json(const StageKey& key, const StageHistory& stage) {
  JsonWriter json;
  json.begin_object().member("program", key.program).member("stage", key.stage.value()).member("name", stage.is.name);
  json.member("fingerprint", fmt::format("{:016x}", stage.is.fingerprint)).member("reads_shuffle", stage.is.reads_shuffle);
  json.member("runs", stage.runs).member("learned", stage.learned);
  json.member("error", rounded(stage.error)).member("error_weight", rounded(stage.error_weight));
  json.member("predicted", rounded(stage.predicted)).member("true", rounded(stage.truth));
  write_relative(json, "local", stage.local);
  write_relative(json, "remote", stage.remote);
  json.key("kinds").begin_object();
  for (const auto& [kind, relative] : stage.kinds) write_relative(json, kind, relative);
  json.end_object().key("classes").begin_array();
  for (const SizeClass& one : stage.classes) {
    json.begin_array();
    for (const double number : numbers_of(one)) json.value(number);
    json.end_array();
  }
  json.end_array().key("alone").begin_array();
  for (const SizeClass& one : stage.classes) json.value(rounded(one.alone)).value(rounded(one.disk));
  json.end_array().end_object();
  return json.text();
}

Result<Record> parse_record(std::string_view text, std::string_view source, std::uint64_t line) {
  return RecordReader(text, source, line).read();
}

std::string export_header() { return std::string(kHeader); }

Result<std::vector<Record>> parse_export(std::string_view text, std::string_view source) {
  const std::vector<std::string_view> lines = split(text, '\n');
  if (lines.empty() || trim(lines.front()) != kHeader)
    return fail(Code::version_mismatch, fmt::format("{} does not begin with {}: it was not written by `weft profile export` of a "
                                                    "release that this one understands",
                                                    source, kHeader));
  std::vector<Record> records;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (trim(lines[i]).empty()) continue;
    WEFT_ASSIGN(Record record, parse_record(lines[i], source, i + 1));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace weft::profiles
