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

  void text(std::string_view name, std::string Object::*member) {
    if (differs(member)) json_.member(name, object_.*member);
  }
  void time(std::string_view name, Time Object::*member) {
    if (differs(member)) json_.member(name, in_seconds(object_.*member));
  }
  void time(std::string_view name, std::optional<Time> Object::*member) {
    if (differs(member)) json_.member(name, in_seconds(*(object_.*member)));
  }
  void resources(std::string_view name, schedulers::Resources Object::*member) {
    if (differs(member)) json_.member(name, to_string(object_.*member));
  }
  void resources(std::string_view name, std::optional<schedulers::Resources> Object::*member) {
    if (differs(member)) json_.member(name, to_string(*(object_.*member)));
  }
  void bytes(std::string_view name, std::uint64_t Object::*member) {
    if (differs(member)) json_.member(name, object_.*member);
  }
  template <class T>
  void integer(std::string_view name, T Object::*member, std::int64_t, std::int64_t) {
    if (differs(member)) json_.member(name, object_.*member);
  }
  void real(std::string_view name, double Object::*member, double, double) {
    if (differs(member)) json_.member(name, object_.*member);
  }
  void real(std::string_view name, std::optional<double> Object::*member, double, double) {
    if (differs(member)) json_.member(name, *(object_.*member));
  }
  void option(const master::JobOption& option, master::JobOptions Object::*options) {
    if (!option.text(object_.*options)) return;
    json_.key(option.key);
    option.write(json_, object_.*options);
  }
  void times(std::string_view name, std::vector<Time> Object::*member) {
    list(name, object_.*member, [this](Time time) { json_.value(in_seconds(time)); });
  }
  void reals(std::string_view name, std::vector<double> Object::*member) {
    list(name, object_.*member, [this](double number) { json_.value(number); });
  }
  void parents(std::string_view name, std::vector<std::uint32_t> Object::*member) {
    list(name, object_.*member, [this](std::uint32_t parent) { json_.value(parent); });
  }
  void hosts(std::string_view name, std::vector<std::vector<std::string>> Object::*member) {
    list(name, object_.*member, [this](const std::vector<std::string>& task) {
      json_.begin_array();
      for (const std::string& host : task) json_.value(host);
      json_.end_array();
    });
  }
  void speedups(std::string_view name, std::vector<Speedup> Object::*member) {
    if ((object_.*member).empty()) return;
    json_.key(name).begin_object();
    for (const Speedup& speedup : object_.*member) json_.member(speedup.attribute + "=" + speedup.value, speedup.factor);
    json_.end_object();
  }
  void failures(std::string_view name, std::map<std::uint32_t, std::vector<StageSpec::Failure>> Object::*member) {
    list(name, object_.*member, [this](const auto& of_task) {
      for (const StageSpec::Failure& failure : of_task.second) {
        json_.begin_object().member("task", of_task.first).member("after", in_seconds(failure.after));
        if (failure.environment) json_.member("environment", true);
        json_.end_object();
      }
    });
  }

 private:
  template <class T>
  bool differs(T Object::*member) const {
    static const Object kDefault;
    return object_.*member != kDefault.*member;
  }
  template <class List, class Write>
  void list(std::string_view name, const List& items, Write write) {
    if (items.empty()) return;
    json_.key(name).begin_array();
    for (const auto& item : items) write(item);
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
