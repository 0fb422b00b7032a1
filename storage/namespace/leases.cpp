#include "storage/namespace/leases.hpp"

#include <fmt/core.h>

namespace weft::storage {

Result<OpenFile*> Leases::find(LeaseId lease) {
  if (const auto found = open_.find(lease); found != open_.end()) return &found->second;
  return fail(
      Code::not_found,
      fmt::format("lease {} is over: its writer was silent for too long, or the file was closed or given up", lease.value()));
}

Result<OpenFile*> Leases::find_file(LeaseId lease) {
  WEFT_ASSIGN(OpenFile * file, find(lease));
  if (!file->directory()) return file;
  return fail(Code::invalid_argument, fmt::format("lease {} is of a directory; no file is written under it", lease.value()));
}

void Leases::forget_reports_of(NodeId node) {
  for (auto& [lease, file] : open_) file.forget_report_of(node);
}

OpenFile& Leases::begin(std::string path, Account& account, const CreateOptions& options, Time now) {
  OpenFile& file = restore(ids_.lease());
  file.path = std::move(path);
  file.account = &account;
  file.options = options;
  times_.begin(file.id.value(), length_of(file), now);
  changed(file);
  if (file.directory()) dirty_directories_.insert(file.id);
  return file;
}

OpenFile& Leases::restore(LeaseId lease) {
  OpenFile& file = open_[lease];
  file.id = lease;
  return file;
}

EntryId Leases::take_restored_directory(LeaseId lease) {
  const auto record = directories_before_.extract(lease);
  if (record) return record.mapped();
  dirty_directories_.insert(lease);
  return {};
}

void Leases::restored(Time now) {
  for (const auto& [lease, file] : open_) times_.begin(lease.value(), length_of(file), now);
  times_.end_others();
  for (const auto& [lease, entry] : std::exchange(directories_before_, {})) dirty_directories_.insert(lease);  // it is over
  completed_.begin_others(length_, now);
}

void Leases::end(LeaseId lease) {
  if (const auto found = open_.find(lease); found != open_.end()) {
    if (found->second.directory()) dirty_directories_.insert(lease);
    open_.erase(found);
  }
  times_.end(lease.value());
  dirty_.insert(lease);
}

void Leases::complete(LeaseId lease, Time now) {
  end(lease);
  completed_.begin(lease.value(), length_, now);
}

std::vector<LeaseId> Leases::expired(Time now) {
  completed_.take_expired(now);
  std::vector<LeaseId> over;
  for (const std::uint64_t lease : times_.take_expired(now)) over.push_back(LeaseId(lease));
  return over;
}

}  // namespace weft::storage
