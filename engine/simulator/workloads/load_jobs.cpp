// Workloads written by hand or by programs: JSON objects one after another, a job each (docs/formats/workloads.md).
#include <algorithm>
#include <cmath>
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

/// The value that comes next.
class ValueReader {
 public:
  explicit ValueReader(JsonReader& json) : json_(json) {}

  Result<void> read(std::string& value) {
    WEFT_ASSIGN(value, json_.text());
    return {};
  }
  /// Seconds, or a text like "5min".
  Result<void> read(Time& value) {
    if (json_.peek() == JsonReader::Kind::text) {
      WEFT_ASSIGN(value, parsed(parse_duration));
    } else {
      WEFT_ASSIGN(const double seconds, json_.number());
      if (!(std::abs(seconds) <= kMaxSeconds)) return fail(json_.error(fmt::format("{} is too long a time", seconds)));
      value = to_time(seconds);
    }
    if (value >= Time(0) && value <= to_time(kMaxSeconds)) return {};
    return fail(json_.error("a time must be from 0 to 1e9 seconds"));
  }
  /// A number, or a text like "5GiB".
  Result<void> read_bytes(std::uint64_t& value) {
    if (json_.peek() == JsonReader::Kind::text) {
      WEFT_ASSIGN(value, parsed(parse_size));
    } else {
      WEFT_TRY(read_integer(value, 0, static_cast<std::int64_t>(kMaxBytes)));
    }
    if (value <= kMaxBytes) return {};
    return fail(json_.error("an amount of bytes must be at most 1e18"));
  }
  template <class T>
  Result<void> read_integer(T& value, std::int64_t low, std::int64_t high) {
    WEFT_ASSIGN(const std::int64_t number, json_.integer());
    if (number < low || number > high) return fail(json_.error(fmt::format("{} is not from {} to {}", number, low, high)));
    value = static_cast<T>(number);
    return {};
  }
  Result<void> read_real(double& value, double low, double high) {
    WEFT_ASSIGN(value, json_.number());
    if (value >= low && value <= high) return {};
    return fail(json_.error(fmt::format("{} is not from {} to {}", value, low, high)));
  }
  Result<void> read_real(std::optional<double>& value, double low, double high) { return read_real(value.emplace(), low, high); }
  /// A text like "cpu=1,memory=2GiB".
  Result<void> read(schedulers::Resources& value) {
    WEFT_ASSIGN(value, parsed(schedulers::parse_resources));
    return {};
  }
  template <class T>
  Result<void> read(std::optional<T>& value) {
    return read(value.emplace());
  }

 private:
  template <class Parse>
  auto parsed(Parse parse) -> decltype(parse(std::string_view())) {
    WEFT_ASSIGN(const std::string text, json_.text());
    auto value = parse(text);
    if (!value) return fail(json_.error(value.error().to_string()));
    return value;
  }
  JsonReader& json_;
};

/// A form (jobs_form.hpp) that reads the member with the present key, if it is one of the object's.
template <class Object>
class MemberReader {
 public:
  MemberReader(JsonReader& json, std::string_view key, Object& object) : json_(json), value_(json), key_(key), object_(object) {}

  template <class Member>
  void text(std::string_view name, Member member) {
    if (is(name)) result_ = value_.read(object_.*member);
  }
  template <class Member>
  void time(std::string_view name, Member member) {
    if (is(name)) result_ = value_.read(object_.*member);
  }
  template <class Member>
  void resources(std::string_view name, Member member) {
    if (is(name)) result_ = value_.read(object_.*member);
  }
  template <class Member>
  void bytes(std::string_view name, Member member) {
    if (is(name)) result_ = value_.read_bytes(object_.*member);
  }
  template <class Member>
  void integer(std::string_view name, Member member, std::int64_t low, std::int64_t high) {
    if (is(name)) result_ = value_.read_integer(object_.*member, low, high);
  }
  template <class Member>
  void real(std::string_view name, Member member, double low, double high) {
    if (is(name)) result_ = value_.read_real(object_.*member, low, high);
  }
  template <class Member>
  void option(const master::JobOption& option, Member options) {
    if (is(option.key)) result_ = option.read(json_, object_.*options);
  }
  template <class Member>
  void times(std::string_view name, Member member) {
    list(name, object_.*member, [this](Time& item) { return value_.read(item); });
  }
  template <class Member>
  void reals(std::string_view name, Member member) {
    list(name, object_.*member, [this](double& item) { return value_.read_real(item, 0, 1e300); });
  }
  template <class Member>
  void parents(std::string_view name, Member member) {
    list(name, object_.*member, [this](std::uint32_t& item) -> Result<void> {
      if (json_.peek() != JsonReader::Kind::text) return value_.read_integer(item, 0, static_cast<std::int64_t>(kMaxStages));
      WEFT_ASSIGN(const std::string parent, json_.text());
      const auto found = std::ranges::find(*earlier_, parent, &StageSpec::name);
      if (found == earlier_->end()) {
        return fail(json_.error(fmt::format("the parent '{}' is not the name of an earlier stage of this job", escaped(parent))));
      }
      item = static_cast<std::uint32_t>(found - earlier_->begin());
      return {};
    });
  }
  /// Of each task a list, or one name.
  template <class Member>
  void hosts(std::string_view name, Member member) {
    list(name, object_.*member, [this](std::vector<std::string>& task) -> Result<void> {
      if (json_.peek() == JsonReader::Kind::text) {
        WEFT_ASSIGN(task.emplace_back(), json_.text());
        return {};
      }
      return json_.array([&] { return value_.read(task.emplace_back()); });
    });
  }
  template <class Member>
  void speedups(std::string_view name, Member member) {
    if (!is(name)) return;
    (object_.*member).clear();
    result_ = json_.object([&](std::string_view key) -> Result<void> {
      const std::size_t equals = key.find('=');
      if (equals == 0 || equals == std::string_view::npos)
        return fail(
            json_.error(fmt::format("'{}' must be an attribute of nodes and its value: \"accelerator=gpu\"", escaped(key))));
      Speedup& speedup = (object_.*member).emplace_back();
      speedup.attribute = key.substr(0, equals);
      speedup.value = key.substr(equals + 1);
      return value_.read_real(speedup.factor, 1e-6, 1e6);
    });
  }
  template <class Member>
  void failures(std::string_view name, Member member) {
    if (!is(name)) return;
    (object_.*member).clear();
    result_ = json_.array([&]() -> Result<void> {
      std::uint32_t task = 0;
      StageSpec::Failure failure;
      WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
        if (key == "task") return value_.read_integer(task, 0, static_cast<std::int64_t>(kMaxTasks));
        if (key == "after") return value_.read(failure.after);
        if (key != "environment") return fail(json_.error(fmt::format("a failure has no '{}'", escaped(key))));
        WEFT_ASSIGN(failure.environment, json_.flag());
        return {};
      }));
      (object_.*member)[task].push_back(failure);
      return {};
    });
  }

  void among(const std::vector<StageSpec>& earlier) { earlier_ = &earlier; }
  bool found() const { return found_; }
  const std::vector<std::string>& names() const { return names_; }
  Result<void> take_result() { return std::move(result_); }

 private:
  /// The names that were asked for before the key's are of no use.
  bool is(std::string_view name) {
    if (found_) return false;
    names_.emplace_back(name);
    found_ = name == key_;
    return found_;
  }
  template <class List, class Read>
  void list(std::string_view name, List& items, Read read) {
    if (!is(name)) return;
    items.clear();
    result_ = json_.array([&] { return read(items.emplace_back()); });
  }

  JsonReader& json_;
  ValueReader value_;
  std::string_view key_;
  Object& object_;
  const std::vector<StageSpec>* earlier_ = nullptr;
  bool found_ = false;
  std::vector<std::string> names_;  // without the key's
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
      if (key == "note") return ValueReader(json_).read(note);
      MemberReader in_job(json_, key, job);
      describe_job(in_job);
      if (in_job.found()) return in_job.take_result();
      MemberReader in_hints(json_, key, job.hints);
      describe_hints(in_hints);
      if (in_hints.found()) return in_hints.take_result();
      MemberReader in_host(json_, key, host);
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
      MemberReader reader(json_, key, read);
      reader.among(stages);
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
