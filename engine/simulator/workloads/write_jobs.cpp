// Any workload as a jobs file (load_jobs.cpp reads it), without members that have their default.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "base/named_file.hpp"
#include "engine/simulator/workloads/jobs_form.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

/// A form (jobs_form.hpp) that writes.
template <class Object>
class MemberWriter {
 public:
  MemberWriter(JsonWriter& json, const Object& object) : json_(json), object_(object) {}

  template <class T, class... Bounds>
  void operator()(std::string_view name, T Object::*member, Bounds...) {
    const T& value = object_.*member;
    if (is_default(value, member)) return;
    json_.key(name);
    write(value);
  }
  void option(const master::JobOption& option, master::JobOptions Object::*options) {
    if (!option.text(object_.*options)) return;
    json_.key(option.key);
    option.write(json_, object_.*options);
  }

 private:
  template <class T>
  static bool is_default(const T& value, T Object::*member) {
    static const Object kDefault;
    if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else {
      return value == kDefault.*member;
    }
  }
  template <class T>
  void write(const T& value) {
    json_.value(value);
  }
  void write(Time time) { json_.value(in_seconds(time)); }
  void write(const schedulers::Resources& resources) { json_.value(to_string(resources)); }
  template <class T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  template <class T>
  void write(const std::vector<T>& items) {
    json_.begin_array();
    for (const T& item : items) write(item);
    json_.end_array();
  }
  void write(const std::vector<Speedup>& speedups) {
    json_.begin_object();
    for (const Speedup& speedup : speedups) json_.member(speedup.attribute + "=" + speedup.value, speedup.factor);
    json_.end_object();
  }
  void write(const std::map<std::uint32_t, std::vector<StageSpec::Failure>>& failures) {
    json_.begin_array();
    for (const auto& [task, of_task] : failures) {
      for (const StageSpec::Failure& failure : of_task) {
        json_.begin_object().member("task", task).member("after", in_seconds(failure.after));
        if (failure.environment) json_.member("environment", true);
        json_.end_object();
      }
    }
    json_.end_array();
  }
  JsonWriter& json_;
  const Object& object_;
};

template <class Object, class Describe>
void add_members(JsonWriter& json, const Object& object, Describe describe) {
  MemberWriter writer(json, object);
  describe(writer);
}

std::string job_line(const JobSpec& job) {
  JsonWriter json;
  json.begin_object();
  add_members(json, job, [](auto& form) { describe_job(form); });
  add_members(json, job.hints, [](auto& form) { describe_hints(form); });
  json.key("stages").begin_array();
  for (const StageSpec& stage : job.stages) {
    json.begin_object();
    add_members(json, stage, [](auto& form) { describe_stage(form); });
    json.end_object();
  }
  json.end_array().end_object();
  return json.text();
}

}  // namespace

Result<void> write_jobs(const Workload& workload, const std::string& path, IfExists exists) {
  std::string text;
  const auto add_line = [&](const std::string& line) { (text += line) += '\n'; };
  for (const std::string& note : workload.notes) {
    JsonWriter json;
    json.begin_object().member("note", note).end_object();
    add_line(json.text());
  }
  for (const HostSpec& host : workload.hosts) {
    JsonWriter json;
    json.begin_object();
    add_members(json, host, [](auto& form) { describe_host(form); });
    json.end_object();
    add_line(json.text());
  }
  for (const JobSpec& job : workload.jobs) add_line(job_line(job));
  return write_named_file(path, text, exists);
}

}  // namespace weft::simulator::workloads
