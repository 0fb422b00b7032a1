// weft profile list|show|forget|export|import
#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/file.hpp"
#include "base/named_file.hpp"
#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/commands.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/options.hpp"
#include "engine/tools/display/profile_text.hpp"
#include "engine/tools/display/table.hpp"

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
  print(options.json ? profiles_json(records, now) : profiles_table(records, now));
  return {};
}

Result<void> show_profile(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto records, records_of(options));
  print(options.json ? profile_json(records) : profile_text(records));
  return {};
}

std::string stages_line(const ProfileOptions& options, std::uint64_t stages, const char* done) {
  return options.json ? fmt::format("{{\"stages\":{}}}\n", stages) : fmt::format("{} stages {}\n", stages, done);
}

Result<void> forget_profiles(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto reply, ask(options, What::forget, options.program));
  print(stages_line(options, reply.stages, "forgotten"));
  return {};
}

Result<void> export_profiles(const ProfileOptions& options) {
  WEFT_ASSIGN(const auto reply, ask(options, What::show, options.program));
  const std::string text = profiles::export_header() + "\n" + std::string(as_chars(reply.records.view()));
  if (!options.file.empty()) return write_named_file(options.file, text, options.overwrite ? IfExists::replace : IfExists::refuse);
  print(text);
  return {};
}

Result<void> import_profiles(const ProfileOptions& options) {
  WEFT_ASSIGN(const std::string text, read_file(options.file));
  WEFT_TRY(profiles::parse_export(text, options.file));
  WEFT_ASSIGN(const auto reply, ask(options, What::import, options.file, text));
  print(stages_line(options, reply.stages, "imported"));
  return {};
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  CLI::App* profile =
      app.add_subcommand("profile", "What the master has learned of the stages of programs: show, forget, carry over");
  profile->require_subcommand(1);
  auto options = std::make_shared<ProfileOptions>();
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const ProfileOptions&)) {
    CLI::App* command = profile->add_subcommand(name, help);
    add_master_option(*command, options->master);
    command->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
    return command;
  };
  const auto of_program = [&](CLI::App* command, const char* help) {
    return command->add_option("PROGRAM", options->program, help);
  };
  add("list", "The programs it has profiles of, and how wrong its predictions were", list_profiles)
      ->add_flag("--json", options->json, "As JSON");
  CLI::App* one = add("show", "The profiles of a program's stages", show_profile);
  of_program(one, "A job's name (weft profile list)")->required();
  one->add_flag("--json", options->json, "As JSON");
  CLI::App* out = add("forget", "Forget what was learned of a program, or of all with --all", forget_profiles);
  CLI::Option* name = of_program(out, "A job's name (weft profile list)");
  out->add_flag("--json", options->json, "As JSON");
  CLI::Option* all = out->add_flag("--all", options->all, "Of all programs");
  name->excludes(all);
  out->callback([options, &action] {
    if (options->program.empty() && !options->all) throw CLI::ValidationError("forget", "name a program, or give --all");
    action = [options] { return forget_profiles(*options); };
  });
  CLI::App* exported = add("export", "Write profiles as lines of JSON, for another master", export_profiles);
  of_program(exported, "Of this program only");
  exported->add_option("--output", options->file, "File to write (default: standard output)")->type_name("FILE");
  add_overwrite_flag(*exported, options->overwrite);
  CLI::App* imported = add("import", "Take profiles that another master exported", import_profiles);
  imported->add_flag("--json", options->json, "As JSON");
  imported->add_option("FILE", options->file, "What `weft profile export` wrote")->required();
}

}  // namespace weft::tools
