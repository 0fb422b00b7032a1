#include "engine/master/election/lease_object.hpp"

#include <chrono>
#include <cmath>
#include <ctime>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"

namespace weft::master {
namespace {

using Kind = JsonReader::Kind;

constexpr std::string_view kLeaseSource = "the Lease";

/// Members that are null are as good as missing.
template <class Member>
Result<void> object_or_null(JsonReader& json, Member&& member) {
  if (json.peek() == Kind::null) return json.skip();
  return json.object(std::forward<Member>(member));
}

Result<void> read_text(JsonReader& json, std::string& into) {
  if (json.peek() == Kind::null) return json.skip();
  WEFT_ASSIGN(into, json.text());
  return {};
}

Result<void> read_count(JsonReader& json, std::int64_t& into) {
  if (json.peek() == Kind::null) return json.skip();
  WEFT_ASSIGN(into, json.integer());
  if (into < 0) return fail(json.error("a number is negative"));
  return {};
}

Result<void> read_metadata(JsonReader& json, LeaseObject& object) {
  return object_or_null(json, [&](std::string_view name) -> Result<void> {
    if (name == "resourceVersion") return read_text(json, object.version);
    if (name != "annotations") return json.skip();
    return object_or_null(json, [&](std::string_view annotation) -> Result<void> {
      if (annotation != kRecordAnnotation) return json.skip();
      WEFT_ASSIGN(object.fields.record, json.text());
      return {};
    });
  });
}

Result<void> read_spec(JsonReader& json, LeaseFields& fields) {
  return object_or_null(json, [&](std::string_view name) -> Result<void> {
    if (name == "holderIdentity") return read_text(json, fields.holder);
    if (name == "leaseDurationSeconds") return read_count(json, fields.seconds);
    if (name == "leaseTransitions") return read_count(json, fields.transitions);
    if (name == "acquireTime") return read_text(json, fields.acquired);
    if (name == "renewTime") return read_text(json, fields.renewed);
    return json.skip();
  });
}

Result<void> copy_value(JsonReader& json, JsonWriter& into);

Result<void> copy_number(JsonReader& json, JsonWriter& into) {
  WEFT_ASSIGN(const double number, json.number());
  if (number == std::floor(number) && std::abs(number) < 9e15)
    into.value(static_cast<std::int64_t>(number));
  else
    into.value(number);
  return {};
}

Result<void> copy_member(JsonReader& json, std::string_view name, JsonWriter& into) {
  into.key(name);
  return copy_value(json, into);
}

Result<void> copy_object(JsonReader& json, JsonWriter& into) {
  into.begin_object();
  WEFT_TRY(json.object([&](std::string_view name) { return copy_member(json, name, into); }));
  into.end_object();
  return {};
}

Result<void> copy_array(JsonReader& json, JsonWriter& into) {
  into.begin_array();
  WEFT_TRY(json.array([&] { return copy_value(json, into); }));
  into.end_array();
  return {};
}

/// The reader bounds how deep values are nested.
Result<void> copy_value(JsonReader& json, JsonWriter& into) {
  switch (json.peek()) {
    case Kind::object:
      return copy_object(json, into);
    case Kind::array:
      return copy_array(json, into);
    case Kind::number:
      return copy_number(json, into);
    case Kind::text: {
      WEFT_ASSIGN(const std::string text, json.text());
      into.value(text);
      return {};
    }
    case Kind::flag: {
      WEFT_ASSIGN(const bool flag, json.flag());
      into.value(flag);
      return {};
    }
    default:
      into.null();
      return json.skip();
  }
}

/// Annotations with the record in its place, behind those of others.
Result<void> write_annotations(JsonReader* others, const LeaseFields& fields, JsonWriter& into) {
  into.key("annotations").begin_object();
  if (others != nullptr)
    WEFT_TRY(object_or_null(*others, [&](std::string_view name) {
      return name == kRecordAnnotation ? others->skip() : copy_member(*others, name, into);
    }));
  if (fields.record) into.member(kRecordAnnotation, *fields.record);
  into.end_object();
  return {};
}

Result<void> write_metadata(JsonReader& json, const LeaseFields& fields, JsonWriter& into) {
  bool annotated = false;
  into.key("metadata").begin_object();
  WEFT_TRY(object_or_null(json, [&](std::string_view name) {
    if (name != "annotations") return copy_member(json, name, into);
    annotated = true;
    return write_annotations(&json, fields, into);
  }));
  if (!annotated) WEFT_TRY(write_annotations(nullptr, fields, into));
  into.end_object();
  return {};
}

bool is_ours(std::string_view name) {
  return name == "holderIdentity" || name == "leaseDurationSeconds" || name == "leaseTransitions" || name == "acquireTime" ||
         name == "renewTime";
}

Result<void> write_spec(JsonReader* others, const LeaseFields& fields, JsonWriter& into) {
  into.key("spec").begin_object();
  if (others != nullptr)
    WEFT_TRY(object_or_null(
        *others, [&](std::string_view name) { return is_ours(name) ? others->skip() : copy_member(*others, name, into); }));
  into.member("holderIdentity", fields.holder).member("leaseDurationSeconds", fields.seconds);
  into.member("leaseTransitions", fields.transitions).member("renewTime", fields.renewed);
  if (!fields.acquired.empty()) into.member("acquireTime", fields.acquired);
  into.end_object();
  return {};
}

}  // namespace

Result<LeaseObject> parse_lease(std::string text) {
  LeaseObject object;
  std::string kind;
  JsonReader json(text, kLeaseSource);
  WEFT_TRY(json.object([&](std::string_view name) -> Result<void> {
    if (name == "kind") return read_text(json, kind);
    if (name == "metadata") return read_metadata(json, object);
    if (name == "spec") return read_spec(json, object.fields);
    return json.skip();
  }));
  WEFT_TRY(json.finish());
  if (kind != "Lease" || object.version.empty()) return fail(json.error("this is no Lease with a version"));
  object.text = std::move(text);
  return object;
}

Result<std::string> changed_lease(const LeaseObject& object, const LeaseFields& fields) {
  JsonReader json(object.text, kLeaseSource);
  JsonWriter into;
  bool specified = false;
  into.begin_object();
  WEFT_TRY(json.object([&](std::string_view name) {
    if (name == "metadata") return write_metadata(json, fields, into);
    if (name != "spec") return copy_member(json, name, into);
    specified = true;
    return write_spec(&json, fields, into);
  }));
  if (!specified) WEFT_TRY(write_spec(nullptr, fields, into));
  into.end_object();
  return into.text();
}

LeaseObject new_lease(const std::string& name_space, const std::string& name) {
  JsonWriter json;
  json.begin_object().member("apiVersion", "coordination.k8s.io/v1").member("kind", "Lease");
  json.key("metadata").begin_object().member("name", name).member("namespace", name_space).end_object().end_object();
  return {"", {}, json.text()};
}

std::string lease_time_now() {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, micros % 1'000'000);
}

}  // namespace weft::master
