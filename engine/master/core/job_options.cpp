#include "engine/master/core/job_options.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "engine/master/core/bad_record_check.hpp"
#include "schedulers/view/hints.hpp"

namespace weft::master {

namespace {

constexpr double kMostWeight = 1e6;
constexpr double kLeastSlowStart = 1e-9;  // in messages 0 stands for an option that is unset
constexpr std::uint32_t kMostReplicas = 2;

using Hints = std::map<std::string, std::string>;

// ---- one value: from text, to text, to and from JSON --------------------------------------------------------------

tl::unexpected<Error> refused(std::string_view text, std::string_view what_it_is) {
  return fail(Code::invalid_argument, fmt::format("'{}' is {}", escaped(text), what_it_is));
}

tl::unexpected<Error> none_of(std::string_view text, const std::vector<std::string>& choices) {
  const std::string_view near = nearest(text, choices);
  return refused(text,
                 fmt::format("none of {}{}", join(choices, ", "), near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

Result<void> parse(std::string_view text, std::string& value) {
  value = text;
  return {};
}
template <class T>
requires std::is_arithmetic_v<T> Result<void> parse(std::string_view text, T& value) {
  const auto number = parse_number<T>(text);
  if (!number) return refused(text, std::is_integral_v<T> ? "not a whole number" : "not a number");
  value = *number;
  return {};
}
Result<void> parse(std::string_view text, Duration& value) {
  WEFT_ASSIGN(value, parse_duration(text));
  return {};
}
Result<void> parse(std::string_view text, schedulers::Resources& value) {
  WEFT_ASSIGN(value, schedulers::parse_resources(text));
  return {};
}
Result<void> parse(std::string_view text, shuffle::Mode& value) {
  if (!from_text(text, value)) return none_of(text, {"memory", "pull"});
  return {};
}
Result<void> parse(std::string_view text, runtime::BadRecordLimit& value) {
  if (!text.ends_with('%')) {
    const auto count = parse_number<std::uint64_t>(text);
    if (!count) return fail(Code::invalid_argument, "not a number of records, nor a part of them such as 0.1%");
    value = {.count = *count};
    return {};
  }
  const auto part = parse_number<double>(text.substr(0, text.size() - 1));
  if (!part || !(*part >= 0 && *part <= 100)) return fail(Code::invalid_argument, "not a part from 0% to 100%");
  value = {.percent = *part};
  return {};
}
Result<void> parse(std::string_view text, Switch& value) {
  if (text != "on" && text != "off") return none_of(text, {"on", "off"});
  value = text == "on" ? Switch::on : Switch::off;
  return {};
}
Result<void> parse(std::string_view text, OnDisconnect& value) {
  if (text != "kill" && text != "continue") return none_of(text, {"kill", "continue"});
  value = text == "kill" ? OnDisconnect::kill : OnDisconnect::go_on;
  return {};
}
Result<void> parse(std::string_view text, Hints& hints) {
  WEFT_ASSIGN(auto hint, schedulers::parse_hint(text));
  hints.insert_or_assign(std::move(hint.first), std::move(hint.second));
  return {};
}
template <class T>
Result<void> parse(std::string_view text, std::optional<T>& value) {
  return parse(text, value.emplace());
}

std::string text_of(const std::string& value) { return value; }
template <class T>
requires std::is_arithmetic_v<T> std::string text_of(T value) { return fmt::format("{}", value); }
std::string text_of(Duration value) { return format_duration(value); }
std::string text_of(const schedulers::Resources& value) { return to_string(value); }
std::string text_of(shuffle::Mode value) { return std::string(to_string(value)); }
std::string text_of(const runtime::BadRecordLimit& value) { return limit_text(value); }
std::string text_of(Switch value) { return value == Switch::on ? "on" : "off"; }
std::string text_of(OnDisconnect value) { return value == OnDisconnect::kill ? "kill" : "continue"; }
std::string text_of(const Hints& hints) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : hints) texts.push_back(fmt::format("{}={}", key, value));
  return join(texts, ", ");
}
template <class T>
std::string text_of(const std::optional<T>& value) {
  return text_of(*value);
}

void write(JsonWriter& json, const schedulers::Resources& value) {
  json.begin_object();
  for (const auto& kind : schedulers::kResourceKinds)
    if (value.*kind.amount != 0) json.member(kind.name, value.*kind.amount);
  json.end_object();
}
void write(JsonWriter& json, const Hints& hints) {
  json.begin_object();
  for (const auto& [key, value] : hints) json.member(key, value);
  json.end_object();
}
void write(JsonWriter& json, Duration value) { json.value(value.count()); }
template <class T>
void write(JsonWriter& json, const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    json.value(value);
  } else {
    json.value(text_of(value));
  }
}
template <class T>
void write(JsonWriter& json, const std::optional<T>& value) {
  write(json, *value);
}

Result<void> read(JsonReader& json, double& value) {
  WEFT_ASSIGN(value, json.number());
  return {};
}
template <class T>
requires std::is_integral_v<T> Result<void> read(JsonReader& json, T& value) {
  WEFT_ASSIGN(const std::int64_t number, json.integer());
  if (!std::in_range<T>(number)) return fail(json.error(fmt::format("{} is out of range", number)));
  value = static_cast<T>(number);
  return {};
}
Result<void> read(JsonReader& json, Duration& value) {
  WEFT_ASSIGN(const std::int64_t count, json.integer());
  value = Duration(count);
  return {};
}
Result<void> read(JsonReader& json, schedulers::Resources& value) {
  return json.object([&](std::string_view key) -> Result<void> {
    const auto kind = std::find_if(schedulers::kResourceKinds.begin(), schedulers::kResourceKinds.end(),
                                   [&](const schedulers::ResourceKind& one) { return one.name == key; });
    return kind == schedulers::kResourceKinds.end() ? json.skip() : read(json, value.*(kind->amount));
  });
}
Result<void> read(JsonReader& json, Hints& hints) {
  return json.object([&](std::string_view key) -> Result<void> {
    WEFT_ASSIGN(hints[std::string(key)], json.text());
    return {};
  });
}
template <class T>
Result<void> read(JsonReader& json, T& value) {
  WEFT_ASSIGN(const std::string text, json.text());
  auto parsed = parse(text, value);
  if (!parsed) return fail(json.error(parsed.error().to_string()));
  return {};
}
template <class T>
Result<void> read(JsonReader& json, std::optional<T>& value) {
  return read(json, value.emplace());
}

// ---- one option ---------------------------------------------------------------------------------------------------

template <class T>
T& value_of(T& value) {
  return value;
}
template <class T>
T& value_of(std::optional<T>& value) {
  return *value;
}
template <class T>
struct Bare {
  using type = T;
};
template <class T>
struct Bare<std::optional<T>> {
  using type = T;
};

enum class In { clusters, clusters_and_simulations };

/// `check` returns what is wrong with a value that could be parsed, empty if nothing is; it may round the value.
template <class T>
JobOption option(std::string name, std::string value, std::string help, In where, T JobOptions::*member,
                 std::string (*check)(typename Bare<T>::type&) = nullptr) {
  JobOption made;
  made.key = name;
  std::replace(made.key.begin(), made.key.end(), '-', '_');
  made.name = std::move(name);
  made.value = std::move(value);
  made.help = std::move(help);
  made.repeatable = std::is_same_v<T, Hints>;
  made.simulated = where == In::clusters_and_simulations;
  if (made.name == "deadline") made.key += "_after";  // deadline_ns of logs is a point of time
  if (made.name == "name") made.key = "title";        // the name of logs is the program's
  if (std::is_same_v<T, Duration>) made.key += "_ns";
  if (made.repeatable) made.key += "s";
  const auto checked = [check](T& parsed) { return check == nullptr ? std::string() : check(value_of(parsed)); };
  made.set = [member, checked](std::string_view text, JobOptions& options) -> Result<void> {
    T parsed = std::is_same_v<T, Hints> ? options.*member : T{};
    WEFT_TRY(parse(text, parsed));
    if (const std::string wrong = checked(parsed); !wrong.empty()) return refused(text, wrong);
    options.*member = std::move(parsed);
    return {};
  };
  made.text = [member](const JobOptions& options) {
    return options.*member == JobOptions().*member ? std::nullopt : std::optional(text_of(options.*member));
  };
  made.write = [member](JsonWriter& json, const JobOptions& options) { write(json, options.*member); };
  made.read = [member, checked, made_key = made.key](JsonReader& json, JobOptions& options) -> Result<void> {
    WEFT_TRY(read(json, options.*member));
    if (options.*member == JobOptions().*member) return {};  // written by an earlier release, which wrote what was unset, too
    if (const std::string wrong = checked(options.*member); !wrong.empty())
      return fail(json.error(fmt::format("{} is {}", made_key, wrong)));
    return {};
  };
  return made;
}

std::string positive(Duration& value) { return value > Duration(0) ? "" : "not more than 0"; }

std::vector<JobOption> make_options() {
  constexpr In kClusters = In::clusters, kBoth = In::clusters_and_simulations;
  return {
      option("name", "TEXT", "What the job is called where jobs are listed (default: as its program)", kClusters,
             &JobOptions::title,
             [](std::string& title) -> std::string {
               return !title.empty() && title.size() <= kMostJobName && printable(title) == title
                          ? ""
                          : fmt::format("not 1 to {} bytes of printable text", kMostJobName);
             }),
      option("user", "NAME", "On whose behalf the job runs (default: your login name)", kBoth, &JobOptions::user),
      option("pool", "NAME", "Pool or queue of the scheduler", kBoth, &JobOptions::pool),
      option("priority", "N", "Larger goes first (0)", kBoth, &JobOptions::priority),
      option("weight", "WEIGHT", "Its part of what jobs share, against theirs, where the scheduler shares (1)", kClusters,
             &JobOptions::weight,
             [](double& weight) -> std::string {
               return weight > 0 && weight <= kMostWeight ? "" : fmt::format("not a number above 0, at most {}", kMostWeight);
             }),
      option("deadline", "TIME", "When the job should be done, from its start, such as 10min; for schedulers that care", kClusters,
             &JobOptions::deadline, positive),
      option("demand", "RESOURCES", "What each task needs of its node, such as cpu=1,memory=512MiB", kClusters,
             &JobOptions::demand),
      option("hint", "KEY=VALUE", "What schedulers may know of the job, such as shuffle_ratio=0.4; may be repeated", kClusters,
             &JobOptions::hints),
      option("task-timeout", "TIME", "Longest time a task may take, such as 30s", kClusters, &JobOptions::task_timeout, positive),
      option(
          "max-bad-records", "N|P%",
          "Fail the job when more records are bad, or more of those that a stage reads, such as 0.1% (default: half of a source's)",
          kClusters, &JobOptions::max_bad_records),
      option("speculate", "on|off", "off: no speculative attempts at its slow tasks, for functions with effects of their own (on)",
             kBoth, &JobOptions::speculate),
      option("max-attempts", "N", "Attempts at a task before the job fails, 1 to 1000 (4)", kBoth, &JobOptions::max_attempts,
             [](std::uint32_t& attempts) -> std::string {
               return attempts >= 1 && attempts <= kMostAttempts ? "" : fmt::format("not a number from 1 to {}", kMostAttempts);
             }),
      option("shuffle-mode", "memory|pull",
             "memory: keep map outputs there and bring them to their readers early (default); pull: write them to disk, fetch them "
             "late",
             kBoth, &JobOptions::shuffle_mode),
      option(
          "shuffle-replicas", "1|2",
          "Replicas of map outputs, on different workers: 1 (default), or 2, so that a lost worker's maps need not run again",
          kBoth, &JobOptions::shuffle_replicas,
          [](std::uint32_t& replicas) -> std::string { return replicas >= 1 && replicas <= kMostReplicas ? "" : "none of 1, 2"; }),
      option("slow-start", "PART", "Part of the maps that must end before reduces start and wait for the others, from 0 to 1 (1)",
             kBoth, &JobOptions::slow_start,
             [](double& part) -> std::string {
               if (!(part >= 0 && part <= 1)) return "not a number from 0 to 1";
               part = std::max(part, kLeastSlowStart);
               return "";
             }),
      option("request-id", "ID", "A name of your own for this submission: where a job of yours has it already, no other is made",
             kClusters, &JobOptions::request_id,
             [](std::string& id) -> std::string {
               const bool shown = std::all_of(id.begin(), id.end(), [](char c) { return c >= ' ' && c <= '~'; });
               return !id.empty() && id.size() <= kMostRequestId && shown
                          ? ""
                          : fmt::format("not 1 to {} printable characters of ASCII", kMostRequestId);
             }),
      option(
          "on-disconnect", "kill|continue",
          "When the driver's terminal or machine goes away, kill: the job ends (default); continue: its driver is started in the "
          "cluster",
          kClusters, &JobOptions::on_disconnect),
  };
}

}  // namespace

const std::vector<JobOption>& job_options() {
  static const std::vector<JobOption> kOptions = make_options();
  return kOptions;
}

Result<void> set_job_options(const std::map<std::string, std::string>& texts, JobOptions& options) {
  for (const auto& [name, text] : texts) {
    const auto known =
        std::find_if(job_options().begin(), job_options().end(), [&](const JobOption& one) { return one.name == name; });
    if (known == job_options().end()) {
      std::vector<std::string> names;
      for (const JobOption& one : job_options()) names.push_back(one.name);
      return fail(Code::invalid_argument, fmt::format("a job has no option '{}'; it has {}", escaped(name), join(names, ", ")));
    }
    if (auto set = known->set(text, options); !set) return fail(std::move(set).error().wrap(name));
  }
  return {};
}

std::map<std::string, std::string> texts_of(const JobOptions& options) {
  std::map<std::string, std::string> texts;
  for (const JobOption& one : job_options())
    if (auto text = one.text(options)) texts.emplace(one.name, std::move(*text));
  return texts;
}

}  // namespace weft::master
