// weft profile list|show|forget|export|import
#include <chrono>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/named_file.hpp"
#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/profile_text.hpp"
#include "engine/tools/display/standard_output.hpp"

namespace weft::tools {

namespace {

struct ProfileOptions {
  MasterOption master;
  std::string program, file;
  bool all = false, json = false, overwrite = false;
};

using What = client::ProfileRequest::What;

Result<client::ProfileReply> ask(const ProfileOptions& options, What what, std::string program, std::string_view records = {}) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  return admin->profiles({what, std::move(program), Buffer::copy_of(as_bytes(records))});
}

Result<std::vector<profiles::Record>> records_of(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto reply, ask(options, What::show, options.program));
  return profiles::parse_export(profiles::export_header() + "\n" + std::string(as_chars(reply.records.view())),
                                options.master.address);
}

Result<void> list_profiles(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto records, records_of(options));
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return print(options.json ? profiles_json(records, now) : profiles_table(records, now));
}

Result<void> show_profile(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto records, records_of(options));
  return print(options.json ? profile_json(records) : profile_text(records));
}

std::string stages_line(const ProfileOptions& options, std::uint64_t stages, const char* done) {
  return options.json ? fmt::format("{{\"stages\":{}}}\n", stages) : fmt::format("{} stages {}\n", stages, done);
}

Result<void> forget_profiles(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto reply, ask(options, What::forget, options.program));
  return print(stages_line(options, reply.stages, "forgotten"));
}

Result<void> export_profiles(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto reply, ask(options, What::show, options.program));
  const std::string text = profiles::export_header() + "\n" + std::string(as_chars(reply.records.view()));
  if (!options.file.empty()) return write_named_file(options.file, text, options.overwrite ? IfExists::replace : IfExists::refuse);
  return print(text);
}

Result<void> import_profiles(const ProfileOptions& options) {
  WEFT_ASSIGN(const std::string text, read_file(options.file));
  WEFT_TRY(profiles::parse_export(text, options.file));
  WEFT_ASSIGN(const auto reply, ask(options, What::import, options.file, text));
  return print(stages_line(options, reply.stages, "imported"));
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  CLI::App& profile = add_group(app, "profile", "What the master has learned of the stages of programs: show, forget, carry over");
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const ProfileOptions&)) {
    return Command<ProfileOptions>(profile, action, name, help, run).master();
  };
  add("list", "The programs it has profiles of, and how wrong its predictions were", list_profiles).json();
  add("show", "The profiles of a program's stages", show_profile)
      .argument("PROGRAM", &ProfileOptions::program, "A job's name (weft profile list)")
      .json();
  auto out = add("forget", "Forget what was learned of a program, or of all with --all", forget_profiles);
  CLI::Option* name = out.app().add_option("PROGRAM", out.options().program, "A job's name (weft profile list)");
  name->excludes(out.json().app().add_flag("--all", out.options().all, "Of all programs"));
  out.app().callback([options = out.shared(), &action] {
    if (options->program.empty() && !options->all) throw CLI::ValidationError("forget", "name a program, or give --all");
    action = [options] { return forget_profiles(*options); };
  });
  auto exported = add("export", "Write profiles as lines of JSON, for another master", export_profiles);
  exported.app().add_option("PROGRAM", exported.options().program, "Of this program only");
  exported.value("--output", &ProfileOptions::file, "FILE", "File to write (default: standard output)").overwrite();
  add("import", "Take profiles that another master exported", import_profiles)
      .json()
      .argument("FILE", &ProfileOptions::file, "What `weft profile export` wrote");
}

}  // namespace weft::tools
