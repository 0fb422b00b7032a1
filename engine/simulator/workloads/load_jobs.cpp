// Workloads written by hand or by programs: JSON objects one after another, a job each (docs/formats/workloads.md).
#include <algorithm>
#include <cmath>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/jobs_form.hpp"
#include "engine/simulator/workloads/json_documents.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

/// Reads the next value into a variable, in the form that its type has in the file.
class ValueReader {
 public:
  /// `earlier`: the stages that parents may be.
  explicit ValueReader(JsonReader& json, const std::vector<StageSpec>* earlier = nullptr) : json_(json), earlier_(earlier) {}
  JsonReader& json() const { return json_; }

  Result<void> read(std::string& value) {
    WEFT_ASSIGN(value, json_.text());
    return {};
  }
  /// Seconds, or a text like "5min".
  Result<void> read(Time& value) {
    if (is_text()) {
      WEFT_ASSIGN(value, parsed(parse_duration));
    } else {
      WEFT_ASSIGN(const double seconds, json_.number());
      if (!(std::abs(seconds) <= kMaxSeconds)) return fail(json_.error(fmt::format("{} is too long a time", seconds)));
      value = to_time(seconds);
    }
    if (value >= Time(0) && value <= to_time(kMaxSeconds)) return {};
    return fail(json_.error("a time must be from 0 to 1e9 seconds"));
  }
  /// Bytes: a number, or a text like "5GiB".
  Result<void> read(std::uint64_t& value) {
    if (is_text()) {
      WEFT_ASSIGN(value, parsed(parse_size));
    } else {
      WEFT_TRY(read(value, 0, static_cast<double>(kMaxBytes)));
    }
    if (value <= kMaxBytes) return {};
    return fail(json_.error("an amount of bytes must be at most 1e18"));
  }
  /// A text like "cpu=1,memory=2GiB".
  Result<void> read(schedulers::Resources& value) {
    WEFT_ASSIGN(value, parsed(schedulers::parse_resources));
    return {};
  }
  Result<void> read(double& value) { return read(value, 0, 1e300); }
  /// A parent: its number or its name.
  Result<void> read(std::uint32_t& value) {
    if (!is_text()) return read(value, 0, static_cast<double>(kMaxStages));
    WEFT_ASSIGN(const std::string parent, json_.text());
    const auto found = std::ranges::find(*earlier_, parent, &StageSpec::name);
    if (found == earlier_->end())
      return fail(json_.error(fmt::format("the parent '{}' is not the name of an earlier stage of this job", escaped(parent))));
    value = static_cast<std::uint32_t>(found - earlier_->begin());
    return {};
  }
  /// A list of hosts, or one name.
  Result<void> read(std::vector<std::string>& hosts) {
    if (is_text()) return read(hosts.emplace_back());
    return json_.array([&] { return read(hosts.emplace_back()); });
  }
  template <class T>
  Result<void> read(std::vector<T>& items) {
    items.clear();
    return json_.array([&] { return read(items.emplace_back()); });
  }
  Result<void> read(std::vector<Speedup>& speedups) {
    speedups.clear();
    return json_.object([&](std::string_view key) -> Result<void> {
      const std::size_t equals = key.find('=');
      if (equals == 0 || equals == std::string_view::npos)
        return fail(
            json_.error(fmt::format("'{}' must be an attribute of nodes and its value: \"accelerator=gpu\"", escaped(key))));
      Speedup& speedup = speedups.emplace_back();
      speedup.attribute = key.substr(0, equals);
      speedup.value = key.substr(equals + 1);
      return read(speedup.factor, 1e-6, 1e6);
    });
  }
  Result<void> read(std::map<std::uint32_t, std::vector<StageSpec::Failure>>& failures) {
    failures.clear();
    return json_.array([&]() -> Result<void> {
      std::uint32_t task = 0;
      StageSpec::Failure failure;
      WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
        if (key == "task") return read(task, 0, static_cast<double>(kMaxTasks));
        if (key == "after") return read(failure.after);
        if (key != "environment") return fail(json_.error(fmt::format("a failure has no '{}'", escaped(key))));
        WEFT_ASSIGN(failure.environment, json_.flag());
        return {};
      }));
      failures[task].push_back(failure);
      return {};
    });
  }
  template <class T>
  Result<void> read(std::optional<T>& value) {
    return read(value.emplace());
  }

  Result<void> read(double& value, double low, double high) {
    WEFT_ASSIGN(value, json_.number());
    if (value >= low && value <= high) return {};
    return fail(json_.error(fmt::format("{} is not from {} to {}", value, low, high)));
  }
  template <std::integral T>
  Result<void> read(T& value, double low, double high) {
    const auto least = static_cast<std::int64_t>(low), most = static_cast<std::int64_t>(high);
    WEFT_ASSIGN(const std::int64_t number, json_.integer());
    if (number < least || number > most) return fail(json_.error(fmt::format("{} is not from {} to {}", number, least, most)));
    value = static_cast<T>(number);
    return {};
  }
  Result<void> read(std::optional<double>& value, double low, double high) { return read(value.emplace(), low, high); }

 private:
  bool is_text() { return json_.peek() == JsonReader::Kind::text; }
  template <class Parse>
  auto parsed(Parse parse) -> decltype(parse(std::string_view())) {
    WEFT_ASSIGN(const std::string text, json_.text());
    auto value = parse(text);
    if (!value) return fail(json_.error(value.error().to_string()));
    return value;
  }
  JsonReader& json_;
  const std::vector<StageSpec>* earlier_;
};

/// A form (jobs_form.hpp) that reads the member with the present key, if it is one of the object's.
template <class Object>
class MemberReader {
 public:
  MemberReader(const ValueReader& value, std::string_view key, Object& object) : value_(value), key_(key), object_(object) {}

  template <class T, class... Bounds>
  void operator()(std::string_view name, T Object::*member, Bounds... bounds) {
    if (found_) return;
    names_.emplace_back(name);
    found_ = name == key_;
    if (found_) result_ = value_.read(object_.*member, static_cast<double>(bounds)...);
  }
  template <class Member>
  void option(const master::JobOption& option, Member options) {
    if (found_) return;
    names_.push_back(option.key);
    found_ = option.key == key_;
    if (found_) result_ = option.read(value_.json(), object_.*options);
  }

  bool found() const { return found_; }
  /// The names of the members up to the one with the key.
  const std::vector<std::string>& names() const { return names_; }
  Result<void> take_result() { return std::move(result_); }

 private:
  ValueReader value_;
  std::string_view key_;
  Object& object_;
  bool found_ = false;
  std::vector<std::string> names_;
  Result<void> result_;
};

/// One object of the file: a job, a host or a note.
class JobsEntry {
 public:
  explicit JobsEntry(const JsonReader& json) : json_(json) {}

  Result<void> read_into(Workload& workload) {
    JobSpec job;
    HostSpec host;
    std::optional<std::string> note;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      if (key == "stages") return json_.array([&] { return stage(job.stages); });
      ValueReader value(json_);
      if (key == "note") return value.read(note);
      MemberReader in_job(value, key, job);
      describe_job(in_job);
      if (in_job.found()) return in_job.take_result();
      MemberReader in_hints(value, key, job.hints);
      describe_hints(in_hints);
      if (in_hints.found()) return in_hints.take_result();
      MemberReader in_host(value, key, host);
      describe_host(in_host);
      if (in_host.found()) return in_host.take_result();
      std::vector<std::string> names{"stages", "note"};
      for (const auto* more : {&in_job.names(), &in_hints.names(), &in_host.names()})
        names.insert(names.end(), more->begin(), more->end());
      return unknown("a job", key, names);
    }));
    WEFT_TRY(json_.finish());
    if (!host.name.empty() && job.stages.empty()) {
      workload.hosts.push_back(std::move(host));
    } else if (note && job.stages.empty()) {
      workload.notes.push_back(std::move(*note));
    } else if (job.stages.empty()) {
      return fail(json_.error(fmt::format("the job '{}' has no stages", escaped(job.name))));
    } else if (workload.jobs.size() == kMaxJobs) {
      return fail(json_.error(fmt::format("more than {} jobs", kMaxJobs)));
    } else {
      workload.jobs.push_back(std::move(job));
    }
    return {};
  }

 private:
  Error wrong(const StageSpec& stage, std::string_view why) const {
    return json_.error(fmt::format("stage '{}': {}", escaped(stage.name), why));
  }

  Result<void> unknown(std::string_view what, std::string_view key, const std::vector<std::string>& names) const {
    const std::string_view near = nearest(key, names);
    return fail(json_.error(
        fmt::format("{} has no '{}'{}", what, escaped(key), near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))));
  }

  Result<void> stage(std::vector<StageSpec>& stages) {
    if (stages.size() == kMaxStages) return fail(json_.error(fmt::format("more than {} stages in a job", kMaxStages)));
    StageSpec read;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      MemberReader reader(ValueReader(json_, &stages), key, read);
      describe_stage(reader);
      return reader.found() ? reader.take_result() : unknown("a stage", key, reader.names());
    }));
    if (read.name.empty()) read.name = fmt::format("stage {}", stages.size());
    WEFT_TRY(check(read, stages));
    stages.push_back(std::move(read));
    return {};
  }

  Result<void> check(StageSpec& stage, const std::vector<StageSpec>& earlier) {
    for (const std::uint32_t parent : stage.parents) {
      if (parent >= earlier.size())
        return fail(wrong(stage, fmt::format("its parent {} is not an earlier stage (from 0)", parent)));
    }
    if (!stage.durations.empty() && stage.durations.size() != stage.tasks)
      return fail(wrong(stage, fmt::format("{} durations for {} tasks", stage.durations.size(), stage.tasks)));
    if (!stage.hosts.empty() && stage.hosts.size() != stage.tasks)
      return fail(wrong(stage, fmt::format("{} lists of hosts for {} tasks", stage.hosts.size(), stage.tasks)));
    if (!stage.failures.empty() && stage.failures.rbegin()->first >= stage.tasks)
      return fail(
          wrong(stage, fmt::format("task {} is to fail, but there are {} (from 0)", stage.failures.rbegin()->first, stage.tasks)));
    return {};
  }

  JsonReader json_;
};

}  // namespace

Result<Workload> load_jobs(const std::string& path, const Settings& settings, const Context&) {
  WEFT_TRY(assign_none(settings));
  WEFT_ASSIGN(JsonDocuments documents, JsonDocuments::open(path));
  Workload workload;
  WEFT_TRY(documents.for_each([&](const JsonReader& json) { return JobsEntry(json).read_into(workload); }));
  return workload;
}

}  // namespace weft::simulator::workloads
