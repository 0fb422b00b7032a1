#include "engine/api/job_data.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <unistd.h>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "engine/api/path_choice.hpp"
#include "engine/api/recorded_part.hpp"
#include "engine/client/session.hpp"
#include "storage/scheme.hpp"

namespace weft::detail {
namespace {

std::string run_token() {
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::string text = to_string(hash128(as_bytes(std::to_string(getpid()) + "/" + std::to_string(now))));
  text.resize(12);
  return text;
}

std::string table_of(const std::string& path) { return path.substr(storage::kTableScheme.size()); }

void refuse_inside(const std::string& input, const std::string& output) {
  if (input.starts_with(output + "/"))
    throw JobFailure(Error(Code::invalid_argument, "output " + output + " holds the input " + input + "; write somewhere else"));
}

/// The outer one, when it replaces what is there, would take the inner one with it.
void refuse_nested(const std::string& one, const std::string& other) {
  const auto& [outer, inner] = std::minmax(one, other);
  if (inner.starts_with(outer + "/"))
    throw JobFailure(Error(Code::invalid_argument,
                           "output " + inner + " is inside of the output " + outer + "; write one of them somewhere else"));
}

}  // namespace

std::string JobData::open_output(const std::string& path, const std::string& known) {
  if (path.empty()) throw JobFailure(Error(Code::invalid_argument, "the path of an output is empty; name a directory"));
  if (storage::is_table(path)) {
    if (table_outputs_.contains(path))
      throw JobFailure(Error(Code::already_exists, "two outputs are " + path + "; give each a table of its own"));
    const auto before = parse_number<std::uint64_t>(known);
    if (!known.empty() && !before) throw JobFailure(differs("the output " + path + " is opened instead of " + known));
    const std::uint64_t transaction = before ? *before : value_or_fail(tables().begin(table_of(path)));
    if (before) value_or_fail(tables().keep(table_of(path), transaction));
    table_outputs_.emplace(path, transaction);
    return std::to_string(transaction);
  }
  if (storage::has_scheme(path) && !storage::is_remote(path) && !path.starts_with(storage::kFileScheme))
    throw JobFailure(Error(Code::invalid_argument,
                           "output " + path +
                               ": outputs are directories of this machine (a path, or file://PATH), of the "
                               "cluster (weft://PATH), of an S3 service (s3://BUCKET/KEY) or of HDFS (hdfs://HOST:PORT/PATH)"));
  const std::string full = name_of(path);
  for (const auto& [input, version] : inputs_) refuse_inside(input, full);
  if (outputs_.contains(full))
    throw JobFailure(Error(Code::already_exists, "two outputs have the path " + path + "; give each its own"));
  for (const auto& [other, output] : outputs_) refuse_nested(other, full);
  const auto owner = token_.empty() ? storage::OutputOwner::process : storage::OutputOwner::job;
  auto output = value_or_fail(
      storage::OutputDirectory::prepare(full, overwrite_, token_.empty() ? run_token() : token_, files_.get(), owner));
  if (keeps_others_) output.keep_other_directories();
  const std::string& work = outputs_.emplace(full, std::move(output)).first->second.work_directory();
  if (!known.empty() && known != work)
    throw JobFailure(differs("the output " + path + " is opened, with the work directory " + work + " instead of " + known));
  return work;
}

void JobData::check_output(const std::string& path) const {
  if (path.empty() || (storage::has_scheme(path) && !storage::is_remote(path) && !path.starts_with(storage::kFileScheme))) return;
  value_or_fail(storage::OutputDirectory::check_early(name_of(path), overwrite_, files_.get(), token_));
}

std::string JobData::name_of(const std::string& path) const {
  if (storage::is_table(path)) return path;
  if (storage::is_remote(path) && files_ != nullptr) return value_or_fail(files_->normal(path));
  const std::string local = path.starts_with(storage::kFileScheme) ? path.substr(storage::kFileScheme.size()) : path;
  value_or_fail(client::refuse_relative(away_from_, "output", local));
  std::string full = std::filesystem::absolute(local).lexically_normal().string();
  while (full.size() > 1 && full.back() == '/') full.pop_back();
  return full;
}

void JobData::commit(const std::string& output, const std::vector<Buffer>& names) {
  if (!storage::is_table(output)) {
    std::vector<std::string> files;
    for (const Buffer& name : names) files.emplace_back(as_chars(name.view()));
    return value_or_fail(outputs_.at(output).commit(files));
  }
  std::vector<std::uint64_t> tokens;
  for (const Buffer& name : names) tokens.push_back(parse_number<std::uint64_t>(as_chars(name.view())).value_or(0));
  value_or_fail(tables().commit(table_of(output), table_outputs_.at(output), std::move(tokens)));
  table_outputs_.erase(output);
}

weft::Result<bool> JobData::is_published(const std::string& output) {
  const auto transaction = table_outputs_.find(output);
  if (transaction == table_outputs_.end()) return false;
  const auto aborted = tables().abort(table_of(output), transaction->second);
  const bool decided = !aborted && aborted.error().code() == Code::already_exists;
  if (!aborted && !decided && aborted.error().code() != Code::not_found) return fail(aborted.error());
  table_outputs_.erase(transaction);
  return decided;
}

void JobData::abandon_outputs() {
  outputs_.clear();
  for (const auto& [path, transaction] : std::exchange(table_outputs_, {}))
    (void)tables().abort(table_of(path), transaction);  // else the master does, after a while
}

void JobData::leave_outputs() {
  for (auto& [name, output] : outputs_) output.leave();
  outputs_.clear();
  table_outputs_.clear();
}

void JobData::read_again(const plan::Stage& stage) {
  for (const plan::Branch& branch : stage.branches) {
    if (branch.splits.empty() || branch.splits.front().empty()) continue;
    const std::string& path = branch.splits.front().front().path;  // a table is read alone
    if (!storage::is_table(path)) continue;
    const auto at = path.rfind('@');
    const auto snapshot = parse_number<std::uint64_t>(path.substr(at + 1));
    if (snapshot) value_or_fail(tables().keep(table_of(path.substr(0, at)), *snapshot));
  }
}

std::vector<std::string> JobData::expand(std::span<const std::string> inputs, const PathFields* chosen) {
  if (inputs.size() == 1 && storage::is_table(inputs[0])) {
    const auto at = inputs[0].rfind('@');
    const std::size_t begin = storage::kTableScheme.size();
    return {value_or_fail(tables().resolve(inputs[0].substr(begin, at - begin), inputs[0].substr(at + 1)))};
  }
  for (const std::string& input : inputs) {
    const bool is_file = input.starts_with(storage::kFileScheme);
    if (is_file || !storage::has_scheme(input))
      value_or_fail(client::refuse_relative(away_from_, "input", is_file ? input.substr(storage::kFileScheme.size()) : input));
  }
  storage::DirectoryFilter wanted;
  if (chosen != nullptr && !chosen->where.empty()) wanted = [&](std::string_view name) { return chosen->may_hold(name); };
  storage::InputFiles found = value_or_fail(storage::expand_inputs(inputs, files_.get(), storage::Repeats::once, wanted));
  if (chosen != nullptr) value_or_fail(chosen->choose(found, files_.get()));
  for (const std::string& path : found.paths)
    for (const auto& output : outputs_) refuse_inside(path, output.first);
  for (std::size_t i = 0; i < found.paths.size(); ++i) inputs_.insert_or_assign(found.paths[i], std::move(found.versions[i]));
  notes_.skipped.insert(found.skipped.begin(), found.skipped.end());
  notes_.repeated.insert(found.repeated.begin(), found.repeated.end());
  notes_.empty.insert(found.empty.begin(), found.empty.end());
  return std::move(found.paths);
}

std::vector<storage::SplitGroup> JobData::splits(const std::vector<std::string>& inputs, const storage::SplitOptions& options) {
  if (inputs.size() == 1 && storage::is_table(inputs[0])) return value_or_fail(tables().splits(inputs[0]));
  std::vector<storage::FileVersion> listed;
  for (const std::string& input : inputs) listed.push_back(inputs_.at(input));
  return value_or_fail(storage::split_files(inputs, options, files_.get(), listed));
}

storage::RemoteTables& JobData::tables() {
  storage::RemoteTables* const known = storage::tables_beside(files_.get());
  if (known == nullptr) throw JobFailure(Error(Code::invalid_argument, "this job knows no cluster that keeps tables"));
  return *known;
}

}  // namespace weft::detail
