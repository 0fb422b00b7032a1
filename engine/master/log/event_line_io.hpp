// Writes and reads lines of an event log for event_line.cpp: there members(io, line) names each member once, for both.
#pragma once

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "engine/master/core/job_options.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::master {

/// Writes the members that the line of this event has.
class JsonOut {
 public:
  JsonOut(JsonWriter& json, const std::string& event) : json_(json), event_(event) {}

  /// Whether it is one of these, which are named once: when it was found, it is none of the others.
  bool is(std::initializer_list<std::string_view> events) {
    if (found_ || std::find(events.begin(), events.end(), event_) == events.end()) return false;
    return found_ = true;
  }
  template <class T>
  void operator()(std::string_view name, T& member) {
    json_.key(name);
    write(member);
  }
  template <class T>
  void operator()(std::string_view name, std::optional<T>& member) {
    if (member) (*this)(name, *member);
  }
  /// A member that is left out when it is zero, false, empty.
  template <class T>
  void if_set(std::string_view name, T& member) {
    if (member != T{}) (*this)(name, member);
  }
  /// A member that is left out when it has that value.
  template <class T>
  void unless(const T& value, std::string_view name, T& member) {
    if (member != value) (*this)(name, member);
  }
  /// Those that are set.
  void options(JobOptions& options) {
    for (const JobOption& option : job_options()) {
      if (!option.text(options)) continue;
      json_.key(option.key);
      option.write(json_, options);
    }
  }
  /// A name that earlier releases wrote.
  template <class T>
  void alias(std::string_view, T&) {}

 private:
  void write(std::chrono::nanoseconds time) { json_.value(time.count()); }
  void write(schedulers::Resources& resources) {
    json_.begin_object();
    for (const auto& kind : schedulers::kResourceKinds)
      if (resources.*kind.amount != 0) json_.member(kind.name, resources.*kind.amount);
    json_.end_object();
  }
  template <class T>
  void write(std::vector<T>& items) {
    json_.begin_array();
    for (T& item : items) write(item);
    json_.end_array();
  }
  template <class T>
  void write(std::map<std::string, T>& items) {
    json_.begin_object();
    for (const auto& [name, value] : items) json_.member(name, value);
    json_.end_object();
  }
  template <class T>
  void write(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      json_.value(value);
    } else {
      json_.begin_object();
      members(*this, value);
      json_.end_object();
    }
  }

  JsonWriter& json_;
  const std::string_view event_;
  bool found_ = false;
};

/// Reads the value of one key into the member of that name, whatever the event: keys come in any order.
class JsonIn {
 public:
  JsonIn(JsonReader& json, std::string_view key) : json_(json), key_(key) {}

  static bool is(std::initializer_list<std::string_view>) { return true; }
  template <class T>
  void operator()(std::string_view name, T& member) {
    if (taken_ || name != key_) return;
    taken_ = true;
    result_ = read(member);
  }
  template <class T>
  void if_set(std::string_view name, T& member) {
    (*this)(name, member);
  }
  template <class T>
  void unless(const T&, std::string_view name, T& member) {
    (*this)(name, member);
  }
  void options(JobOptions& options) {
    for (const JobOption& option : job_options()) {
      if (taken_ || option.key != key_) continue;
      taken_ = true;
      result_ = option.read(json_, options);
    }
  }
  template <class T>
  void alias(std::string_view name, T& member) {
    (*this)(name, member);
  }
  Result<void> end() { return taken_ ? std::move(result_) : json_.skip(); }

 private:
  Result<void> read(std::string& value) {
    WEFT_ASSIGN(value, json_.text());
    return {};
  }
  Result<void> read(double& value) {
    WEFT_ASSIGN(value, json_.number());
    return {};
  }
  Result<void> read(bool& value) {
    WEFT_ASSIGN(value, json_.flag());
    return {};
  }
  Result<void> read(std::chrono::nanoseconds& value) {
    WEFT_ASSIGN(const auto count, json_.integer());
    value = std::chrono::nanoseconds(count);
    return {};
  }
  template <class T>
  requires std::is_integral_v<T> Result<void> read(T& value) {
    if constexpr (std::is_signed_v<T>) {
      WEFT_ASSIGN(const std::int64_t number, json_.integer());
      return narrow(number, value);
    } else {
      WEFT_ASSIGN(const std::uint64_t number, json_.unsigned_integer());
      return narrow(number, value);
    }
  }
  template <class Wide, class T>
  Result<void> narrow(Wide number, T& value) {
    if (!std::in_range<T>(number)) return fail(json_.error(fmt::format("{} is out of range", number)));
    value = static_cast<T>(number);
    return {};
  }
  Result<void> read(schedulers::Resources& resources) {
    return json_.object([&](std::string_view key) -> Result<void> {
      const auto kind = std::find_if(schedulers::kResourceKinds.begin(), schedulers::kResourceKinds.end(),
                                     [&](const schedulers::ResourceKind& one) { return one.name == key; });
      return kind == schedulers::kResourceKinds.end() ? json_.skip() : read(resources.*(kind->amount));
    });
  }
  template <class T>
  Result<void> read(std::optional<T>& value) {
    return read(value.emplace());
  }
  template <class T>
  Result<void> read(std::vector<T>& values) {
    return json_.array([&] { return read(values.emplace_back()); });
  }
  template <class T>
  Result<void> read(std::map<std::string, T>& values) {
    return json_.object([&](std::string_view key) { return read(values[std::string(key)]); });
  }
  template <class T>
  requires std::is_class_v<T> Result<void> read(T& value) {
    return json_.object([&](std::string_view key) {
      JsonIn io(json_, key);
      members(io, value);
      return io.end();
    });
  }

  JsonReader& json_;
  std::string_view key_;
  bool taken_ = false;
  Result<void> result_{};
};

}  // namespace weft::master
