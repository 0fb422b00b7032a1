#include "engine/master/standby/membership.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_reader.hpp"

namespace weft::master {

namespace {

constexpr std::uint64_t kMostBytes = 64u << 10;

std::string file_in(const std::string& directory) { return directory + "/member.json"; }

Result<Membership> parse_membership(const std::string& text, const std::string& file) {
  Membership membership;
  JsonReader json(text, file);
  WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
    if (key == "member") {
      WEFT_ASSIGN(membership.member, json.text());
    } else if (key == "cluster") {
      WEFT_ASSIGN(membership.cluster, json.text());
    } else if (key == "epoch") {
      WEFT_ASSIGN(const std::int64_t epoch, json.integer());
      if (epoch < 0) return fail(json.error("a negative epoch"));
      membership.epoch = static_cast<std::uint64_t>(epoch);
    } else if (key == "copying") {
      WEFT_ASSIGN(membership.copying, json.flag());
    } else if (key == "fresh") {
      WEFT_ASSIGN(membership.fresh, json.flag());
    } else if (key == "files") {
      WEFT_ASSIGN(membership.files, json.text());
    } else if (key == "mark") {
      WEFT_ASSIGN(membership.mark, json.text());
    } else {
      return json.skip();
    }
    return {};
  }));
  WEFT_TRY(json.finish());
  if (membership.member.empty()) return fail(Code::corrupt, fmt::format("{}: there is no member id in it", file));
  return membership;
}

}  // namespace

Result<std::optional<Membership>> read_membership(const std::string& data_directory) {
  const std::string file = file_in(data_directory);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  WEFT_ASSIGN(const std::string text, read_file(file, kMostBytes));
  auto membership = parse_membership(text, file);
  if (!membership)
    return fail(
        std::move(membership)
            .error()
            .wrap(fmt::format(
                "{} is damaged; restore all of {} from a copy, or empty it, so that this master copies what another one keeps",
                file, data_directory)));
  return *std::move(membership);
}

Result<void> write_membership(const std::string& data_directory, const Membership& membership) {
  JsonWriter json;
  json.begin_object()
      .member("member", membership.member)
      .member("cluster", membership.cluster)
      .member("epoch", membership.epoch)
      .member("copying", membership.copying)
      .member("fresh", membership.fresh)
      .member("files", membership.files)
      .member("mark", membership.mark)
      .end_object();
  return write_file(file_in(data_directory), json.text() + "\n");
}

Result<void> check_alone(const std::string& data_directory) {
  WEFT_ASSIGN(const auto membership, read_membership(data_directory));
  if (!membership) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("--data-dir: {} is of a master of a group{}; start it with --etcd or --kubernetes-lease, as the others, or "
                  "remove {} if it is to be the only master from now on",
                  data_directory, membership->copying ? ", and a copy that may not be complete" : "", file_in(data_directory)));
}

}  // namespace weft::master
