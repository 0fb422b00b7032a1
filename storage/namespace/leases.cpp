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
  renew(file, now);
  changed(file);
  return file;
}

OpenFile& Leases::restore(LeaseId lease) {
  OpenFile& file = open_[lease];
  file.id = lease;
  return file;
}

void Leases::restored(Time now) {
  for (auto& [lease, file] : open_) renew(file, now);
  for (auto& [lease, until] : completed_) until = now + length_;
}

void Leases::end(LeaseId lease) {
  open_.erase(lease);
  dirty_.insert(lease);
}

void Leases::complete(LeaseId lease, Time now) {
  end(lease);
  completed_[lease] = now + length_;
  dirty_completed_.insert(lease);
}

std::vector<LeaseId> Leases::expired(Time now) {
  std::erase_if(completed_, [&](const auto& item) {
    if (item.second > now) return false;
    dirty_completed_.insert(item.first);
    return true;
  });
  std::vector<LeaseId> over;
  for (const auto& [lease, file] : open_)
    if (file.expires <= now) over.push_back(lease);
  return over;
}

}  // namespace weft::storage
